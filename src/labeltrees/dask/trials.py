"""The models of `sweep` and `choose` as tasks on a cluster."""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labeltrees.tasks import FolderResults, Outcome, Shared, Task
from labeltrees.tasks.on_dask import DaskRunner


@contextmanager
def cluster_executor(client: Any, folder: str | os.PathLike[str] | None) -> Iterator[ClusterExecutor]:
    """Yield an executor with a temporary folder beside `folder`, which all workers must see."""
    parent = None if folder is None else Path(os.path.abspath(folder)).parent
    with tempfile.TemporaryDirectory(prefix="labeltrees-trials-", dir=parent, ignore_cleanup_errors=True) as temporary:
        runner = DaskRunner(client, temporary)
        runner.show_dashboard()
        runner.check_folder("folder")
        yield ClusterExecutor(runner, Path(temporary))


def call(results: FolderResults, *, number: int, function: Any, shared: Shared[Any], item: Any) -> Outcome:
    """Write what a function returns for an item."""
    path = results.new_path("found")
    path.write_bytes(pickle.dumps(function(shared.value, item), protocol=pickle.HIGHEST_PROTOCOL))
    return {}, {"found": path.name}


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
        stage = function.__name__.replace("_", " ").capitalize()
        with Shared(shared, self.runner.results) as common:
            how = {"function": function, "shared": common}
            waiting = (Task(call, {"number": next(self._numbers)}, {**how, "item": item}) for item in items)
            while True:
                wave = list(itertools.islice(waiting, None if isinstance(items, list) else self.runner.n_workers))
                if not wave:
                    return
                self.runner.run(stage, wave)
                for task in wave:
                    path = self.folder / self.runner.results[task.name].values["found"]
                    yield pickle.loads(path.read_bytes())  # written by this run, in its own folder
