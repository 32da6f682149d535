"""A model trained on a cluster of processes has the bytes of the model trained here, whatever happens to workers."""

import os
import pickle
import resource
import shutil
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from tests.models.linear.same_files import saved, small_dataset

distributed = pytest.importorskip("distributed")

from labeltrees.dask import (  # noqa: E402
    ClusterError,
    DaskLabelTreeClassifier,
    fit,
)
from labeltrees.models.linear import pieces  # noqa: E402
from labeltrees.tasks import Task, on_dask  # noqa: E402
from labeltrees.tasks.on_dask import connect  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when workers end


@pytest.fixture(scope="module")
def client():
    with connect("local", 2, "4GiB") as client:  # a sanitizer needs most of it
        yield client


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster") / "parts"
    lt.write_parts(small_dataset(weights=True, names=True), folder, 60)
    return lt.open_parts(folder)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    model = lt.LabelTreeClassifier(fanout=4).fit(small_dataset(weights=True, names=True))
    return saved(model, tmp_path_factory.mktemp("expected") / "model")


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch):
    monkeypatch.setattr(pieces, "LEAST_COST", 0)


def test_the_files_are_those_of_a_local_fit(client, parts, expected, tmp_path):
    model = DaskLabelTreeClassifier(client=client, fanout=4).fit(parts)
    assert saved(model, tmp_path / "found") == expected
    assert model.client_ is client
    assert model.cluster_summary_.n_tasks > 20
    assert model.cluster_summary_.n_reused == 0
    assert 0 < model.cluster_summary_.scheduler_bytes < 200_000
    assert clone(model).client is client
    # The client is never pickled.
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    local = model.to_local()
    assert type(local) is lt.LabelTreeClassifier
    for other in (again, local):
        np.testing.assert_array_equal(other.predict_topk(parts.X)[0], model.predict_topk(parts.X)[0])


def test_dask_arrays_in_and_lazy_predictions_out(client, parts, tmp_path):
    da = pytest.importorskip("dask.array")
    import dask

    def blocks(matrix):
        delayed = [dask.delayed(matrix[start : start + 80]) for start in range(0, 240, 80)]
        arrays = [da.from_delayed(block, (80, matrix.shape[1]), matrix.dtype) for block in delayed]
        return da.concatenate(arrays)

    dataset = small_dataset()
    X, Y = blocks(dataset.X), blocks(dataset.Y)
    model = DaskLabelTreeClassifier(client=client, fanout=4).fit(X, Y)
    local = lt.LabelTreeClassifier(fanout=4).fit(dataset.X, dataset.Y)
    assert saved(model, tmp_path / "found") == saved(local, tmp_path / "expected")
    labels, scores = model.predict_topk(X, 3)
    assert labels.chunks == ((80, 80, 80), (3,))
    np.testing.assert_array_equal(labels.compute(), local.predict_topk(dataset.X, 3)[0])
    np.testing.assert_array_equal(scores.compute(), local.predict_topk(dataset.X, 3)[1])


def test_a_bag_of_texts(client):
    bag = pytest.importorskip("dask.bag")
    records = [(f"word{i % 7} word{i % 5} more", [f"l{i % 7}", f"l{i % 3}"]) for i in range(60)]
    model = fit(client, bag.from_sequence(records, npartitions=3), fanout=4)
    local = lt.LabelTreeClassifier(fanout=4).fit([text for text, _ in records], [labels for _, labels in records])
    texts = ["word1 word2", "word6 more"]
    np.testing.assert_array_equal(model.predict_topk(texts)[0], local.predict_topk(texts)[0])


def test_a_killed_worker_changes_nothing(client, parts, expected, tmp_path):
    pids = list(client.run(os.getpid).values())
    killer = threading.Timer(0.15, os.kill, (pids[0], signal.SIGKILL))
    killer.start()
    model = fit(client, parts, fanout=4)
    killer.join()
    assert saved(model, tmp_path / "found") == expected
    client.wait_for_workers(2, timeout=60)  # for the tests that follow


def test_a_damaged_part_is_one_clear_error(client, tmp_path):
    lt.write_parts(small_dataset(), tmp_path / "parts", 60)
    path = tmp_path / "parts" / "part-00002" / "Y_indices.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"part-00002/Y_indices.npy: its checksum is wrong"):
        fit(client, tmp_path / "parts")


def no_space(*_arguments, **_options):
    raise OSError(28, "No space left on device", "results")


def replace_gathering(how):
    """On a worker: have tasks that train fail in some way, wait, or run as usual."""
    from labeltrees.models.linear import blocks

    if not hasattr(blocks, "usual"):
        blocks.usual, blocks.n_calls = blocks.gather_rows, 0

    def gather(*arguments, **options):
        if options.get("spill_above") is None:  # for embeddings
            return blocks.usual(*arguments, **options)
        blocks.n_calls += 1
        if how == "full disk":
            raise OSError(28, "No space left on device", "results")
        if how == "no memory":
            raise MemoryError
        if how == "killed":
            os._exit(1)
        time.sleep(0.1 if how == "slow" else 0)
        return blocks.usual(*arguments, **options)

    blocks.gather_rows = gather


def test_a_full_disk_is_one_clear_error_and_the_fit_continues(client, parts, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "BUNDLES", 2)
    client.run(replace_gathering, "full disk")
    with pytest.raises(ClusterError, match="Choosing C: No space left on device on a worker"):
        fit(client, parts, fanout=4, work_folder=tmp_path / "work")
    client.run(replace_gathering, "usual")
    model = fit(client, parts, fanout=4, work_folder=tmp_path / "work")
    assert model.cluster_summary_.n_reused > 5
    assert saved(model, tmp_path / "found") == expected
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no memory", "Choosing C: a worker ran out of memory: give each worker more"),
        (
            "killed",
            "Choosing C: a task has lost several workers in turn. They probably ran out of memory",
        ),
    ],
)
def test_too_little_memory_is_one_clear_error_and_the_fit_continues(
    client, parts, expected, tmp_path, monkeypatch, how, message
):
    monkeypatch.setattr(pieces, "BUNDLES", 2)
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    client.run(replace_gathering, how)
    with pytest.raises(ClusterError, match=message):
        fit(client, parts, fanout=4, work_folder=tmp_path / "work")
    assert not (tmp_path / "model").exists()
    client.wait_for_workers(2, timeout=60)
    client.run(replace_gathering, "usual", on_error="ignore")
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 20)
    model = fit(client, parts, fanout=4, work_folder=tmp_path / "work")
    assert model.cluster_summary_.n_reused > 5
    assert saved(model, tmp_path / "found") == expected
    client.wait_for_workers(2, timeout=60)


def misbehave(how):
    """On a worker: leave other results than those of its tasks, or answer something else."""
    import resource

    from labeltrees.tasks import results

    if not hasattr(results, "usual"):
        results.usual, on_dask.usual = results.write_result, on_dask.run_on_worker

    def write(path, arrays, values=None):
        size = results.usual(path, arrays, values)
        if how == "wrong bytes":
            path.write_bytes(b"x" * size)
        elif how == "another task":
            results.usual(path.with_name("other-1"), arrays, values)
            path.with_name("other-1").replace(path)
        elif how == "no file":
            path.unlink()
        return size

    def run(packed, version):
        answer = on_dask.usual(packed, version)
        if how == "another answer":
            return on_dask.Answer(answer.record._replace(name="other-1"), answer.worker, 0)
        if how == "hangs":
            time.sleep(1000)
        return "nonsense" if how == "nonsense" else answer

    results.write_result, on_dask.run_on_worker = write, run
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (100 if how == "full disk" else hard, hard))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("wrong bytes", "damaged, or cut short"),
        ("another task", "not the result of this task: it is that of other-1"),
        ("no file", "cannot be read"),
        ("another answer", "the answer of a worker is not that of the task .*other-1"),
        ("nonsense", "the answer of a worker is not that of the task .*'nonsense'"),
        ("full disk", "File too large on a worker"),
    ],
)
def test_a_hostile_worker_is_one_clear_error_and_the_fit_continues(client, parts, expected, tmp_path, how, message):
    worker = next(iter(client.scheduler_info()["workers"]))
    client.run(misbehave, how, workers=[worker])
    try:
        with pytest.raises((ClusterError, FileFormatError), match=message):
            fit_again_and_again(client, parts, tmp_path / "work")
    finally:
        client.run(misbehave, "usual", workers=[worker])
    assert saved(fit(client, parts, fanout=4, work_folder=tmp_path / "work"), tmp_path / "found") == expected


def test_a_worker_that_hangs_is_named_and_can_be_ended(client, parts, expected, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(on_dask, "SECONDS_TO_WARN", 0.2)
    worker = next(iter(client.scheduler_info()["workers"]))
    pid = client.run(os.getpid, workers=[worker])[worker]
    client.run(misbehave, "hangs", workers=[worker])

    def end():
        while f"{worker} (" not in caplog.text:
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)

    ending = threading.Thread(target=end)
    ending.start()
    model = fit(client, parts, fanout=4)
    ending.join()
    assert saved(model, tmp_path / "found") == expected
    client.wait_for_workers(2, timeout=60)


def test_what_is_gone_when_a_worker_is_lost_ends_no_other_worker(client, parts, tmp_path):
    before = client.run(os.getpid)
    copy = tmp_path / "copy"
    shutil.copytree(parts.folder, copy)
    runner = on_dask.DaskRunner(client, tmp_path)
    task = Task(no_space, {}, {"parts": lt.open_parts(copy)})
    shutil.rmtree(copy)
    with pytest.raises(ClusterError, match="no such folder"):
        runner.run("Reading the parts", [task])
    assert client.run(os.getpid) == before


def test_a_full_disk_of_the_client_is_one_error_and_the_fit_continues(client, parts, expected, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            fit(client, parts, fanout=4, work_folder=tmp_path / "work").save(tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "model").exists()
    model = fit(client, parts, fanout=4, work_folder=tmp_path / "work")
    assert saved(model, tmp_path / "found") == expected


def n_calls():
    from labeltrees.models.linear import blocks

    return blocks.n_calls


def test_a_slow_worker_gets_less_work(client, parts, expected, tmp_path):
    slow, fast = client.scheduler_info()["workers"]
    client.run(replace_gathering, "usual")
    before = client.run(n_calls)
    client.run(replace_gathering, "slow", workers=[slow])
    model = fit(client, parts, fanout=4)
    done = {worker: count - before[worker] for worker, count in client.run(n_calls).items()}
    client.run(replace_gathering, "usual")
    assert saved(model, tmp_path / "found") == expected
    assert 0 <= done[slow] < done[fast]


def change_version(version):
    import labeltrees

    before, labeltrees.__version__ = labeltrees.__version__, version
    return before


def test_a_worker_with_another_version_is_one_clear_error(client, parts):
    worker = next(iter(client.scheduler_info()["workers"]))
    usual = client.run(change_version, "0.0.1", workers=[worker])[worker]
    with pytest.raises(ClusterError, match=r"has labeltrees 0\.0\.1, the client .*: install the same version"):
        fit(client, parts, fanout=4)
    client.run(change_version, usual, workers=[worker])


def test_a_worker_that_is_lost_while_it_is_asked_changes_nothing(client, monkeypatch):
    calls = []

    def run(function, *arguments, on_error):
        calls.append(on_error)
        return {} if len(calls) == 1 else {"tcp://there": True}  # the first time its only worker is being restarted

    monkeypatch.setattr(client, "run", run)
    assert on_dask.ask_workers(client, os.getpid) == {"tcp://there": True}
    assert calls == ["ignore", "ignore"]


def test_settings_are_checked_before_any_task(client, parts):
    with pytest.raises(InputError, match="tradeoff"):
        fit(client, parts, tradeoff=3)
    with pytest.raises(InputError, match="a dataset in parts, its folder"):
        fit(client, [1, 2])


def fit_again_and_again(client, parts, work_folder):
    for _ in range(50):
        fit(client, parts, fanout=4, work_folder=work_folder)


def test_a_lost_scheduler_is_one_clear_error(parts, expected, tmp_path):
    def stop(local):
        time.sleep(0.3)
        local.close()

    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local:
        client = distributed.Client(local)
        closing = threading.Thread(target=stop, args=(local,))
        client.run(time.sleep, 0)
        closing.start()
        try:
            with pytest.raises(ClusterError, match=r"connection to the scheduler is lost|no workers"):
                fit_again_and_again(client, parts, tmp_path / "work")
        finally:
            closing.join()
            client.close()


def test_a_cluster_without_workers_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(on_dask, "SECONDS_WITHOUT_WORKERS", 0.6)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty) as waiting,
        pytest.raises(ClusterError, match="no workers for 1 s; start some and repeat"),
    ):
        on_dask.DaskRunner(waiting, ".").run("Reading the parts", [Task(no_space, {})])


def test_no_scheduler_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(on_dask, "SECONDS_TO_CONNECT", 0.5)
    with pytest.raises(ClusterError, match="no Dask scheduler answers"), connect("tcp://127.0.0.1:9"):
        pass
