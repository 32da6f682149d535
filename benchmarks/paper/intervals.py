"""Curves with bootstrap replicates: test points and seeds are drawn again, the same for all curves of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.records import Record

REPLICATES = 2000
LEVEL = 0.95
PRECISIONS = {"p1": ("hits1", 1), "p3": ("hits3", 3), "p5": ("hits5", 5)}
DEPTHS = ("depth1", "depth3")


class Interval(NamedTuple):
    """An estimate and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """Precision (percent) and depth of one variant along its tradeoffs.

    Row 0 of each array (1 + REPLICATES, tradeoffs) is the mean over all seeds and points; the others are replicates.
    """

    tradeoffs: list[float]
    seeds: list[int]
    values: dict[str, NDArray[np.float64]]

    def at(self, tradeoff: float, name: str) -> NDArray[np.float64]:
        """Return estimate and replicates of one point of the curve."""
        return self.values[name][:, self.tradeoffs.index(tradeoff)]

    def interval(self, tradeoff: float, name: str) -> Interval:
        """Return one point of the curve with its interval."""
        return interval(self.at(tradeoff, name))


def interval(samples: NDArray[np.float64]) -> Interval:
    """Return the estimate (first sample) and the interval of the replicates (all others)."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(samples[1:], [tail, 1 - tail])
    return Interval(float(samples[0]), float(low), float(high))


def replicate_weights(n_seeds: int, n_groups: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often each seed and each group of points occurs in each replicate; row 0 has everything once."""
    rng = np.random.default_rng(0)
    weights = []
    for n in (n_seeds, n_groups):
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=REPLICATES)
        weights.append(np.vstack([np.ones(n), drawn]).astype(np.float64))
    return weights[0], weights[1]


def make_curve(records: list[list[Record]], tradeoffs: list[float], seeds: list[int]) -> Curve:
    """Return the curve of the records of each seed (outer list) and tradeoff (inner list)."""

    def stack(name: str) -> NDArray[np.float64]:
        return np.array([[record[name] for record in row] for row in records], dtype=np.float64)

    sizes = stack("weights")  # (seeds, tradeoffs, groups)
    of_seeds, of_groups = replicate_weights(len(seeds), sizes.shape[2])

    def mean(name: str) -> NDArray[np.float64]:
        sums, totals = (np.einsum("bs,stg,bg->bt", of_seeds, v, of_groups, optimize=True) for v in (stack(name), sizes))
        return sums / totals

    values = {name: 100 * mean(hits) / k for name, (hits, k) in PRECISIONS.items()}
    return Curve(tradeoffs, seeds, values | {name: mean(name) for name in DEPTHS})


class AtEqualDepth(NamedTuple):
    """Differences of precision at equal depth: mean over the depths that both curves reach."""

    difference: Interval
    shallow: float
    deep: float


def at_equal_depth(
    first: Curve, second: Curve, precision: str, depth: str, min_tradeoff: float = 0.0
) -> AtEqualDepth | None:
    """Return precision of `first` minus that of `second` at equal expected depth.

    Both curves are interpolated linearly along the depth axis, at 50 depths evenly spaced over the range that both
    reach. Only tradeoffs from `min_tradeoff` on count. None if they share less than a tenth of a level.
    """
    ends = []
    for curve in (first, second):
        depths = curve.values[depth][0, _from(curve, min_tradeoff)]
        ends.append((depths.min(), depths.max()))
    shallow, deep = max(end[0] for end in ends), min(end[1] for end in ends)
    if deep - shallow < 0.1:
        return None
    grid = np.linspace(shallow, deep, 50)
    samples = interpolated(first, precision, depth, grid, min_tradeoff).mean(axis=1)
    samples = samples - interpolated(second, precision, depth, grid, min_tradeoff).mean(axis=1)
    return AtEqualDepth(interval(samples), float(shallow), float(deep))


def interpolated(
    curve: Curve, precision: str, depth: str, grid: NDArray[np.float64], min_tradeoff: float = 0.0
) -> NDArray[np.float64]:
    """Return the precision of estimate and replicates at each depth of the grid."""
    columns = _from(curve, min_tradeoff)
    rows = []
    for depths, precisions in zip(curve.values[depth][:, columns], curve.values[precision][:, columns], strict=True):
        order = np.argsort(depths, kind="stable")
        rows.append(np.interp(grid, depths[order], precisions[order]))
    return np.array(rows)


def _from(curve: Curve, min_tradeoff: float) -> NDArray[np.int64]:
    return np.flatnonzero(np.array(curve.tradeoffs) >= min_tradeoff)
