"""sweep and choose on a cluster: the figures and the choice of this process, timed on one quiet worker."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

import labeltrees as lt
from labeltrees._files import to_json
from labeltrees.cli.main import cli
from labeltrees.tasks.on_dask import DaskRunner
from labeltrees.tuning import trial
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.study import open_place
from tests.tuning.conftest import count_as_time, make_data

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when workers end
SETTINGS = {"tradeoffs": [0, 1, 2], "fanouts": [4]}


@pytest.fixture(scope="module")
def client():
    """Workers in threads of this process, so that they see what the tests replace."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture
def counted_time(monkeypatch):
    """Times that are the same on every machine; a list of how many models were in training at each timing."""
    in_training, seen = [], []
    usual = trial.Sample.fit

    def fit(sample, model):
        in_training.append(model)
        try:
            return usual(sample, model)
        finally:
            in_training.pop()

    def measure(models, *arguments, **options):
        seen.append(len(in_training))
        return count_as_time(models, *arguments, **options)

    monkeypatch.setattr(trial.Sample, "fit", fit)
    monkeypatch.setattr(trial, "measure_times", measure)
    return seen


def without_seconds(table):
    """Return the rows as JSON, where a missing number equals itself."""
    return [to_json({name: value for name, value in row.items() if not name.endswith("_seconds")}) for row in table]


def test_a_sweep_has_the_figures_of_this_process(client, counted_time, tmp_path):
    data = make_data(), make_data(120, seed=1)
    local = lt.sweep(*data, **SETTINGS)
    remote = lt.sweep(*data, client=client, folder=tmp_path / "sweep", **SETTINGS)
    assert without_seconds(remote.table) == without_seconds(local.table)
    assert remote.details == local.details
    assert remote.comparison == local.comparison
    assert counted_time == [0, 0]  # nothing is trained while models are timed, once for each sweep
    assert [path.name for path in tmp_path.iterdir()] == ["sweep"]
    model = lt.load(tmp_path / "sweep" / "models" / remote.table[1]["setting"])
    np.testing.assert_array_equal(
        model.predict_topk(data[1].X)[0],
        lt.LabelTreeClassifier(tradeoff=1, fanout=4).fit(data[0].X, data[0].Y).predict_topk(data[1].X)[0],
    )


def test_workers_have_the_rules(client):
    data, rules = make_data(), {"exclude": ["label a"], "limits": ({"label b": "x", "label c": "x"}, 1)}
    local, remote = (lt.sweep(data, client=own, rules=rules, **SETTINGS) for own in (None, client))
    names = ("p1", "p3", "ndcg3", "chunks")
    found = [[[row[name] for name in names if name in row] for row in own.table] for own in (local, remote)]
    assert found[0] == found[1]
    assert remote.table[0]["top1_p50_us"] > 0
    assert found[0] != [[row[name] for name in names if name in row] for row in lt.sweep(data, **SETTINGS).table]


def test_a_finished_setting_is_not_trained_again(client, counted_time, tmp_path, monkeypatch):
    data = make_data(), make_data(120, seed=1)
    first = lt.sweep(*data, folder=tmp_path / "sweep", **SETTINGS)
    monkeypatch.setattr(trial.Sample, "fit", lambda *_: pytest.fail("trained again"))
    assert lt.sweep(*data, client=client, folder=tmp_path / "sweep", **SETTINGS).table == first.table


@pytest.mark.usefixtures("counted_time")
@pytest.mark.parametrize("limits", [{}, {"max_precision_loss": 0.05}, {"time_budget": 1000}])
def test_the_choice_is_that_of_this_process(client, limits):
    data, tune = make_data(600), {"tradeoff": [0, 1], "fanout": [4], "loss": None, "C": None, "n_trees": None}
    local, remote = (lt.choose(data, client=own, tune=tune, **limits) for own in (None, client))
    assert remote.parameters == local.parameters
    assert without_seconds(remote.trials) == without_seconds(local.trials)
    same = [re.sub(r"costs [^,]*,", "", own.explanation) for own in (local, remote)]  # seconds of training differ
    assert same[0] == same[1]


@pytest.mark.usefixtures("counted_time")
def test_a_choice_continues_from_the_folder_of_its_runner(client, tmp_path, monkeypatch):
    data, runner, fits = make_data(300), DaskRunner(client, tmp_path / "choice"), []
    first = lt.choose(data, client=runner, tune={"tradeoff": [0, 1]})
    usual = trial.Sample.fit
    monkeypatch.setattr(trial.Sample, "fit", lambda *arguments: fits.append(1) or usual(*arguments))
    again = lt.choose(data, client=runner, tune={"tradeoff": [0, 1]})
    assert again.parameters == first.parameters
    assert fits == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["choice"]


def test_an_error_of_a_task_is_the_error_of_this_process(client):
    data = make_data(60)
    bad = lt.LabelTreeClassifier(class_weight=np.ones(3))
    with pytest.raises(lt.errors.InputError, match="class_weight"):
        lt.sweep(data, data, estimator=bad, client=client, **SETTINGS)


def test_a_folder_that_workers_do_not_see_is_one_clear_error(client, monkeypatch, tmp_path):
    from labeltrees.dask import ClusterError
    from labeltrees.tasks import on_dask

    monkeypatch.setattr(on_dask, "ask_workers", lambda *_: {"tcp://there": False})
    with (
        pytest.raises(ClusterError, match="is not seen by worker tcp://there: choose a folder on storage"),
        open_place(client, tmp_path / "sweep"),
    ):
        pass


def test_the_commands_take_a_cluster(client, tmp_path):
    lt.write_xmc(make_data(), tmp_path / "train.txt")
    address = client.scheduler_info()["address"]
    where = ["--cluster", address, "--tradeoffs", "0,1"]
    for command in (
        ["sweep", tmp_path / "train.txt", "-o", tmp_path / "result.json"],
        ["choose", tmp_path / "train.txt", "-o", tmp_path / "model", "--tune", "tree"],
    ):
        found = CliRunner().invoke(cli, ["-q", *map(str, command), *where])
        assert found.exit_code == 0, found.output
    assert len(SweepResult.load(tmp_path / "result.json")) == 2
    assert lt.load(tmp_path / "model").tradeoff in (0, 1)


@pytest.mark.parametrize("wrong", [3, "tcp://here:8786"])
def test_a_client_of_the_wrong_kind_is_named(wrong):
    for function in (lt.choose, lt.sweep):
        with pytest.raises(lt.errors.InputError, match=r"client must be a distributed\.Client \(sweep and choose"):
            function(make_data(60), client=wrong)
