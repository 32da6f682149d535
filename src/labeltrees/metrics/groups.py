"""Metrics by group of labels: by training frequency, and by predicted probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s, check_sample_weight, check_Y
from labeltrees._validation import check_integer
from labeltrees.errors import InputError
from labeltrees.metrics.hits import ComparedLists, compare_lists
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
    lists = compare_lists(Y_true, labels, k)
    train = check_Y(Y_train, "Y_train").indicator
    if train.n_labels != lists.true.n_labels:
        message = f"Y_train must have the {lists.true.n_labels} labels of Y_true, got {train.n_labels}"
        raise InputError(message)
    weights = check_sample_weight(sample_weight, lists.true.n_points)
    counts = np.bincount(train.indices, minlength=train.n_labels)
    group_of = np.where(counts >= head_from, 0, np.where(counts >= tail_below, 1, 2))
    return [
        _group(name, group_of == number, lists, weights, z) for number, name in enumerate(("head", "torso", "tail"))
    ]


def _group(name: str, members: Any, lists: ComparedLists, weights: Float64s | None, z: float) -> FrequencyGroup:
    returned = (lists.returned >= 0) & members[lists.returned]
    found = np.count_nonzero(returned & lists.hits.hit, axis=1)
    n_returned = np.count_nonzero(returned, axis=1)
    n_true = np.bincount(lists.points_of_true()[members[lists.true.indices]], minlength=lists.true.n_points)
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
        scaled = weights / weights.max()  # so that squares of the weights cannot overflow
    if n == 0:
        return Proportion(math.nan, math.nan, math.nan, 0, 0)
    p = hits / n
    independent = float(scaled @ total) ** 2 / float(scaled**2 @ total)
    deviations: Float64s = scaled * (count - p * total)
    expected = p * (1 - p) * float(scaled**2 @ total)
    inflation = float(deviations @ deviations) / expected if expected > 0 else 1.0
    low, high = wilson_interval(p, independent / max(inflation, 1.0), z)
    return Proportion(p, low, high, hits, n)


N_BINS = 10


class Bin(NamedTuple):
    """The labels with a probability in [low, high): their number, mean probability, and share of correct labels."""

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
        The expected calibration error: the mean absolute difference between probability and share of correct
        labels over the bins, weighted by their number of labels.
    brier : float
        The Brier score: the mean squared difference between probability and truth.
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
