"""The time that a choice may take: trials that would not leave enough time for the final training are not started."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class TimeBudget:
    """Seconds for all trials and the final training.

    The time of a trial is estimated from its own training on a sample, or from the slowest plain training so far, per
    point. Plans without a limit (None) are
    always the same; with a limit, they depend on the speed of the machine.

    Parameters
    ----------
    seconds : float or None
    n_final : int
        The number of points of the final training.
    clock : callable
        Returns the time in seconds.
    """

    seconds: float | None
    n_final: int
    clock: Callable[[], float] = time.monotonic
    _share: float = 1.0
    _per_point: float = 0.0
    _skipped: int = 0
    _started: float = field(init=False)
    _own: dict[str, float] = field(default_factory=dict)  # of trainings by name

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def n_skipped(self) -> int:
        """The number of trials that there was no time for."""
        return self._skipped

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._started

    def enter(self, share: float) -> None:
        """Begin a step that may go on until this share of the time has passed, so that later steps have some left."""
        self._share = share

    def record(self, seconds: float, n_points: int, cost: float = 1.0, name: str = "") -> None:
        """Learn from a training that took `seconds`; `cost` is its time relative to a plain training."""
        self._own[name] = seconds / (max(n_points, 1) * cost)
        self._per_point = max(self._per_point, self._own[name])

    def adopt(self, name: str) -> None:
        """Expect later trainings to take as long as that of `name`, because they have its parameters."""
        self._per_point = self._own.get(name, self._per_point)

    def allows(self, n_points: int, cost: float = 1.0, name: str = "") -> bool:
        """Return whether there is time for a trial on `n_points` and for its final training; count it if not.

        Examples
        --------
        >>> budget = TimeBudget(10.0, n_final=100, clock=lambda: 0.0)
        >>> budget.record(seconds=2.0, n_points=50)
        >>> budget.allows(n_points=50), budget.allows(n_points=50, cost=3.0)
        (True, False)
        """
        if self.seconds is None or self._per_point == 0:
            return True
        per_point = self._own.get(name, self._per_point) if name else self._per_point
        needed = per_point * cost * (n_points + self.n_final)
        trial = per_point * cost * n_points
        allowed = self.elapsed + needed <= self.seconds and self.elapsed + trial <= self._share * self.seconds
        self._skipped += not allowed
        return allowed
