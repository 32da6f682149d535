"""Metrics that give rare labels more weight, because rare labels are more often missing from the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s, check_Y
from labeltrees._validation import check_integer, check_number, refuse
from labeltrees.errors import InputError
from labeltrees.labels.frequency import ranks_within_points
from labeltrees.metrics.hits import ComparedLists, check_weights, compare_lists, discounts, mean_over_points
from labeltrees.metrics.ranking import ideal_gain

MIN_POINTS = 3  # with fewer points, log N is below 1 and propensities exceed 1


def label_propensities(Y_train: Any, A: float = 0.55, B: float = 1.5) -> Float64s:
    """Return the propensity of every label: the modelled probability that a true label is observed in the data.

    p_l = 1 / (1 + C (N_l + B)^-A) with C = (log N - 1) (B + 1)^A, N points and N_l of them with label l.

    Parameters
    ----------
    Y_train : sparse or dense matrix of shape (N, L)
        The training labels, N >= 3.
    A, B : float
        Usually 0.55 and 1.5; 0.5 and 0.4 for Wikipedia data sets, 0.6 and 2.6 for Amazon data sets.

    Returns
    -------
    array of shape (L,), float64
        In (0, 1].

    Examples
    --------
    >>> label_propensities([[1, 0], [1, 1], [1, 0], [1, 0]]).round(3)
    array([0.8  , 0.721])
    """
    labels = check_Y(Y_train, "Y_train").indicator
    if labels.n_points < MIN_POINTS:
        message = f"Y_train must have at least {MIN_POINTS} points, got {labels.n_points}"
        raise InputError(message)
    return propensities_of_counts(np.bincount(labels.indices, minlength=labels.n_labels), labels.n_points, A, B)


def propensities_of_counts(counts: Any, n_points: int, A: float = 0.55, B: float = 1.5) -> Float64s:
    """Return the propensities of labels from their training counts.

    Parameters
    ----------
    counts : array of int (L,)
        The number of training points of each label: `label_counts_` of a model.
    n_points : int
        The number of training points: `n_points_` of a model.
    A, B : float
        As in `label_propensities`.

    Examples
    --------
    >>> propensities_of_counts([4, 1], n_points=4).round(3)
    array([0.8  , 0.721])
    """
    A, B = check_number("A", A, 0), check_number("B", B, 0)
    n_points = check_integer("n_points", n_points, MIN_POINTS)
    counts = np.asarray(counts)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or not ((counts >= 0) & (counts <= n_points)).all():
        refuse("counts", f"one integer in [0, {n_points}] per label", counts)
    if B == 0 and not counts.all():
        refuse("B", "positive if a label has no training point", B)
    c = (math.log(n_points) - 1) * (B + 1) ** A
    return np.asarray(1 / (1 + c * (counts + B) ** -A))


def inverse_propensity(Y: Any, A: float = 0.55, B: float = 1.5) -> Float64s:
    """Return 1 / propensity of every label: the gain of a hit in `psp_at_k`, larger for rare labels.

    Parameters
    ----------
    Y : sparse or dense matrix of shape (N, L)
        The training labels, N >= 3.
    A, B : float
        As in `label_propensities`.

    Returns
    -------
    array of shape (L,), float64
        At least 1.

    Examples
    --------
    >>> inverse_propensity([[1, 0], [1, 1], [1, 0], [1, 0]]).round(3)
    array([1.25 , 1.386])
    """
    return np.asarray(1 / label_propensities(Y, A, B))


def psp_at_k(
    Y_true: Any,
    labels: Any,
    k: int,
    *,
    Y_train: Any = None,
    propensities: Any = None,
    A: float = 0.55,
    B: float = 1.5,
    sample_weight: Any = None,
) -> float:
    """Return the propensity-scored precision: each hit counts 1 / propensity, divided by the best possible total.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least k)
    k : int
    Y_train : sparse or dense matrix of shape (N, L), optional
        Training labels, for `label_propensities`. Give either this or `propensities`.
    propensities : array of shape (L,), optional
        As `label_propensities` returns them.
    A, B : float
        As in `label_propensities`.
    sample_weight : array of shape (n,), optional
        Weights of the points.

    Examples
    --------
    >>> Y_train = [[1, 0, 0]] * 8 + [[0, 1, 1]]
    >>> round(psp_at_k([[1, 1, 0]], [[0, 2]], k=2, Y_train=Y_train), 4)
    0.4174
    """
    lists = compare_lists(Y_true, labels, k)
    gain = _inverse_propensities(lists.true.n_labels, Y_train, propensities, A, B)
    reached = np.where(lists.hits.hit, gain[lists.returned], 0).sum(axis=1)
    return _share(reached, _best_gains(lists, gain).sum(axis=1), sample_weight)


def psndcg_at_k(
    Y_true: Any,
    labels: Any,
    k: int,
    *,
    Y_train: Any = None,
    propensities: Any = None,
    A: float = 0.55,
    B: float = 1.5,
    sample_weight: Any = None,
) -> float:
    """Return the propensity-scored nDCG: like `psp_at_k`, but hits at higher ranks count more.

    The parameters are those of `psp_at_k`.

    Examples
    --------
    >>> Y_train = [[1, 0, 0]] * 8 + [[0, 1, 1]]
    >>> round(psndcg_at_k([[1, 1, 0]], [[0, 2]], k=2, Y_train=Y_train), 4)
    0.4935
    """
    lists = compare_lists(Y_true, labels, k)
    gain = _inverse_propensities(lists.true.n_labels, Y_train, propensities, A, B)
    discount = discounts(lists.n_ranks)
    norm = ideal_gain(lists.hits.labels_per_point, lists.n_ranks)
    reached = np.where(lists.hits.hit, gain[lists.returned], 0) @ discount / norm
    return _share(reached, _best_gains(lists, gain) @ discount / norm, sample_weight)


def _inverse_propensities(n_labels: int, Y_train: Any, propensities: Any, A: float, B: float) -> Float64s:
    if (Y_train is None) == (propensities is None):
        message = "give either Y_train or propensities, got " + ("neither" if Y_train is None else "both")
        raise InputError(message)
    if propensities is None:
        values, name = label_propensities(Y_train, A, B), "Y_train"
    else:
        name = "propensities"
        try:
            values = np.asarray(propensities, dtype=np.float64)
        except (TypeError, ValueError):
            refuse(name, "a list of numbers in (0, 1]", propensities)
        if values.ndim != 1 or not ((values > 0) & (values <= 1)).all():
            refuse(name, "a list of numbers in (0, 1]", propensities)
    if len(values) != n_labels:
        message = f"{name} must have the {n_labels} labels of Y_true, got {len(values)}"
        raise InputError(message)
    return np.asarray(1 / values)


def _best_gains(lists: ComparedLists, gain: Float64s) -> Float64s:
    """Return the k largest gains of each point's true labels in descending order, padded with 0 (n, k)."""
    order = np.argsort(-gain, kind="stable")
    ranks = ranks_within_points(lists.true, order)
    start, size = lists.true.indptr[:-1], lists.true.labels_per_point()
    place = np.arange(lists.n_ranks)
    exists = place < size[:, np.newaxis]
    best = np.zeros(exists.shape)
    best[exists] = gain[order[ranks[(start[:, np.newaxis] + place)[exists]]]]
    return best


def _share(reached: Float64s, best: Float64s, sample_weight: Any) -> float:
    """Return the sum of `reached` over points divided by the sum of `best`."""
    weights = check_weights(sample_weight, len(best))
    mean_best = mean_over_points(best, weights)
    return mean_over_points(reached, weights) / mean_best if mean_best > 0 else 0.0
