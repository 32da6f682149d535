"""Intervals of precision by resampling: of the test points, and of the seeds of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000


def precision_of_points(Y: Any, answers: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Return the precision at k of every test point, by seed: (seeds, points)."""
    rows = [set(row) for row in Y.tolil().rows]
    return np.array(
        [[sum(label in own for label in found[:k]) / k for found, own in zip(a, rows, strict=True)] for a in answers]
    )


def resampled(values: NDArray[np.float64], weights: NDArray[np.float64], stream: int) -> NDArray[np.float64]:
    """Return weighted means in percent with resampled points and resampled seeds.

    The points are the same ones for every method; `stream` decides on the seeds.
    """
    n_seeds, n_points = values.shape
    drawn = np.random.default_rng(0).integers(n_points, size=(RESAMPLES, n_points))
    seeds = np.random.default_rng([1, stream]).integers(n_seeds, size=(RESAMPLES, n_seeds))
    means = [(row * weights)[drawn].sum(axis=1) / weights[drawn].sum(axis=1) for row in values]
    return 100 * np.take_along_axis(np.array(means), seeds.T, axis=0).mean(axis=0)


def interval(values: NDArray[np.float64], sign: str = "") -> str:
    """Return the 95 % interval of values in words."""
    low, high = np.percentile(values, [2.5, 97.5])
    return f"{low:{sign}.1f} to {high:{sign}.1f}"
