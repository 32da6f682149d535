"""Progress of long work: a bar where someone watches, a callback for programs, nothing by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from labeltrees._validation import refuse


@contextmanager
def watch(
    what: str, total: int, progress: bool | Callable[[int, int], object] | None
) -> Iterator[Callable[[int], object] | None]:
    """Give the function to call with the units done so far, or None where nobody watches.

    Parameters
    ----------
    what : str
        Shown beside the bar.
    total : int
        Units of work in all.
    progress : bool or callable(done, total), optional
        True draws a bar on standard error.
    """
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        callback = progress
        yield lambda done: callback(done, total)
    elif progress is True:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)
    else:
        refuse("progress", "True, False, None or a function of (done, total)", progress)
