"""The time budget of a choice: how long trials take, and which of them fit into the budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

OWN = "as given"  # the name of the estimator's own candidate
AND = " + "  # between the changes in the name of a candidate
_GROWTH = (0.2, 1.3)  # bounds of p, if the time of a trial grows like n_points ** p
_UNKNOWN_GROWTH = 1.0
_UNKNOWN_COST = 1.5  # training time with an unmeasured change, relative to training without it
_RESERVE = 1.2  # the final training may take this many times as long as expected
_RESERVED_SHARE = 0.04  # of the budget, for the baselines


@dataclass
class TimeBudget:
    """Seconds for all trials, timing, baselines and the final training; trials that do not fit do not start.

    The time of a trial is extrapolated from the same candidate on fewer points, with the growth of the estimator's own
    candidate if that was measured on more points. For a candidate with several changes that was not measured yet, it is
    the time of a candidate with most of them, multiplied by a factor that combines those of the others. Without a
    limit (None), the plan is fixed; with a limit, it depends on the speed of the machine.

    Parameters
    ----------
    seconds : float or None
    n_final : int
        The number of points of the final training.
    clock : callable
        Returns the time in seconds.
    costs : mapping
        Training time with each change, by name, relative to training without it; used until it is measured.
    """

    seconds: float | None = None
    n_final: int = 0
    clock: Callable[[], float] = time.monotonic
    costs: Mapping[str, float] = field(default_factory=dict)
    _skipped: set[str] = field(default_factory=set)
    _started: float = field(init=False)
    _seconds: dict[str, dict[int, float]] = field(default_factory=dict)  # by name and size

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._started

    @property
    def left(self) -> float:
        """Seconds that are left; infinity without a limit."""
        return math.inf if self.seconds is None else self.seconds - self.elapsed

    @property
    def n_skipped(self) -> int:
        """The number of candidates that there was no time for."""
        return len(self._skipped)

    def record(self, name: str, n_points: int, seconds: float) -> None:
        """Record how long a trial took."""
        self._seconds.setdefault(name, {})[n_points] = seconds
        self._skipped.discard(name)

    def expected(self, name: str, n_points: int) -> float:
        """Return the seconds that a trial will probably take; 0 if nothing is known.

        Examples
        --------
        >>> budget = TimeBudget(100.0, n_final=1000, clock=lambda: 0.0, costs={"n_trees 3": 3.0})
        >>> budget.record("as given", 100, 2.0)
        >>> budget.record("C 1.0", 100, 1.0)
        >>> budget.expected("as given", 1000), budget.expected("C 1.0 + n_trees 3", 100)
        (20.0, 3.0)
        """
        if name in self._seconds:
            return self._extrapolated(self._seconds[name], n_points)
        if not self._seconds:
            return 0.0
        changes = name.split(AND)
        parts = [own for own in self._seconds if AND in own and set(own.split(AND)) < set(changes)]
        usual = OWN if OWN in self._seconds else next(iter(self._seconds))
        nearest = max(parts, key=lambda own: len(own.split(AND)), default=usual)
        base, known = self._seconds[nearest], nearest.split(AND)
        factors = [self._factor(change) for change in changes if change not in known]
        # Slower changes together take longer than the sum of their extra times, and less than the product.
        slower = [factor for factor in factors if factor > 1]
        together = (math.prod(slower) + 1 + sum(factor - 1 for factor in slower)) / 2
        return self._extrapolated(base, n_points) * together * math.prod(own for own in factors if own <= 1)

    def reserve(self, name: str) -> float:
        """Return the seconds to keep for the final training of a candidate, and for the baselines."""
        return _RESERVE * self.expected(name, self.n_final) + _RESERVED_SHARE * (self.seconds or 0.0)

    def share(self, name: str, n_points: int) -> float:
        """Return the share of the remaining time that a trial and the final training of its candidate take."""
        return (self.expected(name, n_points) + self.reserve(name)) / max(self.left, 1e-9)

    def has_time(self, name: str, n_points: int, until: float = 1.0, best: str = OWN) -> bool:
        """Return whether there is time for a trial and for the final training after it.

        Parameters
        ----------
        name : str
        n_points : int
        until : float
            The share of the budget within which the trial must end, so that time is left for later stages.
        best : str
            The best candidate so far, which is trained in the end if this one is not better.
        """
        if self.seconds is None:
            return True
        trial = self.expected(name, n_points)
        left = self.left - max(self.reserve(name), self.reserve(best))
        return trial <= left and self.elapsed + trial <= until * self.seconds

    def allows(self, name: str, n_points: int, until: float = 1.0) -> bool:
        """Return what `has_time` returns; if there is no time, count the trial as skipped."""
        allowed = self.has_time(name, n_points, until)
        if not allowed:
            self._skipped.add(name)
        return allowed

    def _factor(self, change: str) -> float:
        """Return the training time with a change, relative to that of the estimator as given at the same size."""
        own, known = self._seconds.get(OWN, {}), self._seconds.get(change, {})
        sizes = own.keys() & known.keys()
        if not sizes:
            return self.costs.get(change, _UNKNOWN_COST)
        largest = max(sizes)
        return known[largest] / max(own[largest], 1e-9)

    def _extrapolated(self, known: Mapping[int, float], n_points: int) -> float:
        largest, own = max(known), self._seconds.get(OWN, {})
        if n_points in known:
            return known[n_points]
        if largest in own and max(own) > largest:
            return known[largest] * self._extrapolated(own, n_points) / max(own[largest], 1e-9)
        return float(known[largest] * (n_points / max(largest, 1)) ** self._power(known))

    def _power(self, known: Mapping[int, float]) -> float:
        *_, smaller, larger = [0, *sorted(known)]
        if smaller == 0 or min(known[smaller], known[larger]) <= 0:
            return _UNKNOWN_GROWTH
        power = math.log(known[larger] / known[smaller]) / math.log(larger / smaller)
        return min(max(power, _GROWTH[0]), _GROWTH[1])
