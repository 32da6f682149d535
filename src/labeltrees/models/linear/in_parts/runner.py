"""Tasks, and how they run: here one after the other in this process; `labeltrees.dask` runs them on a cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._array_files import checksum_text
from labeltrees._progress import ProgressArgument, watch
from labeltrees.models.linear.in_parts.result_file import is_finished, write_result

FORMAT = 2  # of the results; a change makes all of them new
Outcome = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Task:
    """One call of a function whose result is a file, named by a hash of all that the result depends on.

    Parameters
    ----------
    function : callable(**inputs) -> (arrays, values)
        A function of a module, so that other processes can import it.
    inputs : dict
        Arguments that the result depends on: JSON values. Files of other results are named by their own hash.
    folder : str
        Where results are written, and `function` finds those of earlier stages.
    how : dict
        Arguments that do not change the result, such as the number of threads.
    """

    function: Callable[..., Outcome]
    inputs: dict[str, Any]
    folder: str
    how: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the result's file."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        described = json.dumps([FORMAT, function, self.inputs], sort_keys=True, default=_plain).encode()
        return f"{self.function.__name__}-{checksum_text(_core.xxh64(np.frombuffer(described, np.uint8)))}"

    @property
    def path(self) -> Path:
        """The result's file."""
        return Path(self.folder) / self.name

    def run(self) -> TaskRecord:
        """Compute and write the result, unless it exists already."""
        started = time.perf_counter()
        if is_finished(self.path):
            return TaskRecord(self.name, 0.0, 0, True)
        arrays, values = self.function(folder=self.folder, **self.inputs, **self.how)
        size = write_result(self.path, arrays, values)
        return TaskRecord(self.name, time.perf_counter() - started, size, False)


def _plain(value: Any) -> Any:
    return value.item()  # of NumPy's scalars


class TaskRecord(NamedTuple):
    """How a task went."""

    name: str
    seconds: float
    n_bytes: int
    was_finished: bool


class Runner(Protocol):
    """Runs the tasks of a stage and returns when all results are written."""

    def run(self, stage: str, tasks: Sequence[Task]) -> list[TaskRecord]:
        """Run the tasks in any order; `stage` says what they do."""


@dataclass(frozen=True)
class SerialRunner:
    """Runs tasks one after the other in this process."""

    progress: ProgressArgument = None

    def run(self, stage: str, tasks: Sequence[Task]) -> list[TaskRecord]:
        """Run the tasks."""
        records = []
        with watch(stage, len(tasks), self.progress, unit="tasks") as advance:
            for task in tasks:
                records.append(task.run())
                if advance is not None:
                    advance(len(records))
        return records
