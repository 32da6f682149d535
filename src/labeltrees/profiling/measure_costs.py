"""Measure the costs of searches: time real queries, fit the costs on half of them and check them on the other half."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labeltrees._validation import check_integer, check_seed
from labeltrees.profiling.cost_model import CostModel, fit_costs
from labeltrees.profiling.counts import SearchCounts
from labeltrees.profiling.meter import SearchMeter, Workload

if TYPE_CHECKING:
    from labeltrees._core import Float64s

_MAX_BLOCKS = 50
_MIN_MICROSECONDS = 1e-3  # a coarse clock may report 0


@dataclass(frozen=True)
class MeasuredCosts:
    """Costs of operations, and how well they predict the time.

    Parameters
    ----------
    costs : CostModel
    counts : SearchCounts
        The counts of the queries.
    microseconds : float64 (n,)
        The shortest time of each query over all rounds.
    error : float
        Relative error of the predicted mean time on the queries that the costs were not fitted to; positive if the
        prediction is too high. NaN with a single query.
    """

    costs: CostModel
    counts: SearchCounts
    microseconds: Float64s
    error: float


def measure_costs(
    meter: SearchMeter,
    workload: Workload,
    *,
    repeats: int = 10,
    random_state: int = 0,
    advance: Callable[[int], object] | None = None,
) -> MeasuredCosts:
    """Return the cost of each operation of the searches of some queries.

    The queries are searched as the workload says, for fewer and for more labels, and as in `SearchMeter.variants`, so
    that the counts vary independently. Every round times each of these once. The shortest time of each query counts,
    which leaves out disturbances by other processes. Blocks of queries are used alternately to fit and to check.

    Parameters
    ----------
    meter : SearchMeter
    workload : Workload
        At least one query.
    repeats : int
        Rounds. Counting, which comes first, has already read a mapped model from disk.
    random_state : int
        Seed of the variants.
    advance : function, optional
        Called with the number of rounds done.
    """
    repeats = check_integer("repeats", repeats, 1)
    random = np.random.default_rng(check_seed(random_state))
    k = workload.request.k
    other_ks = sorted({1, 10, 2 * k} - {k})
    workloads = [workload, *map(workload.with_k, other_ks), *meter.variants(workload, random)]
    counts = [_counts_of_stage(meter, each.stage, meter.count(each)) for each in workloads]
    best = [np.full(len(count.visits.ends) - 1, np.inf) for count in counts]
    for number in range(repeats):
        for each, count, times in zip(workloads, counts, best, strict=True):
            np.minimum(times, np.maximum(meter.time(each, count.visits), _MIN_MICROSECONDS), out=times)
        if advance is not None:
            advance(number + 1)
    return _fit(meter.parts, counts, best)


def _counts_of_stage(meter: SearchMeter, stage: str, counts: SearchCounts) -> SearchCounts:
    """Return the counts of the operations that are done by the end of a stage."""
    if stage == "search":
        return counts
    done = meter.stages[stage]
    return SearchCounts({name: own if name in done else 0 * own for name, own in counts.each.items()}, counts.visits)


def _fit(parts: dict[str, tuple[str, ...]], counts: list[SearchCounts], best: list[Float64s]) -> MeasuredCosts:
    """Fit the costs on every other block of queries, in all workloads, and check them on the other blocks."""
    n = len(best[0])
    block = np.arange(n) // -(-n // _MAX_BLOCKS)
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    fitted = np.arange(len(starts)) % 2 == 0
    names = [name for own in parts.values() for name in own]
    sums = {
        name: np.concatenate([np.add.reduceat(count.each[name], starts)[fitted] for count in counts]) for name in names
    }
    weights = np.ones((len(counts), int(fitted.sum())))
    weights[0] = len(counts) - 1  # the workload itself counts as much as all variants together
    times = np.concatenate([np.add.reduceat(own, starts)[fitted] for own in best])
    costs = fit_costs(sums, times, parts, weights.reshape(-1))
    checked = ~fitted[block]
    predicted, real = costs.microseconds(counts[0].each)[checked].sum(), best[0][checked].sum()
    error = float(predicted / real - 1) if checked.any() else float("nan")
    return MeasuredCosts(costs, counts[0], best[0], error)
