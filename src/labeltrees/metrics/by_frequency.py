"""Precision and recall of frequent and rare labels, separately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s, Int64s, check_sample_weight, check_Y
from labeltrees._validation import check_integer
from labeltrees.errors import InputError
from labeltrees.metrics._hits import Hits, find_hits
from labeltrees.metrics.intervals import quantile_of, wilson_interval


@dataclass(frozen=True)
class Proportion:
    """A share with a confidence interval; NaN if the total is 0.

    `count` and `total` are sums of point weights if weights were given.
    """

    value: float
    low: float
    high: float
    count: float
    total: float


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
    sample_weight: Any = None,
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
    sample_weight : array of shape (n,), optional
        Weights of the points. The training frequencies are not weighted.

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
    z = quantile_of(confidence)
    hits = find_hits(Y_true, labels, k)
    train = check_Y(Y_train, "Y_train").indicator
    if train.n_labels != hits.true.n_labels:
        message = f"Y_train must have the {hits.true.n_labels} labels of Y_true, got {train.n_labels}"
        raise InputError(message)
    weights = check_sample_weight(sample_weight, hits.true.n_points)
    counts = np.bincount(train.indices, minlength=train.n_labels)
    group_of = np.where(counts >= head_from, 0, np.where(counts >= tail_below, 1, 2))
    return [_group(name, group_of == number, hits, weights, z) for number, name in enumerate(("head", "torso", "tail"))]


def _group(name: str, members: Any, hits: Hits, weights: Float64s | None, z: float) -> FrequencyGroup:
    returned = (hits.returned >= 0) & members[hits.returned]
    found = np.count_nonzero(returned & hits.hit, axis=1)
    n_returned = np.count_nonzero(returned, axis=1)
    n_true = np.bincount(hits.points_of_true()[members[hits.true.indices]], minlength=hits.true.n_points)
    return FrequencyGroup(
        name,
        int(np.count_nonzero(members)),
        _proportion(found, n_returned, weights, z),
        _proportion(found, n_true, weights, z),
    )


def _proportion(count: Int64s, total: Int64s, weights: Float64s | None, z: float) -> Proportion:
    """Return sum(w count) / sum(w total) over points of weight w, with its interval.

    With independent trials the variance would be p (1 - p) / n with n = (sum w total)^2 / sum w^2 total, which is the
    number of trials if the weights are equal. Trials of the same point are correlated, and the variance of a ratio of
    sums over points is sum (w (count - p total))^2 / (sum w total)^2. If that is larger, n is lowered until both agree.
    """
    n: float
    hits: float
    if weights is None:
        n, hits = int(total.sum()), int(count.sum())
        scaled = np.ones(len(total))
    else:
        n, hits = float(weights @ total), float(weights @ count)
        scaled = weights / weights.max()  # squares of the weights cannot overflow
    if n == 0:
        return Proportion(math.nan, math.nan, math.nan, 0, 0)
    p = hits / n
    independent = float(scaled @ total) ** 2 / float(scaled**2 @ total)
    deviations: Float64s = scaled * (count - p * total)
    expected = p * (1 - p) * float(scaled**2 @ total)
    inflation = float(deviations @ deviations) / expected if expected > 0 else 1.0
    low, high = wilson_interval(p, independent / max(inflation, 1.0), z)
    return Proportion(p, low, high, hits, n)
