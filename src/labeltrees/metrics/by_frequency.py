"""Precision and recall of frequent and rare labels, separately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from labeltrees._matrices import Float64s, Int64s, check_Y
from labeltrees._validation import check_integer, check_number
from labeltrees.errors import InputError
from labeltrees.metrics._hits import Hits, find_hits


@dataclass(frozen=True)
class Proportion:
    """A share with a confidence interval; NaN if the total is 0."""

    value: float
    low: float
    high: float
    count: int
    total: int


@dataclass(frozen=True)
class FrequencyGroup:
    """Precision and recall of the labels in one range of training frequency.

    Attributes
    ----------
    name : {"head", "torso", "tail"}
    n_labels : int
        Labels in the group.
    precision : Proportion
        The share of the group's returned labels that are correct.
    recall : Proportion
        The share of the group's true labels that were returned.
    """

    name: str
    n_labels: int
    precision: Proportion
    recall: Proportion

    def record(self) -> dict[str, float | str]:
        """Return the group as one flat record, ready for JSON, CSV or pandas."""
        row: dict[str, float | str] = {"group": self.name, "n_labels": self.n_labels}
        for name, share in (("precision", self.precision), ("recall", self.recall)):
            row |= {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}
        return row | {"n_returned": self.precision.total, "n_true": self.recall.total}


def by_frequency(
    Y_true: Any,
    labels: Any,
    k: int,
    *,
    Y_train: Any,
    tail_below: int = 10,
    head_from: int = 100,
    confidence: float = 0.95,
) -> list[FrequencyGroup]:
    """Return precision and recall of the first k returned labels for head, torso and tail labels.

    The intervals are Wilson intervals. They use an effective number of trials, because labels of the same point tend to
    be correct or wrong together.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least k)
    k : int
    Y_train : sparse or dense matrix of shape (N, L)
        The training labels, which give the frequency of each label.
    tail_below, head_from : int
        A label with fewer than `tail_below` training points belongs to the tail, one with at least `head_from` to the
        head, and every other label to the torso.
    confidence : float in (0, 1)
        Confidence level of the intervals.

    Returns
    -------
    list of FrequencyGroup
        Head, torso, tail.

    Examples
    --------
    >>> Y_train = [[1, 0, 0]] * 100 + [[0, 1, 1]] * 2
    >>> head, torso, tail = by_frequency([[1, 1, 0], [1, 0, 0]], [[0, 2], [0, 1]], k=2, Y_train=Y_train)
    >>> head.precision.value, tail.precision.value, tail.recall.value
    (1.0, 0.0, 0.0)
    """
    tail_below = check_integer("tail_below", tail_below, 1)
    head_from = check_integer("head_from", head_from, tail_below)
    z = float(ndtri(0.5 + check_number("confidence", confidence, 0, 0.999999, low_open=True) / 2))
    hits = find_hits(Y_true, labels, k)
    train = check_Y(Y_train, "Y_train").indicator
    if train.n_labels != hits.true.n_labels:
        message = f"Y_train must have the {hits.true.n_labels} labels of Y_true, got {train.n_labels}"
        raise InputError(message)
    counts = np.bincount(train.indices, minlength=train.n_labels)
    group_of = np.where(counts >= head_from, 0, np.where(counts >= tail_below, 1, 2))
    return [_group(name, group_of == number, hits, z) for number, name in enumerate(("head", "torso", "tail"))]


def _group(name: str, members: Any, hits: Hits, z: float) -> FrequencyGroup:
    returned = (hits.returned >= 0) & members[hits.returned]
    found = np.count_nonzero(returned & hits.hit, axis=1)
    n_returned = np.count_nonzero(returned, axis=1)
    points = np.repeat(np.arange(hits.true.n_points), hits.true.labels_per_point())
    n_true = np.bincount(points[members[hits.true.indices]], minlength=hits.true.n_points)
    return FrequencyGroup(
        name, int(np.count_nonzero(members)), _proportion(found, n_returned, z), _proportion(found, n_true, z)
    )


def _proportion(count: Int64s, total: Int64s, z: float) -> Proportion:
    """Return sum(count) / sum(total) over points, with its interval.

    With independent trials the variance would be p (1 - p) / n. Trials of the same point are correlated, and the
    variance of a ratio of sums over points is sum (count - p total)^2 / n^2. If that is larger, n is lowered until both
    agree.
    """
    n, hits = int(total.sum()), int(count.sum())
    if n == 0:
        return Proportion(math.nan, math.nan, math.nan, 0, 0)
    p = hits / n
    deviations: Float64s = count - p * total
    inflation = float(np.sum(deviations**2)) / (n * p * (1 - p)) if 0 < hits < n else 1.0
    low, high = _wilson(p, n / max(inflation, 1.0), z)
    return Proportion(p, low, high, hits, n)


def _wilson(p: float, n: float, z: float) -> tuple[float, float]:
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At p = 0 and p = 1 the formula gives 0 and 1 up to rounding.
    return (0.0 if p == 0 else centre - half), (1.0 if p == 1 else centre + half)
