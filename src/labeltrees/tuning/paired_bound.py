"""How sure it is that one model is not worse than another, from the points both were measured on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from labeltrees._matrices import Float64s

CONFIDENCE = 0.95


class PairedDifference(NamedTuple):
    """The mean difference over points, and one-sided bounds of it."""

    mean: float
    lower: float
    upper: float


def paired_difference(values: Float64s, reference: Float64s, confidence: float = CONFIDENCE) -> PairedDifference:
    """Return how much `values` (n,) lie above `reference` (n,) on average, with Student's one-sided bounds.

    Both are of the same points, so what is hard for both cancels: the bounds are far tighter than those of two means.
    Each bound alone holds with the given confidence.

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
