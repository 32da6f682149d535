"""Confidence intervals of metrics: how far a value measured on n points may be from the true one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from labeltrees._matrices import Float64s
from labeltrees._validation import check_number
from labeltrees.metrics.hits import mean_over_points


class Estimate(NamedTuple):
    """A measured value with its confidence interval."""

    value: float
    low: float
    high: float


def quantile_of(confidence: Any) -> float:
    """Return the half-width of a confidence interval in standard errors."""
    return float(ndtri(0.5 + check_number("confidence", confidence, 0, 0.999999, low_open=True) / 2))


def wilson_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval for a share p of n independent trials.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson_interval(0.35, 20, 1.96)]
    [0.1812, 0.5671]
    """
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At p = 0 and p = 1 the formula gives 0 and 1 up to rounding.
    return (0.0 if p == 0 else centre - half), (1.0 if p == 1 else centre + half)


def mean_with_interval(values: Float64s, weights: Float64s | None, z: float) -> Estimate:
    """Return the mean of values in [0, 1] with Wilson's interval; its number of trials fits the measured variance."""
    w = np.ones(len(values)) if weights is None else weights
    mean = min(mean_over_points(values, weights), 1.0)  # rounding can exceed 1
    n = float(w.sum()) ** 2 / float(w @ w)  # the number of points if the weights are equal
    deviations = w * (values - mean)
    variance = float(deviations @ deviations) / float(w.sum()) ** 2
    trials = mean * (1 - mean) / variance if n > 1 and variance > 0 and 0 < mean < 1 else n
    return Estimate(mean, *wilson_interval(mean, max(trials, 1.0), z))


def share_with_interval(count: int, total: int, z: float) -> Estimate:
    """Return the share of `count` in `total` trials with Wilson's interval; 0 without trials."""
    share = count / max(total, 1)
    return Estimate(share, *wilson_interval(share, max(total, 1), z))


def estimate_sets(Y_true: Any, predicted: Any, *, confidence: float = 0.95) -> dict[str, Estimate]:
    """Return micro-averaged precision, recall and F1 of sets of labels, and the labels per point, with intervals.

    All are ratios of sums over the points, and the points are the sample of the intervals. A ratio is NaN if its
    denominator is 0.

    Parameters
    ----------
    Y_true, predicted : CSR of shape (n, L)
        Entries above 0 are true, or predicted, labels.
    confidence : float in (0, 1)
        Confidence level of the intervals.

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
