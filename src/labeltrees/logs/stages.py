"""Progress over the stages of preparing a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from labeltrees._progress import ProgressArgument, watch

N_STAGES = 6
_UNITS = 100  # of progress per stage


class Stages:
    """The stage that is running, and how much of it is done."""

    def __init__(self) -> None:
        self.name = ""
        self._stage = 0
        self._report: Callable[[int], object] | None = None

    def connect(self, report: Callable[[int], object] | None) -> None:
        """Say where progress goes; None for nowhere."""
        self._report = report

    def start(self, name: str) -> None:
        """Begin a stage; the stage before it is done."""
        self.name = name
        self._tell(_UNITS * self._stage)
        self._stage += 1

    def report(self, share: float) -> None:
        """Say how much of the stage is done, from 0 to 1."""
        self._tell(round(_UNITS * (self._stage - 1 + share)))

    def finish(self) -> None:
        """Say that all stages are done."""
        self._tell(_UNITS * N_STAGES)

    def _tell(self, done: int) -> None:
        if self._report is not None:
            self._report(done)


@contextmanager
def watch_stages(progress: ProgressArgument) -> Iterator[Stages]:
    """Yield the stages, which show their name and their share of the whole work."""
    stages = Stages()
    with watch("Preparing the log", _UNITS * N_STAGES, progress, lambda _done: stages.name) as report:
        stages.connect(report)
        yield stages
