"""Measuring what searches cost: real queries, timed in turns, half of them to fit the costs and half to check them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from labeltrees._validation import check_integer, check_seed
from labeltrees.profiling.cost_model import CostModel, fit_costs
from labeltrees.profiling.counts import SearchCounts, Visits

if TYPE_CHECKING:
    from labeltrees._core import Float64s

AT_ONCE = 500  # queries timed by one native call: Ctrl-C waits for it, and it stays on this thread
_MOST_BLOCKS = 50
_LEAST = 1e-3  # microseconds: a clock may stand still


class Asked(NamedTuple):
    """Queries, and how their answers are searched: wholly, or up to a stage of `Searches.stages`."""

    queries: Any
    k: int
    how: dict[str, Any]
    stage: str = "search"


class Searches(Protocol):
    """What a kind of model lets be measured of its searches."""

    parts: dict[str, tuple[str, ...]]
    stages: dict[str, tuple[str, ...]]  # by the name of a stage, what is done by then

    def count(self, asked: Asked) -> SearchCounts:
        """Return the counts of every query's whole search."""

    def time(self, asked: Asked, visits: Visits) -> Float64s:
        """Return the microseconds of every query, answered one after the other on this thread."""

    def altered(self, asked: Asked, random: np.random.Generator) -> list[Asked]:
        """Return the same queries otherwise: what always goes together in them must come apart somewhere."""


@dataclass(frozen=True)
class MeasuredCosts:
    """Costs, and how well they tell the time.

    Parameters
    ----------
    costs : CostModel
    counts : SearchCounts
        Of the queries.
    microseconds : float64 (n,)
        The best of all rounds for each query.
    error : float
        On the queries that the costs were not fitted to: by how much the predicted mean is above the real one, as a
        share of it. NaN where there is one query alone.
    """

    costs: CostModel
    counts: SearchCounts
    microseconds: Float64s
    error: float


def measure_costs(
    searches: Searches,
    asked: Asked,
    *,
    repeats: int = 10,
    random_state: int = 0,
    advance: Callable[[int], object] | None = None,
) -> MeasuredCosts:
    """Return what each thing costs that the searches of some queries do.

    The queries are answered as asked, and also for fewer and for more labels and in the ways of `Searches.altered`, so
    that the counts vary apart. Every round times each of these once; the best of the rounds counts, query by query,
    which leaves out what else the machine was doing. Blocks of queries take turns: one to fit, one to check.

    Parameters
    ----------
    searches : Searches
    asked : Asked
        At least one query.
    repeats : int
        Rounds. The counting before them has read what is mapped from disk.
    random_state : int
        Of the altered queries.
    advance : function, optional
        Called with the number of rounds done.
    """
    repeats = check_integer("repeats", repeats, 1)
    random = np.random.default_rng(check_seed(random_state))
    others = [asked._replace(k=k) for k in sorted({1, 10, 2 * asked.k} - {asked.k})]
    tasks = [asked, *others, *searches.altered(asked, random)]
    counts = [_up_to(searches, task.stage, searches.count(task)) for task in tasks]
    best = [np.full(len(count.visits.ends) - 1, np.inf) for count in counts]
    for number in range(repeats):
        for task, count, times in zip(tasks, counts, best, strict=True):
            np.minimum(times, np.maximum(searches.time(task, count.visits), _LEAST), out=times)
        if advance is not None:
            advance(number + 1)
    return _fit(searches.parts, counts, best)


def _up_to(searches: Searches, stage: str, counts: SearchCounts) -> SearchCounts:
    """Return the counts of what is done by the end of a stage."""
    if stage == "search":
        return counts
    done = searches.stages[stage]
    return SearchCounts({name: own if name in done else 0 * own for name, own in counts.each.items()}, counts.visits)


def _fit(parts: dict[str, tuple[str, ...]], counts: list[SearchCounts], best: list[Float64s]) -> MeasuredCosts:
    """Fit on every other block of queries; what is checked was never seen, asked in whatever way."""
    n = len(best[0])
    block = np.arange(n) // -(-n // _MOST_BLOCKS)
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    fitted = np.arange(len(starts)) % 2 == 0
    names = [name for own in parts.values() for name in own]
    sums = {
        name: np.concatenate([np.add.reduceat(count.each[name], starts)[fitted] for count in counts]) for name in names
    }
    weights = np.ones((len(counts), int(fitted.sum())))
    weights[0] = len(counts) - 1  # as asked it counts as much as in all other ways together
    times = np.concatenate([np.add.reduceat(own, starts)[fitted] for own in best])
    costs = fit_costs(sums, times, parts, weights.reshape(-1))
    unseen = ~fitted[block]
    predicted, real = costs.microseconds(counts[0].each)[unseen].sum(), best[0][unseen].sum()
    error = float(predicted / real - 1) if unseen.any() else float("nan")
    return MeasuredCosts(costs, counts[0], best[0], error)
