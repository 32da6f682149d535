"""Tasks on a cluster: the results of this process, one task per free worker, and errors that say what to do."""

import sys

import numpy as np
import pytest

from labeltrees.errors import InputError, MissingExtraError
from labeltrees.tasks import FolderResults, LocalRunner, Shared, Task, on_dask

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when workers end


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        yield client


def scaled(results, *, data, factor):
    if factor == 13:
        message = "factor must not be 13"
        raise InputError(message)
    return {"scaled": data.value * factor}, {"factor": factor}


def tasks_of(results, factors):
    data = Shared(np.arange(4), results, key="data")
    return [Task(scaled, {"data": data, "factor": factor}) for factor in factors]


def test_results_are_those_of_this_process(client, tmp_path):
    here, there = LocalRunner(FolderResults(tmp_path / "here")), on_dask.DaskRunner(client, tmp_path / "there")
    (tmp_path / "there").mkdir()
    for runner in (here, there):
        records = runner.run("Scaling", tasks_of(runner.results, range(5)))
        assert not any(record.was_finished for record in records)
    for task in tasks_of(here.results, range(5)):
        assert (tmp_path / "here" / task.name).read_bytes() == (tmp_path / "there" / task.name).read_bytes()
    assert all(record.was_finished for record in there.run("Scaling", tasks_of(there.results, range(5))))
    assert (there.summary.n_tasks, there.summary.n_reused) == (10, 5)
    assert there.n_workers == 2


def test_an_iterator_is_asked_for_one_task_per_idle_worker(client, tmp_path):
    runner, started = on_dask.DaskRunner(client, tmp_path), []

    def waiting():
        for task in tasks_of(runner.results, range(6)):
            started.append(task.inputs["factor"])
            yield task

    names = []
    for record in runner.stream("Scaling", waiting()):
        names.append(record.name)
        assert len(started) <= len(names) + 2
    assert sorted(names) == sorted(task.name for task in tasks_of(runner.results, range(6)))


def test_an_error_of_a_task_is_the_error_of_this_process(client, tmp_path):
    runner = on_dask.DaskRunner(client, tmp_path)
    with pytest.raises(InputError, match="factor must not be 13"):
        runner.run("Scaling", tasks_of(runner.results, [1, 13]))


def test_a_folder_that_workers_do_not_see_is_one_clear_error(client, tmp_path, monkeypatch):
    runner = on_dask.DaskRunner(client, tmp_path)
    runner.check_folder("work_folder")
    monkeypatch.setattr(on_dask, "ask_workers", lambda *_: {"tcp://there": False})
    with pytest.raises(on_dask.ClusterError, match="is not seen by worker tcp://there: choose a work_folder"):
        runner.check_folder("work_folder")


def test_the_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"labeltrees\[dask\]"):
        on_dask.DaskRunner(object(), tmp_path)
