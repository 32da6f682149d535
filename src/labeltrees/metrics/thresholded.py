"""Metrics of predicted sets of labels, such as all labels whose score reaches a threshold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.metrics.intervals import Estimate, quantile_of


def estimate_sets(Y_true: Any, predicted: Any, *, confidence: float = 0.95) -> dict[str, Estimate]:
    """Return micro-averaged precision, recall and F1 of sets of labels, and the labels per point, with intervals.

    All are ratios of sums over the points; the intervals take the points as the sample. A ratio without any label in
    its denominator is NaN.

    Parameters
    ----------
    Y_true, predicted : CSR of shape (n, L)
        Entries above 0 are true, or predicted, labels.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> true, predicted = sp.csr_array([[1, 1, 0], [0, 0, 1]]), sp.csr_array([[1, 0, 0], [0, 1, 1]])
    >>> {name: round(found.value, 3) for name, found in estimate_sets(true, predicted).items()}
    {'precision': 0.667, 'recall': 0.667, 'f1': 0.667, 'labels_per_point': 1.5}
    """
    z = quantile_of(confidence)
    true, own = (matrix > 0 for matrix in (Y_true, predicted))
    n_true, n_own, hits = (_per_point(matrix) for matrix in (true, own, true.multiply(own)))
    return {
        "precision": _ratio(hits, n_own, z),
        "recall": _ratio(hits, n_true, z),
        "f1": _ratio(2 * hits, n_own + n_true, z),
        "labels_per_point": _ratio(n_own, np.ones(len(n_own)), z, high=math.inf),
    }


def _per_point(matrix: Any) -> Float64s:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _ratio(above: Float64s, below: Float64s, z: float, high: float = 1.0) -> Estimate:
    """Return sum(above) / sum(below) with the interval of a ratio estimator (its linearisation)."""
    total = float(below.sum())
    if total == 0:
        return Estimate(math.nan, math.nan, math.nan)
    value = float(above.sum()) / total
    n = len(above)
    deviations = above - value * below
    half = z * math.sqrt(float(deviations @ deviations) * n / max(n - 1, 1)) / total
    return Estimate(value, max(value - half, 0.0), min(value + half, high))
