"""A log prepared on a cluster of processes gives the bytes of the log prepared here, whatever happens to workers."""

import os
import signal
import sys

import pytest
from click.testing import CliRunner

import labeltrees as lt
from labeltrees.cli.main import cli
from labeltrees.errors import MissingExtraError

distributed = pytest.importorskip("distributed")
pl = pytest.importorskip("polars")

from labeltrees.dask import ClusterError  # noqa: E402
from labeltrees.tasks.on_dask import DaskRunner, connect  # noqa: E402
from tests.logs.helpers import prepare  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when workers end

SETTINGS = {
    "history": {"history_before": "2024-01-15", "test_since": "2024-01-22", "weight": "amount", "half_life": "9d"},
    "sessions": {"session_gap": "30h", "features": "history", "item_name": "name", "point_weights": "events"},
    "basket": {"features": "basket", "min_item_contexts": 3},
    "column": {"feature_column": "name", "drop_duplicates": True},
}


@pytest.fixture(scope="module")
def client():
    with connect("local", 2, "4GiB") as client:  # a sanitizer needs most of it
        yield client


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Three files: customers, items, fractional amounts and times."""
    folder = tmp_path_factory.mktemp("log") / "events"
    folder.mkdir()
    for number in range(3):
        events = range(number * 700, number * 700 + 700)
        pl.DataFrame(
            {
                "context": [f"c{event * 7 % 83}" if event % 50 else None for event in events],
                "item": [f"i{(event * event + event // 9) % 37}" for event in events],
                "name": [f"thing {(event * event + event // 9) % 37} of {event % 3}" for event in events],
                "amount": [0.1 * (event % 7) for event in events],
                "time": [f"2024-01-{1 + event * 30 // 2100:02d} {event % 24:02d}:00" for event in events],
            }
        ).write_csv(folder / f"{number}.csv")
    return folder


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def saved(prepared, folder):
    prepared.save(folder)
    return files_of(folder)


@pytest.mark.parametrize("case", SETTINGS)
def test_the_files_are_those_of_a_local_run(client, log, tmp_path, case):
    expected = saved(prepare(log, **SETTINGS[case]), tmp_path / "here")
    found = prepare(log, **SETTINGS[case], client=client, work_folder=tmp_path)
    assert saved(found, tmp_path / "there") == expected
    assert {path.name for path in tmp_path.iterdir()} == {"here", "there"}


def test_parts_and_a_frame_are_those_of_a_local_run(client, log, tmp_path):
    settings = SETTINGS["history"]
    prepare(log, **settings, parts=(tmp_path / "here", 40))
    frame = pl.read_csv(log / "*.csv", infer_schema=False)
    for events in (log, frame):
        prepare(events, **settings, parts=(tmp_path / "there", 40), client=client)
        expected, found = files_of(tmp_path / "here"), files_of(tmp_path / "there")
        if events is frame:  # its summary names no files
            del expected["summary.json"], found["summary.json"]
        assert found == expected
    assert {path.name for path in tmp_path.iterdir()} == {"here", "there"}


def test_a_worker_that_is_lost_changes_nothing(client, log, tmp_path, monkeypatch):
    expected = saved(prepare(log, **SETTINGS["basket"]), tmp_path / "here")
    run = DaskRunner.run
    stages = []

    def run_and_kill(self, stage, tasks, progress=None):
        pid = next(iter(client.run(os.getpid).values()))
        stages.append(stage)
        if stage == "summing pairs":
            os.kill(pid, signal.SIGKILL)
        return run(self, stage, tasks, progress)

    monkeypatch.setattr(DaskRunner, "run", run_and_kill)
    found = prepare(log, **SETTINGS["basket"], client=client, work_folder=tmp_path)
    assert stages == ["sharding by context", "summing pairs", "counting items", "choosing items", "making points"]
    assert saved(found, tmp_path / "there") == expected


def test_the_command_gives_the_same_files(client, log, tmp_path):
    address = client.scheduler.address
    for name, options in {"here": [], "there": ["--cluster", address]}.items():
        command = ["-q", "logs", "prepare", log, "-o", tmp_path / name, "--features", "basket", *options]
        result = CliRunner().invoke(cli, list(map(str, command)))
        assert result.exit_code == 0, result.output
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")
    assert {path.name for path in tmp_path.iterdir()} == {"here", "there"}


def test_errors_of_the_log_are_those_of_a_local_run(client, log, tmp_path):
    with pytest.raises(lt.errors.InputError, match="look like ids"):
        prepare(log, client=client, work_folder=tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "0.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    with pytest.raises(lt.errors.FileFormatError, match=r"0\.parquet"):
        prepare(tmp_path / "bad", client=client)


def test_a_cluster_without_workers_is_refused(log, tmp_path):
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ClusterError, match="no workers"),
    ):
        prepare(log, features="basket", client=client, work_folder=tmp_path)


def test_workers_need_a_local_cluster(log, tmp_path):
    result = CliRunner().invoke(cli, ["logs", "prepare", str(log), "-o", str(tmp_path / "out"), "--workers", "2"])
    assert result.exit_code == 2
    assert "--workers needs --cluster local" in result.output


def test_the_missing_extra_is_named(log, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"labeltrees\[dask\]"):
        prepare(log, features="basket", client=object())
    result = CliRunner().invoke(cli, ["logs", "prepare", str(log), "-o", str(tmp_path / "out"), "--cluster", "local"])
    assert "labeltrees[dask]" in result.output
