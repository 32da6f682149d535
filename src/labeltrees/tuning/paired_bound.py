"""Confidence bounds of the difference between two models that were measured on the same points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
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
