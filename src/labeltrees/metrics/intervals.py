"""Confidence intervals of metrics: how far a value measured on n points may be from the true one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from labeltrees._matrices import Float64s
from labeltrees._validation import check_number
from labeltrees.metrics._hits import Hits, find_hits
from labeltrees.metrics._weights import check_weights, mean_over_points
from labeltrees.metrics.ranking import f1_of_points, found_labels, ndcg_of_points, precision_of_points, recall_of_points

_OF_POINTS = {
    "precision": precision_of_points,
    "recall": recall_of_points,
    "f1": f1_of_points,
    "ndcg": ndcg_of_points,
}


class Estimate(NamedTuple):
    """A measured value with its confidence interval."""

    value: float
    low: float
    high: float


def estimate_at_k(
    Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None, confidence: float = 0.95
) -> dict[str, Estimate]:
    """Return precision, recall, F1, nDCG and coverage at k, each with a confidence interval.

    The intervals are Wilson intervals, which stay within 0 and 1. The points are taken as the sample: with other points
    of the same kind the value would, with this confidence, be in the interval. The interval of coverage takes the
    labels as the sample.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least k)
    k : int
    sample_weight : array of shape (n,), optional
        Weights of the points.
    confidence : float in (0, 1)

    Returns
    -------
    dict of Estimate
        With the keys "precision", "recall", "f1", "ndcg" and "coverage".

    Examples
    --------
    >>> measured = estimate_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [2, -1]], k=1)
    >>> measured["recall"].value, round(measured["precision"].low, 2)
    (0.75, 0.34)
    """
    z = quantile_of(confidence)
    hits = find_hits(Y_true, labels, k)
    weights = check_weights(sample_weight, hits.true.n_points)
    measured = {name: _mean_with_interval(of_points(hits), weights, z) for name, of_points in _OF_POINTS.items()}
    return {**measured, "coverage": _coverage(hits, weights, z)}


def quantile_of(confidence: Any) -> float:
    """Return how many standard errors wide each side of an interval is."""
    return float(ndtri(0.5 + check_number("confidence", confidence, 0, 0.999999, low_open=True) / 2))


def wilson_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a share p of n independent trials.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson_interval(0.35, 20, 1.96)]
    [0.1812, 0.5671]
    """
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At p = 0 and p = 1 the formula gives 0 and 1 up to rounding.
    return (0.0 if p == 0 else centre - half), (1.0 if p == 1 else centre + half)


def _mean_with_interval(values: Float64s, weights: Float64s | None, z: float) -> Estimate:
    """Return the mean of values in [0, 1] with Wilson's interval for as many trials as give the measured variance."""
    w = np.ones(len(values)) if weights is None else weights
    mean = min(mean_over_points(values, weights), 1.0)  # rounding can exceed 1
    n = float(w.sum()) ** 2 / float(w @ w)  # the number of points if the weights are equal
    deviations = w * (values - mean)
    variance = float(deviations @ deviations) / float(w.sum()) ** 2
    trials = mean * (1 - mean) / variance if n > 1 and variance > 0 and 0 < mean < 1 else n
    return Estimate(mean, *wilson_interval(mean, max(trials, 1.0), z))


def _coverage(hits: Hits, weights: Float64s | None, z: float) -> Estimate:
    found, n_true = found_labels(hits, weights)
    share = found / max(n_true, 1)
    return Estimate(share, *wilson_interval(share, max(n_true, 1), z))
