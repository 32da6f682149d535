"""Progress of long work: a bar in a terminal, log lines elsewhere, or a callback."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from labeltrees._validation import refuse

ProgressArgument = bool | Callable[[int, int], object] | None

_logger = logging.getLogger("labeltrees")
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def watch(
    what: str, total: int, progress: ProgressArgument, detail: Callable[[int], str] | None = None
) -> Iterator[Callable[[int], object] | None]:
    """Yield the function to call with the units done so far, or None if progress is not shown.

    Parameters
    ----------
    what : str
        Shown beside the bar.
    total : int
        Total units of work.
    progress : bool or callable(done, total), optional
        True draws a bar on standard error if that is a terminal. Otherwise the logger "labeltrees" gets a line (INFO)
        every ten seconds, and one at the end.
    detail : callable(done), optional
        Returns more to show about the work, such as its speed.
    """
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        callback = progress
        yield lambda done: callback(done, total)
    elif progress is not True:
        refuse("progress", "True, False, None or a function of (done, total)", progress)
    elif (console := Console(stderr=True)).is_terminal:
        with _bar(console) as bar:
            task = bar.add_task(what, total=total, detail="")
            yield lambda done: bar.update(task, completed=done, detail=detail(done) if detail else "")
    else:
        lines = _LogLines(what, total, detail)
        yield lines.update
        lines.finish()


def _bar(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    return Progress(*columns, console=console)


class _LogLines:
    """Progress as log lines, at most one every few seconds."""

    def __init__(self, what: str, total: int, detail: Callable[[int], str] | None = None) -> None:
        self._what, self._total, self._detail = what, total, detail
        self._started = self._last = time.monotonic()

    def update(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            percent = 100 * done / max(self._total, 1)
            more = f", {self._detail(done)}" if self._detail else ""
            _logger.info("%s: %.0f %% after %.0f s%s", self._what, percent, now - self._started, more)

    def finish(self) -> None:
        _logger.info("%s: done in %.1f s", self._what, time.monotonic() - self._started)
