"""Where the models of a sweep or a choice are trained and timed: in this process, or on the workers of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Found = TypeVar("Found")


class Executor(Protocol):
    """Calls a function for each item, and returns when all are done."""

    @property
    def folder(self) -> Path | None:
        """Where models pass between tasks: seen by all workers. None if all run in this process."""

    def run(self, function: Callable[[Shared, Item], Found], shared: Shared, items: Iterable[Item]) -> Iterator[Found]:
        """Yield ``function(shared, item)`` in the order of the items.

        Items of a list may all run at once. An iterator is asked for an item when a worker is free for it, so that it
        can stop when the time is over.
        """


class LocalExecutor:
    """Runs one item after the other in this process."""

    folder = None

    def run(self, function: Callable[[Shared, Item], Found], shared: Shared, items: Iterable[Item]) -> Iterator[Found]:
        """Yield the results."""
        for item in items:
            yield function(shared, item)


@contextmanager
def open_executor(client: Any, folder: str | os.PathLike[str] | None) -> Iterator[Executor]:
    """Yield an executor for a Dask client, or for this process if it is None.

    Temporary files of a cluster are written beside `folder`, which all workers must see.
    """
    if client is None:
        yield LocalExecutor()
        return
    from labeltrees.dask.trials import cluster_executor

    with cluster_executor(client, folder) as executor:
        yield executor
