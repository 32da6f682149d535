"""The models of `sweep` and `choose` as tasks on a cluster."""

from __future__ import annotations

import functools
import itertools
import os
import pickle
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labeltrees.dask.extra import import_distributed
from labeltrees.dask.fitting import check_shared, show_dashboard
from labeltrees.dask.runner import DaskRunner, asking_cluster


@contextmanager
def cluster_executor(client: Any, folder: str | os.PathLike[str] | None) -> Iterator[ClusterExecutor]:
    """Yield an executor with a temporary folder beside `folder`, which all workers must see."""
    import_distributed()
    show_dashboard(client)
    parent = None if folder is None else Path(os.path.abspath(folder)).parent
    with tempfile.TemporaryDirectory(prefix="labeltrees-trials-", dir=parent, ignore_cleanup_errors=True) as temporary:
        with asking_cluster("Starting"):
            check_shared(client, Path(temporary), "folder")
        yield ClusterExecutor(DaskRunner(client), Path(temporary))


@dataclass(frozen=True)
class TrialTask:
    """A call of a function; the input that all calls share is read from a file, once per worker."""

    name: str
    function: Callable[[Any, Any], Any]
    shared: str
    item: Any

    def run(self) -> Any:
        """Return the result of the call."""
        return self.function(_read_shared(self.shared), self.item)


@functools.lru_cache(maxsize=1)  # the data of one step: a worker keeps them from task to task
def _read_shared(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)  # written by this run, in its own folder


@dataclass
class ClusterExecutor:
    """Runs the trials of a sweep or a choice on a cluster.

    Steps wait for each other, and all models are timed by one task, so that nothing else runs on the workers then.
    """

    runner: DaskRunner
    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in the order of the items; an iterator is asked for one item per idle thread."""
        path = self.folder / f"shared-{uuid.uuid4().hex[:12]}"
        with open(path, "wb") as file:
            pickle.dump(shared, file, protocol=pickle.HIGHEST_PROTOCOL)
        stage = function.__name__.replace("_", " ").capitalize()
        waiting = iter(items)
        try:
            while True:
                size = None if isinstance(items, list) else max(sum(self.runner.client.nthreads().values()), 1)
                wave = list(itertools.islice(waiting, size))
                if not wave:
                    return
                yield from self.runner.call(stage, [self._task(function, path, item) for item in wave])
        finally:
            path.unlink(missing_ok=True)

    def _task(self, function: Callable[[Any, Any], Any], path: Path, item: Any) -> TrialTask:
        return TrialTask(f"{function.__name__}-{next(self._numbers)}", function, str(path), item)
