"""Progress of long work: a bar in a terminal, log lines elsewhere, or a callback."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from labeltrees._validation import refuse

ProgressArgument = bool | Callable[[int, int], object] | None
BYTES = "bytes"

_logger = logging.getLogger("labeltrees")
_SECONDS_BETWEEN_LINES = 10.0
_shown: ContextVar[bool] = ContextVar("shown", default=False)
_spinner: ContextVar[Any] = ContextVar("spinner", default=None)  # the active one
_open_bars: list[str] = []  # a terminal shows one bar at a time, so nested work has none


@contextmanager
def watch(
    what: str, total: int, progress: ProgressArgument, detail: Callable[[int], str] | None = None, unit: str = ""
) -> Iterator[Callable[[int], object] | None]:
    """Yield a function to call with the units done so far, or None if progress is not shown.

    Parameters
    ----------
    what : str
        Shown beside the bar.
    total : int
        Total units of work.
    progress : bool or callable(done, total), optional
        True draws a bar on standard error if that is a terminal; if not, it logs a line (INFO, logger "labeltrees")
        every ten seconds and one at the end. A function is called instead. False and None show nothing.
    detail : callable(done), optional
        Returns further text to show.
    unit : str
        The unit of the rate per second, such as "points"; `BYTES` are shown as megabytes.
    """
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        callback = progress
        yield lambda done: callback(done, total)
    elif progress is not True:
        refuse("progress", "True, False, None or a function of (done, total)", progress)
    else:
        with _shown_progress(what, total, detail, unit, is_part=False) as advance:
            yield advance


@contextmanager
def watch_part(what: str, total: int, unit: str) -> Iterator[Callable[[int], object] | None]:
    """Watch work that has no argument `progress`: shown only inside `showing`, and logged only if it takes long."""
    if not _shown.get() or _open_bars:
        yield None
        return
    with _shown_progress(what, total, None, unit, is_part=True) as advance:
        yield advance


@contextmanager
def showing(show: bool) -> Iterator[None]:
    """Show the progress of everything inside that `watch_part` watches, such as reading files and vectorizing texts."""
    before = _shown.set(show)
    try:
        yield
    finally:
        _shown.reset(before)


@contextmanager
def spinning(what: str) -> Iterator[None]:
    """Show a spinner on standard error if that is a terminal, and the progress of everything inside."""
    from rich.console import Console  # only where progress is shown

    with showing(True), Console(stderr=True).status(what) as status:
        before = _spinner.set(status)
        try:
            yield
        finally:
            _spinner.reset(before)


@contextmanager
def _shown_progress(
    what: str, total: int, detail: Callable[[int], str] | None, unit: str, *, is_part: bool
) -> Iterator[Callable[[int], object]]:
    from rich.console import Console

    console = Console(stderr=True)
    _open_bars.append(what)
    try:
        if console.is_terminal and len(_open_bars) == 1:
            with _without_spinner(), _bar(console, is_part) as bar:
                task = bar.add_task(what, total=total, detail="", unit=unit)
                yield lambda done: bar.update(task, completed=done, detail=detail(done) if detail else "")
            return
        lines = _LogLines(what, total, detail, unit)
        yield lines.update
        if not is_part or lines.n_lines > 0:
            lines.finish()
    finally:
        _open_bars.remove(what)


@contextmanager
def _without_spinner() -> Iterator[None]:
    """Stop the spinner while a bar is shown: a terminal can show only one of them."""
    spinner = _spinner.get()
    if spinner is None:
        yield
        return
    spinner.stop()
    try:
        yield
    finally:
        spinner.start()


def _bar(console: Any, is_part: bool) -> Any:
    from rich import progress as rich_progress

    class RateColumn(rich_progress.ProgressColumn):
        """How many units are done per second."""

        def render(self, task: Any) -> Any:
            """Return the rate of a task."""
            return rate_text(task.finished_speed or task.speed or 0.0, task.fields["unit"])

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TimeRemainingColumn(),
        RateColumn(),
        rich_progress.TextColumn("{task.fields[detail]}"),
    )
    return rich_progress.Progress(*columns, console=console, transient=is_part)


def rate_text(rate: float, unit: str) -> str:
    """Return a rate with its unit; empty without a unit or a positive rate.

    Examples
    --------
    >>> rate_text(12345.6, "texts"), rate_text(12345678.9, BYTES), rate_text(3.21, "settings"), rate_text(5.0, "")
    ('12,346 texts/s', '12.3 MB/s', '3.2 settings/s', '')
    """
    if not unit or rate <= 0:
        return ""
    if unit == BYTES:
        return f"{rate / 1e6:,.1f} MB/s"
    return f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:.1f} {unit}/s"


class _LogLines:
    """Progress as log lines, at most one every ten seconds."""

    def __init__(self, what: str, total: int, detail: Callable[[int], str] | None = None, unit: str = "") -> None:
        self._what, self._total, self._detail, self._unit = what, total, detail, unit
        self._started = self._last = time.monotonic()
        self.n_lines = 0

    def update(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            self.n_lines += 1
            seconds = now - self._started
            parts = [f"{self._what}: {100 * done / max(self._total, 1):.0f} % after {seconds:.0f} s"]
            parts += [rate_text(done / seconds, self._unit)]
            parts += [f"about {seconds * (self._total - done) / done:.0f} s left"] if 0 < done < self._total else []
            parts += [self._detail(done)] if self._detail else []
            _logger.info("%s", ", ".join(filter(None, parts)))

    def finish(self) -> None:
        _logger.info("%s: done in %.1f s", self._what, time.monotonic() - self._started)
