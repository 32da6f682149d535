"""Tasks, objects that tasks share, and the interface of runners.

To run tasks elsewhere, write a subclass of `Runner`, such as `LocalRunner` for this process and `DaskRunner` for a
cluster.
"""

from __future__ import annotations

import functools
import json
import os
import pickle
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np

from labeltrees import _core
from labeltrees._array_files import checksum_text
from labeltrees._progress import ProgressArgument, watch
from labeltrees._validation import check_n_jobs, refuse
from labeltrees.tasks.results import Outcome, Results

FORMAT = 3  # of the results: a new number invalidates all old results
Value = TypeVar("Value")


class TaskRecord(NamedTuple):
    """A finished task: its time, the bytes written, and whether the result existed already."""

    name: str
    seconds: float
    n_bytes: int
    was_finished: bool


@dataclass(frozen=True)
class Task:
    """A function call whose result is named by a hash of everything it depends on.

    Parameters
    ----------
    function : callable(results, **inputs, **how) -> (arrays, values)
        A module-level function, so that other processes can import it. `results` has the results of earlier stages. If
        results are files, `values` must be JSON values, and the task writes other output to
        ``results.new_path(...)``.
    inputs : dict
        Arguments that the result depends on: JSON values, names of other results, dataclasses of such values, and
        objects with a `key` that identifies their content, such as `Shared`.
    how : dict
        Arguments that do not change the result, such as the number of threads.
    """

    function: Callable[..., Outcome]
    inputs: dict[str, Any]
    how: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def name(self) -> str:
        """The name of the result."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        described = json.dumps([FORMAT, function, self.inputs], sort_keys=True, default=_plain).encode()
        return f"{self.function.__name__}-{checksum_text(_core.xxh64(np.frombuffer(described, np.uint8)))}"

    def run(self, results: Results) -> TaskRecord:
        """Compute and store the result, unless it exists already."""
        started = time.perf_counter()
        if self.name in results:
            return TaskRecord(self.name, 0.0, 0, True)
        arrays, values = self.function(results, **self.inputs, **self.how)
        size = results.put(self.name, arrays, values)
        return TaskRecord(self.name, time.perf_counter() - started, size, False)


def _plain(value: Any) -> Any:
    """Return an input as JSON values."""
    if hasattr(value, "key"):
        return value.key
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, {item.name: getattr(value, item.name) for item in fields(value)}]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    message = f"{type(value).__name__} cannot be an input of a task"
    raise TypeError(message)


class Shared(Generic[Value]):
    """An object that many tasks use: passed by reference in this process, through one file to other processes.

    Use it with ``with``, or call `remove`, to delete the file.

    Parameters
    ----------
    value : object
        Other processes get a pickled copy, which each of them reads once.
    results : Results
        The file is written to their folder when a task with this object is first sent to another process.
    key : str, optional
        Identifies the content if this object is an input of tasks. By default a unique key.
    """

    def __init__(self, value: Value, results: Results, key: str | None = None) -> None:
        self.key = uuid.uuid4().hex if key is None else key
        self._value: Value | None = value
        self._folder = results.folder
        self._is_written = False

    @property
    def value(self) -> Value:
        """The object."""
        if self._value is not None:
            return self._value
        copy: Value = _read_shared(str(self._path))
        return copy

    @property
    def _path(self) -> Path:
        assert self._folder is not None, "results in memory are not seen by other processes"
        return self._folder / f"shared-{self.key}"

    def remove(self) -> None:
        """Delete the file, if there is one."""
        if self._is_written:
            self._path.unlink(missing_ok=True)
            self._is_written = False

    def __enter__(self) -> Shared[Value]:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __getstate__(self) -> dict[str, Any]:
        if self._value is not None and not self._is_written:
            temporary = self._path.with_name(f".shared-{uuid.uuid4().hex[:12]}")
            with open(temporary, "wb") as file:
                pickle.dump(self._value, file, protocol=pickle.HIGHEST_PROTOCOL)
            os.replace(temporary, self._path)
            self._is_written = True
        return {**vars(self), "_value": None}


@functools.lru_cache(maxsize=2)  # a worker reuses the data of a stage for its next tasks
def _read_shared(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)  # safe: written by this run, in its own folder


class TaskMemory(NamedTuple):
    """How much memory one task may use: `share` of the value of the user's `option`."""

    n_bytes: int
    option: str = "max_memory"
    share: float = 1.0

    def refuse(self, needed: int, purpose: str) -> NoReturn:
        """Raise `InputError` because a task needs more memory; `needed` is in bytes."""
        refuse(self.option, f"at least {int(needed / self.share)} bytes {purpose}", int(self.n_bytes / self.share))


class Runner(ABC):
    """Base class of runners: each runs the tasks of a stage in some place.

    Attributes
    ----------
    results : Results
        Where the tasks read and store results.
    progress : bool or callable(done, total), optional
    memory : TaskMemory, optional
        Memory limit of a task; None for no limit.
    n_jobs : int, optional
        Threads per task, as in scikit-learn.
    """

    results: Results
    progress: ProgressArgument = None
    memory: TaskMemory | None = None
    n_jobs: int | None = None

    @property
    def task_bytes(self) -> int:
        """The memory limit of a task in bytes; a very large number if there is none."""
        return 2**62 if self.memory is None else self.memory.n_bytes

    @property
    def threads_of_host(self) -> int:
        """The total number of threads for tasks on one machine."""
        return check_n_jobs(self.n_jobs)

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many tasks can run at the same time."""

    @abstractmethod
    def stream(self, stage: str, tasks: Iterable[Task]) -> Iterator[TaskRecord]:
        """Run tasks and yield a record whenever one has finished, in any order.

        The tasks of a list may all start at once. An iterator is asked for the next task only when a worker is free,
        so that it can stop at a time limit.
        """

    def run(self, stage: str, tasks: Sequence[Task], progress: ProgressArgument = None) -> list[TaskRecord]:
        """Run all tasks to the end and return their records in the order of the tasks.

        Parameters
        ----------
        stage : str
            What the tasks do, for progress and messages.
        tasks : list of Task
        progress : bool or callable(done, total), optional
            By default ``self.progress``.
        """
        records: dict[str, TaskRecord] = {}
        shown = self.progress if progress is None else progress
        with watch(stage, len(tasks), shown, unit="tasks") as advance:
            for done, record in enumerate(self.stream(stage, list(tasks)), 1):
                records[record.name] = record
                if advance is not None:
                    advance(done)
        return [records[task.name] for task in tasks]

    def check_folder(self, option: str) -> None:  # noqa: B027
        """Raise an error if a worker does not see the folder of the results, which the user chooses with `option`."""
