"""The comparison of the quickstart: several tradeoffs, cross-validated so that noise does not hide the trend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.data import Dataset
from labeltrees.metrics import expected_depth_at_k
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.paired_bound import PairedDifference, paired_difference
from labeltrees.tuning.timing import measure_times

TRADEOFFS = (0.0, 0.67, 1.33, 2.0)  # and the chosen one
K = 5
_FOLDS = 4
_REPEATS, _TIMED_POINTS = 3, 1000


class Compared(NamedTuple):
    """One tradeoff: the share of points whose first label is right, depth of the first label, us per call."""

    tradeoff: float
    hits: Float64s  # of each point, 0 or 1
    depth: float
    microseconds: float

    @property
    def precision(self) -> float:
        """P@1."""
        return float(self.hits.mean())

    def against(self, other: Compared) -> PairedDifference:
        """Return the difference of P@1, from the same points."""
        return paired_difference(self.hits, other.hits)


def compare_tradeoffs(
    parameters: dict[str, Any], data: Dataset, n_jobs: int | None, advance: Callable[[int], object] | None = None
) -> list[Compared]:
    """Return the comparison of several tradeoffs and the one in `parameters`, by ascending tradeoff.

    Every point is searched by a model that was trained on the other parts of the data, so that all points count. All
    tradeoffs see the same parts, and their searches are timed in turns.
    """
    tradeoffs = sorted({*TRADEOFFS, float(parameters["tradeoff"])})
    part_of = np.random.default_rng(0).permutation(data.n_points) % _FOLDS
    models, hits, depths = [], [], []
    for number, tradeoff in enumerate(tradeoffs):
        right, depth = np.zeros(data.n_points), 0.0
        for part in range(_FOLDS):
            rest, rows = np.flatnonzero(part_of != part), np.flatnonzero(part_of == part)
            model = LabelTreeClassifier(**{**parameters, "tradeoff": tradeoff}, n_jobs=n_jobs)
            model.fit(data.X[rest], data.Y[rest])
            labels, _ = model.predict_topk(data.X[rows], 1)
            right[rows] = np.asarray(data.Y[rows, np.maximum(labels[:, 0], 0)]).ravel() * (labels[:, 0] >= 0)
            depth += len(rows) / data.n_points * expected_depth_at_k(model.tree_, labels, 1)
            if part == 0:
                models.append(model)
            if advance is not None:
                advance(number * _FOLDS + part + 1)
        hits.append(right)
        depths.append(depth)
    times = measure_times(
        models, data.X[part_of == 0], (K,), repeats=_REPEATS, max_points=_TIMED_POINTS, random_state=0, n_jobs=n_jobs
    )
    medians = [time[f"top{K}_p50_us"] for time in times]
    return [Compared(*values) for values in zip(tradeoffs, hits, depths, medians, strict=True)]


def n_fits(parameters: dict[str, Any]) -> int:
    """Return how many models `compare_tradeoffs` trains."""
    return _FOLDS * len({*TRADEOFFS, float(parameters["tradeoff"])})
