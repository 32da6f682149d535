"""Point weights in metrics: a point of weight 2 counts like two equal points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s, check_sample_weight


def check_weights(sample_weight: Any, n_points: int) -> Float64s | None:
    """Return the weights divided by their largest, so that no product overflows; None for equal weights."""
    weights = check_sample_weight(sample_weight, n_points)
    return None if weights is None else weights / weights.max()


def mean_over_points(values: NDArray[Any], weights: Float64s | None) -> float:
    """Return the weighted mean of one value per point."""
    return float(values.mean() if weights is None else np.average(values, weights=weights))


def count_labels(labels: NDArray[Any], points: Int64s, weights: Float64s | None, n_labels: int) -> Float64s:
    """Return the weight of the points of each label (L,), from one label and one point per pair."""
    return np.bincount(labels, None if weights is None else weights[points], minlength=n_labels).astype(np.float64)
