"""How far probabilities can be trusted: of the labels with a probability near 0.7, about 70 % should be correct."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees.metrics.intervals import quantile_of, wilson_interval

N_BINS = 10


class Bin(NamedTuple):
    """The labels with a probability in [low, high): how many, their mean probability, and the share that is correct."""

    low: float
    high: float
    n_labels: int
    probability: float
    correct: float
    correct_low: float
    correct_high: float


class Reliability(NamedTuple):
    """Probabilities compared with the truth.

    Parameters
    ----------
    bins : list of Bin
        Only bins that have labels.
    error : float
        The expected calibration error: the mean distance of probability and share correct over the bins, weighted by
        their labels.
    brier : float
        The mean squared distance of probability and truth.
    """

    bins: list[Bin]
    error: float
    brier: float


def reliability(probabilities: NDArray[Any], hits: NDArray[np.bool_], n_bins: int = N_BINS) -> Reliability:
    """Compare the probabilities (n,) of returned labels with whether they were correct (n,).

    Examples
    --------
    >>> found = reliability(np.array([0.25, 0.25, 0.75, 0.75]), np.array([False, True, True, True]))
    >>> [(row.low, row.n_labels, row.correct) for row in found.bins], found.error
    ([(0.2, 2, 0.5), (0.7, 2, 1.0)], 0.25)
    """
    p, correct = probabilities.astype(np.float64), hits.astype(np.float64)
    place = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)  # 1 belongs to the last bin
    counts, z = np.bincount(place, minlength=n_bins), quantile_of(0.95)
    mean_p, mean_hit = (np.bincount(place, values, minlength=n_bins) / np.maximum(counts, 1) for values in (p, correct))
    bins = [
        Bin(
            at / n_bins,
            (at + 1) / n_bins,
            int(counts[at]),
            float(mean_p[at]),
            float(mean_hit[at]),
            *wilson_interval(float(mean_hit[at]), int(counts[at]), z),
        )
        for at in np.flatnonzero(counts).tolist()
    ]
    error = float((counts * np.abs(mean_p - mean_hit)).sum() / len(p))
    return Reliability(bins, error, float(np.mean((p - correct) ** 2)))
