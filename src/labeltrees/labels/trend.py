"""The trend of labels: their recent frequency divided by their overall frequency."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, check_Y
from labeltrees._validation import check_array, check_number, refuse

_PRIOR_POINTS = 100  # prior: added to the recent points, with the overall label frequencies
_UNIT = 2.0**20  # weights of points are whole multiples of 1 / _UNIT, so that their sums are exact in any order


def trend_weights(Y: Any, times: Any, half_life: float = 14.0) -> Float64s:
    """Return the recent frequency of each label divided by its overall frequency, as a factor for its score.

    A point that is one half-life older than the newest counts half as much, and so on. 100 points with the overall
    frequencies are added to the recent ones, so that a few recent points change the factors only slightly. If
    labels become more or less frequent and nothing else changes, these factors correct the scores (label shift).

    Parameters
    ----------
    Y : sparse or dense matrix of shape (N, L)
        The labels of the points; a positive value is a label.
    times : array (N,) of datetime64 or numbers
        The time of each point.
    half_life : float
        In days, or in the unit of `times` if these are numbers.

    Returns
    -------
    array of shape (L,), float64
        Pass it to a search as `label_weight`. 1 for labels without points.

    Examples
    --------
    >>> days = np.arange(1000)
    >>> Y = np.stack([days < 500, days >= 500, np.ones(1000)], axis=1)
    >>> trend_weights(Y, days, half_life=30).round(2)
    array([0.7, 1.3, 1. ])
    """
    labels = check_Y(Y).matrix
    half_life = check_number("half_life", half_life, 0, low_open=True)
    moments = np.atleast_1d(check_array("times", times, f"{labels.shape[0]} numbers or dates, one per point"))
    return trend_of_blocks([(labels, moments)], labels.shape[1], half_life)


def trend_of_blocks(blocks: Iterable[tuple[Any, NDArray[Any]]], n_labels: int, half_life: float) -> Float64s:
    """Return the trend weights of labels from blocks of points, each a CSR matrix of labels and times.

    The weights do not depend on how the points are divided into blocks.
    """
    blocks = [block for block in blocks if len(block[1]) > 0]
    newest = max((_check_times(labels, times) for labels, times in blocks), default=None)
    counts, recent = np.zeros(n_labels), np.zeros(n_labels)
    n_points = n_recent = 0.0
    for labels, times in blocks:
        weights = np.rint(_UNIT * np.exp2(-_days(newest - times) / half_life))
        counts += np.bincount(labels.indices, minlength=n_labels)
        recent += np.bincount(labels.indices, np.repeat(weights, np.diff(labels.indptr)), minlength=n_labels)
        n_points += len(times)
        n_recent += weights.sum()
    overall = counts / max(n_points, 1)
    lately = (recent / _UNIT + _PRIOR_POINTS * overall) / (n_recent / _UNIT + _PRIOR_POINTS)
    return np.divide(lately, overall, out=np.ones(n_labels), where=overall > 0)


def _check_times(labels: Any, times: NDArray[Any]) -> Any:
    """Return the newest of the times."""
    if times.shape != (labels.shape[0],) or times.dtype.kind not in "iufM":
        refuse("times", f"{labels.shape[0]} numbers or dates, one per point", f"{times.dtype} {times.shape}")
    if not np.isfinite(times).all():
        refuse("times", "finite", times[~np.isfinite(times)][0])
    return times.max()


def _days(ages: NDArray[Any]) -> Float64s:
    return ages / np.timedelta64(1, "D") if ages.dtype.kind == "m" else ages.astype(np.float64)
