"""The difference between two models that were measured on the same points: confidence bounds, and luck."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from labeltrees._matrices import Float64s

CONFIDENCE = 0.95


class PairedDifference(NamedTuple):
    """The mean difference over points, and its one-sided confidence bounds."""

    mean: float
    lower: float
    upper: float


def paired_difference(values: Float64s, reference: Float64s, confidence: float = CONFIDENCE) -> PairedDifference:
    """Return the mean of `values` (n,) minus `reference` (n,), with one-sided bounds from Student's t distribution.

    Both models saw the same points, so the difficulty of a point cancels out and the bounds are much tighter than those
    of two separate means. Each bound alone holds with the given confidence.

    Examples
    --------
    >>> paired_difference(np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0, 1.0]))
    PairedDifference(mean=0.0, lower=0.0, upper=0.0)
    """
    differences = values - reference
    n = len(differences)
    mean = float(differences.mean())
    if not differences.any():
        return PairedDifference(0.0, 0.0, 0.0)
    if n < 2:
        return PairedDifference(mean, -math.inf, math.inf)
    half = float(student.ppf(confidence, n - 1) * np.std(differences, ddof=1) / math.sqrt(n))
    return PairedDifference(mean, mean - half, mean + half)


def is_beyond_luck(values: Float64s, reference: Float64s, n_tried: int) -> bool:
    """Whether the mean of `values` (n,) is above that of `reference` (n,) by more than luck explains.

    If `n_tried` models are as good as the reference, the best of them still gains some standard errors: about 0.6 of
    2 models, 1.5 of 9. The gain must be larger than that, and than one standard error.

    Examples
    --------
    >>> gain = np.array([0.0, 0.0, 1.0, 1.0, 0.0])  # 0.4, with a standard error of 0.24
    >>> is_beyond_luck(gain, np.zeros(5), n_tried=1), is_beyond_luck(gain, np.zeros(5), n_tried=20)
    (True, False)
    """
    differences = values - reference
    if len(differences) < 2 or not differences.any():
        return False
    luck = float(norm.ppf((n_tried - 0.375) / (n_tried + 0.25)))  # expected maximum of n normal variables (Blom)
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    return float(differences.mean()) > max(1.0, luck) * error
