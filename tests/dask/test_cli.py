"""labeltrees fit within a limit of memory and on a cluster."""

import pytest
from click.testing import CliRunner

import labeltrees as lt
from labeltrees.cli.main import cli
from labeltrees.models.linear import fit
from tests.models.linear.same_files import files_of, small_dataset


@pytest.fixture
def xmc(tmp_path):
    lt.write_xmc(small_dataset(), tmp_path / "train.txt")
    return tmp_path / "train.txt"


def run(*arguments):
    return CliRunner().invoke(cli, ["-q", *map(str, arguments)])


def test_a_memory_limit_changes_nothing(xmc, tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "bytes_in_memory", lambda data: 2**60)
    assert run("convert", xmc, "-o", tmp_path / "parts", "--points-per-part", 90).exit_code == 0
    assert run("fit", xmc, "-o", tmp_path / "one").exit_code == 0
    for data in (xmc, tmp_path / "parts"):
        result = run("fit", data, "-o", tmp_path / "two", "--max-memory", "100MiB")
        assert result.exit_code == 0, result.output
        assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert {path.name for path in tmp_path.iterdir()} == {"train.txt", "parts", "one", "two"}


def test_a_cluster_changes_nothing(xmc, tmp_path):
    distributed = pytest.importorskip("distributed")
    assert run("fit", xmc, "-o", tmp_path / "one").exit_code == 0
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        result = run("fit", xmc, "-o", tmp_path / "two", "--cluster", cluster.scheduler_address)
    assert result.exit_code == 0, result.output
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", 2], "--workers needs --cluster"),
        (["--cluster", "local", "--max-memory", "1GiB"], "give --memory-per-worker"),
        (["--cluster", "tcp://10.0.0.1:8786", "--workers", 2], "running already"),
        (["--max-memory", "1GiB", "--test-share", 0.1], "run labeltrees convert first"),
        (["--max-memory", "lots"], "--max-memory"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(xmc, tmp_path, options, message):
    result = run("fit", xmc, "-o", tmp_path / "model", *options)
    assert result.exit_code == 2
    assert message in result.output
