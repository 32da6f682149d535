"""Tasks have one result each, named by what it depends on; runners run them in any order and continue earlier work."""

import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from labeltrees.errors import FileFormatError, InputError
from labeltrees.tasks import (
    FolderResults,
    LocalRunner,
    MemoryResults,
    Shared,
    Task,
    TaskMemory,
    open_result,
    write_result,
)


def square(results, *, number, n_jobs=None):
    return {"squares": np.arange(number) ** 2}, {"number": number}


def add(results, *, names):
    return {"sum": sum(results[name]["squares"] for name in names)}, {}


def total_of(results, *, data, power):
    return {"total": np.array([(data.value**power).sum()])}, {}


def leave_a_file(results, *, text):
    path = results.new_path("text")
    path.write_text(text)
    return {}, {"text": path.name}


@dataclass(frozen=True)
class Settings:
    size: int = 3


@pytest.fixture(params=["memory", "folder"])
def results(request, tmp_path):
    return MemoryResults() if request.param == "memory" else FolderResults(tmp_path)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_stages_find_the_results_of_earlier_ones(results, n_workers):
    runner = LocalRunner(results, n_workers=n_workers)
    squares = [Task(square, {"number": 5}), Task(square, {"number": 5}), Task(square, {"number": 3})]
    records = runner.run("Squaring", squares)
    assert [record.name for record in records] == [task.name for task in squares]
    last = Task(add, {"names": [squares[0].name, squares[1].name]})
    (record,) = runner.run("Adding", [last])
    assert not record.was_finished
    assert results[last.name]["sum"].tolist() == [0, 2, 8, 18, 32]
    assert results[squares[2].name].values == {"number": 3}
    assert results[squares[2].name].get("cubes") is None


def test_a_finished_task_is_not_run_again(results):
    task = Task(square, {"number": 4})
    runner = LocalRunner(results)
    assert [runner.run("Squaring", [task])[0].was_finished for _ in range(2)] == [False, True]
    results.drop([task.name])
    assert (task.name in results) == (results.folder is not None)  # files take no memory


def test_names_depend_on_inputs_only():
    names = {
        Task(square, {"number": 4}).name,
        Task(square, {"number": 4}, {"n_jobs": 2}).name,
        Task(square, {"number": np.int64(4)}).name,
    }
    assert len(names) == 1
    others = {
        Task(square, {"number": 5}).name,
        Task(add, {"number": 4}).name,
        Task(square, {"number": Settings()}).name,
        Task(square, {"number": Settings(4)}).name,
        Task(square, {"number": Shared(1, MemoryResults(), key="one")}).name,
        Task(square, {"number": Shared(1, MemoryResults(), key="two")}).name,
    }
    assert len(others | names) == 7
    with pytest.raises(TypeError, match="ndarray cannot be an input of a task"):
        Task(square, {"number": np.arange(3)}).name  # noqa: B018


def test_arrays_of_the_user_are_stored_by_their_content(tmp_path):
    results = FolderResults(tmp_path)
    first, again, other = (results.store("costs", {"costs": np.full(3, value)}) for value in (1.0, 1.0, 2.0))
    assert first == again != other
    assert results[other]["costs"].tolist() == [2, 2, 2]
    memory = MemoryResults()
    array = np.arange(3)
    assert memory[memory.store("costs", {"costs": array})]["costs"] is array


def test_an_iterator_is_asked_for_a_task_when_a_worker_is_free(results):
    started = []

    def waiting():
        for number in range(5):
            started.append(number)
            yield Task(square, {"number": number})

    for done, _ in enumerate(LocalRunner(results).stream("Squaring", waiting()), 1):
        assert len(started) == done
        if done == 3:
            break
    assert started == [0, 1, 2]


def wait_for_another(results, *, number, barrier):
    barrier.wait(timeout=30)  # passes only if two tasks run at the same time
    return {}, {}


def test_tasks_run_on_threads():
    barrier = threading.Barrier(2)
    tasks = [Task(wait_for_another, {"number": number}, {"barrier": barrier}) for number in range(4)]
    assert len(LocalRunner(n_workers=2).run("Waiting", tasks)) == 4


def test_progress_is_reported():
    seen = []
    runner = LocalRunner(progress=lambda done, total: seen.append((done, total)))
    runner.run("Squaring", [Task(square, {"number": number}) for number in range(3)])
    assert seen == [(1, 3), (2, 3), (3, 3)]
    own = []
    runner.run("Squaring", [Task(square, {"number": 9})], lambda done, total: own.append(done))
    assert own == [1]
    assert len(seen) == 3


def test_shared_data_is_passed_by_reference_here_and_through_one_file_elsewhere(tmp_path):
    results = FolderResults(tmp_path)
    data = np.arange(4)
    with Shared(data, results, key="data") as shared:
        tasks = [Task(total_of, {"data": shared, "power": power}) for power in (1, 2)]
        assert shared.value is data
        LocalRunner(results).run("Summing", tasks[:1])
        assert not list(tmp_path.glob("shared*"))
        copies = [pickle.loads(pickle.dumps(task)) for task in tasks]
        assert [path.name for path in tmp_path.glob("*shared*")] == ["shared-data"]
        assert len(pickle.dumps(tasks)) < 1000
        assert [copy.name for copy in copies] == [task.name for task in tasks]
        first, second = (copy.inputs["data"].value for copy in copies)
        assert first is second  # read once per process
        copies[1].run(results)
    assert not list(tmp_path.glob("shared*"))
    assert [results[task.name]["total"].tolist() for task in tasks] == [[6], [14]]


def test_a_task_lists_the_files_that_it_leaves(tmp_path):
    results = FolderResults(tmp_path)
    task = Task(leave_a_file, {"text": "hello"})
    LocalRunner(results).run("Writing", [task])
    assert (tmp_path / results[task.name].values["text"]).read_text() == "hello"


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_result_is_made_again(tmp_path, damage):
    results, task = FolderResults(tmp_path), Task(square, {"number": 100})
    LocalRunner(results).run("Squaring", [task])
    path = tmp_path / task.name
    whole = path.read_bytes()
    content = bytearray(whole)
    content[-20] ^= 1
    path.write_bytes(content if damage == "flip" else content[:100] if damage == "cut" else b"")
    with pytest.raises(FileFormatError, match=r"damaged, or cut short|cannot be read"):
        open_result(path)
    (record,) = LocalRunner(results).run("Squaring", [task])
    assert not record.was_finished
    assert record.n_bytes == len(whole)
    assert path.read_bytes() == whole


def test_results_keep_types_and_leave_nothing_half_written(tmp_path):
    arrays = {"a": np.arange(5, dtype=np.int32), "b": np.zeros(0), "c": np.array([1.5, 2], np.float32)}
    write_result(tmp_path / "result", arrays, {"text": "x", "list": [1, 2]})
    found = open_result(tmp_path / "result")
    assert {name: (array.dtype, array.tolist()) for name, array in found.arrays.items()} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }
    assert found.values == {"text": "x", "list": [1, 2]}
    with pytest.raises(TypeError):
        write_result(tmp_path / "other", arrays, {"set": {1}})
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_too_little_memory_names_the_option_of_the_user():
    memory = TaskMemory(5000, "memory_per_worker", 0.5)
    with pytest.raises(InputError, match=r"memory_per_worker must be at least 20000 bytes to split it, got 10000"):
        memory.refuse(10_000, "to split it")
