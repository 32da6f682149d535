"""From records to curves with bootstrap replicates; seeds and points are drawn again, the same for all curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.datasets import SPLIT_BY_SEED
from benchmarks.paper.records import READING, TEST, VALIDATION, VARIANTS, Record, Run, same_model
from benchmarks.paper.train import key_of

REPLICATES = 2000
LEVEL = 0.95
MIN_SEEDS = 3  # with fewer, the interval says too little about the spread between seeds
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

    def only(self, tradeoffs: list[float]) -> Curve:
        """Return the curve at some of its tradeoffs."""
        places = [self.tradeoffs.index(tradeoff) for tradeoff in tradeoffs]
        return Curve(tradeoffs, self.seeds, {name: values[:, places] for name, values in self.values.items()})


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


def make_curve(
    records: list[list[Record]], tradeoffs: list[float], seeds: list[int], split_by_seed: bool = False
) -> Curve:
    """Return the curve of the records of each seed (outer list) and tradeoff (inner list).

    With `split_by_seed` every seed has other test points, so that drawing seeds again also draws points again.
    """

    def stack(name: str) -> NDArray[np.float64]:
        return np.array([[record[name] for record in row] for row in records], dtype=np.float64)

    sizes = stack("weights")  # (seeds, tradeoffs, groups)
    of_seeds, of_groups = replicate_weights(len(seeds), sizes.shape[2])
    if split_by_seed:
        of_groups[:] = 1

    def mean(name: str) -> NDArray[np.float64]:
        sums, totals = (np.einsum("bs,stg,bg->bt", of_seeds, v, of_groups, optimize=True) for v in (stack(name), sizes))
        return sums / totals

    values = {name: 100 * mean(hits) / k for name, (hits, k) in PRECISIONS.items()}
    return Curve(tradeoffs, seeds, values | {name: mean(name) for name in DEPTHS})


class AtEqualDepth(NamedTuple):
    """Differences at equal depth@1: means over the depths that both curves reach."""

    difference: Interval
    shallow: float
    deep: float


def at_equal_depth(first: Curve, second: Curve, measure: str, min_tradeoff: float = 0.0) -> AtEqualDepth | None:
    """Return a measure of `first` compared with that of `second` at equal expected depth@1.

    Precisions are compared in points, depth3 in percent. Both curves are interpolated linearly along depth@1, at 50
    depths evenly spaced over the range that both reach. Only tradeoffs from `min_tradeoff` to the one of least depth@1
    count: beyond it a curve may turn back. None if the curves share less than a tenth of a level.
    """
    if max(first.tradeoffs) < min_tradeoff or max(second.tradeoffs) < min_tradeoff:
        return None
    branches = [_branch(curve, min_tradeoff) for curve in (first, second)]
    reached = [curve.values["depth1"][0, branch] for curve, branch in zip((first, second), branches, strict=True)]
    shallow, deep = max(depths.min() for depths in reached), min(depths.max() for depths in reached)
    if deep - shallow < 0.1:
        return None
    grid = np.linspace(shallow, deep, 50)
    ours, theirs = (_interpolated(c, measure, grid, b) for c, b in zip((first, second), branches, strict=True))
    samples = 100 * (ours / theirs - 1) if measure in DEPTHS else ours - theirs
    return AtEqualDepth(interval(samples.mean(axis=1)), float(shallow), float(deep))


def _interpolated(
    curve: Curve, measure: str, grid: NDArray[np.float64], branch: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the measure of estimate and replicates at each depth@1 of the grid."""
    rows = []
    for depths, values in zip(curve.values["depth1"][:, branch], curve.values[measure][:, branch], strict=True):
        order = np.argsort(depths, kind="stable")
        rows.append(np.interp(grid, depths[order], values[order]))
    return np.array(rows)


def _branch(curve: Curve, min_tradeoff: float) -> NDArray[np.int64]:
    """Return the places of the tradeoffs from `min_tradeoff` to the one of least depth@1."""
    places = np.flatnonzero(np.array(curve.tradeoffs) >= min_tradeoff)
    return places[: int(curve.values["depth1"][0, places].argmin()) + 1]


@dataclass(frozen=True)
class Collected:
    """The curves of a dataset; all have the same seeds, and the paper's own may have more tradeoffs than the others."""

    test: dict[str, Curve]
    validation: Curve | None
    reading: int = READING


def collect(records: list[Record]) -> dict[str, Collected]:
    """Return the curves of every dataset in the records, each from its newest reading that has a complete curve."""
    collected: dict[str, Collected] = {}
    for reading in sorted({record["reading"] for record in records}):
        by_run = {key_of(record): record for record in records if record["reading"] == reading}
        for name in dict.fromkeys(run.dataset for run in by_run):
            found = _of_dataset(name, by_run, reading)
            if found.test or name not in collected:
                collected[name] = found
    order = list(dict.fromkeys(record["dataset"] for record in records))
    return {name: collected[name] for name in order}


def _of_dataset(name: str, by_run: dict[Run, Record], reading: int) -> Collected:
    mine = [run for run in by_run if run.dataset == name]
    tested = [run for run in mine if run.part == TEST]
    used = {(run.cover, run.path) for run in tested}
    variants = [variant for variant, pair in VARIANTS.items() if pair in used]
    own, all_needs = [(TEST, "marginal")], [(TEST, variant) for variant in variants]
    tradeoffs, seeds = largest_block(_complete(name, by_run, own))
    test = {"marginal": _curve(name, by_run, TEST, "marginal", tradeoffs, seeds)} if tradeoffs else {}
    complete = _complete(name, by_run, all_needs)
    shared = sorted(set.intersection(*(complete.get(seed, set()) for seed in seeds))) if seeds else []
    if shared and shared[-1] > 1:  # below, most variants are the same tree
        others = [variant for variant in variants if variant != "marginal"]
        test |= {variant: _curve(name, by_run, TEST, variant, shared, seeds) for variant in others}
    tradeoffs, seeds = largest_block(_complete(name, by_run, [(VALIDATION, "marginal")]))
    validation = _curve(name, by_run, VALIDATION, "marginal", tradeoffs, seeds) if tradeoffs else None
    return Collected(test, validation, reading)


def _complete(name: str, by_run: dict[Run, Record], needs: list[tuple[str, str]]) -> dict[int, set[float]]:
    """Return for each seed the tradeoffs whose runs are all there."""
    found: dict[int, set[float]] = {}
    mine = {(run.tradeoff, run.seed) for run in by_run if run.dataset == name}
    for tradeoff, seed in mine:
        wanted = [_key(name, part, variant, tradeoff, seed) for part, variant in needs]
        if all(run in by_run for run in wanted):
            found.setdefault(seed, set()).add(tradeoff)
    return found


def largest_block(complete: dict[int, set[float]]) -> tuple[list[float], list[int]]:
    """Return tradeoffs and seeds such that every seed has every tradeoff, and as many runs as possible are used.

    A reproduction that was interrupted has some seeds with fewer tradeoffs. Enough seeds for a verdict come before
    more runs. Tradeoff 0 must be there: it is the baseline.
    """
    best, best_rank = ([], []), (0, 0, 0)
    for wanted in complete.values():
        if 0.0 in wanted and len(wanted) > 1:
            seeds = sorted(seed for seed, found in complete.items() if wanted <= found)
            rank = min(len(seeds), MIN_SEEDS), len(seeds) * len(wanted), len(seeds)
            if rank > best_rank:
                best, best_rank = (sorted(wanted), seeds), rank
    return best


def _curve(
    name: str, by_run: dict[Run, Record], part: str, variant: str, tradeoffs: list[float], seeds: list[int]
) -> Curve:
    rows = [[by_run[_key(name, part, variant, t, seed)] for t in tradeoffs] for seed in seeds]
    return make_curve(rows, tradeoffs, seeds, name in SPLIT_BY_SEED)


def _key(name: str, part: str, variant: str, tradeoff: float, seed: int) -> Run:
    return same_model(Run(name, part, *VARIANTS[variant], tradeoff, seed))
