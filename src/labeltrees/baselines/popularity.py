"""Popularity: the most frequent labels of all training points or of the most recent ones, for every point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from labeltrees._matrices import Float32s, Float64s, Int64s
from labeltrees._validation import refuse
from labeltrees.baselines.baseline import Baseline, BaselinePoints, top_entries, training_points
from labeltrees.errors import InputError

_RECENT_SHARE = 0.1


class Popularity(Baseline):
    """Returns the same labels for every point: those with the largest weighted share of training points.

    Attributes
    ----------
    shares_ : array (L,)
        The weighted share of the counted training points that have each label. It is the score of the label.
    n_points_ : int
        The number of training points counted.
    """

    def __init__(self, points: BaselinePoints, weights: Float64s, name: str) -> None:
        super().__init__(points)
        self.name = name
        self.n_points_ = int(np.count_nonzero(weights))
        scaled = weights / weights.max()
        self.shares_ = np.asarray(points.Y.T @ scaled) / scaled.sum()

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        rounded = self.shares_.astype(np.float32)
        best = top_entries(rounded, np.arange(self.n_labels_), k)
        best = best[rounded[best] > 0]
        n_points = queries.shape[0]
        yield np.tile(best, (n_points, 1)), np.tile(rounded[best], (n_points, 1))


def popularity(train: Any) -> Popularity:
    """Return a baseline that predicts the most frequent labels for every point.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
        Points count with their weights, if they have any.

    Examples
    --------
    >>> import labeltrees as lt
    >>> baseline = lt.baselines.popularity(([[1, 0], [0, 1], [1, 1]], [[1, 0, 1], [0, 0, 1], [1, 0, 1]]))
    >>> baseline.predict_topk([[0, 1]], k=2)[0].tolist()
    [[2, 0]]
    """
    points = training_points(train)
    return Popularity(points, points.weights, "popularity")


def recent_popularity(train: Any, times: Any = None, *, period: Any = None) -> Popularity:
    """Return a baseline that predicts, for every point, the most frequent labels of the most recent training points.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
    times : array of shape (N,), optional
        The time of each training point: numbers (such as seconds) or dates (datetime64). By default
        ``train.times``, if the data has times.
    period : number or timedelta64, optional
        Only points less than this before the latest time count, in the unit of `times`. By default the most recent
        tenth of the points.

    Examples
    --------
    >>> import labeltrees as lt
    >>> data = [[1], [1], [1]], [[1, 0], [1, 0], [0, 1]]
    >>> lt.baselines.recent_popularity(data, times=[1, 2, 9], period=3).predict_topk([[1]], k=1)[0].tolist()
    [[1]]
    """
    points = training_points(train)
    return recent_popularity_of(points, points.times if times is None else times, period)


def recent_popularity_of(points: BaselinePoints, times: Any, period: Any = None) -> Popularity:
    """Return `recent_popularity` for points from `training_points`."""
    recent = _recent(times, period, points.X.shape[0])
    weights = np.where(recent, points.weights, 0.0)
    if not weights.any():
        message = "every point of the last period has weight 0: use a longer period"
        raise InputError(message)
    return Popularity(points, weights, "recent popularity")


def _recent(times: Any, period: Any, n_points: int) -> Any:
    """Return which points are in the last period (N,)."""
    if times is None:
        message = (
            "train has no times: give times, one per training point (numbers or dates), or use popularity, which needs "
            "none"
        )
        raise InputError(message)
    moments = np.asarray(times)
    if moments.dtype.kind in "OU":  # strings such as 2024-05-01, or Python and pandas dates
        try:
            moments = moments.astype("datetime64[us]")
        except (TypeError, ValueError):
            refuse("times", "numbers or dates such as 2024-05-01", times)
    if moments.shape != (n_points,) or moments.dtype.kind not in "iufM":
        allowed = f"{n_points} numbers or dates, one per training point"
        refuse("times", allowed, f"an array of shape {moments.shape} and type {moments.dtype}")
    unknown = np.isnat(moments) if moments.dtype.kind == "M" else ~np.isfinite(moments)
    if unknown.any():
        row = int(np.argmax(unknown))
        refuse(f"times[{row}]", "a finite number or a date", str(moments[row]))
    if period is None:
        earliest = np.sort(moments)[n_points - max(1, round(_RECENT_SHARE * n_points))]
        return moments >= earliest
    try:
        allowed_age = np.timedelta64(period) if moments.dtype.kind == "M" else float(period)
        positive = allowed_age > type(allowed_age)(0)
    except (TypeError, ValueError):
        positive = False
    if not positive:
        kind = "a positive timedelta64, because times are dates" if moments.dtype.kind == "M" else "a positive number"
        refuse("period", kind, period)
    return moments > moments.max() - allowed_age
