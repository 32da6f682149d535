"""Label frequencies (f) and cover frequencies (f~): how often labels occur, and how much they cover the points."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Indicator, Int32s, Int64s, check_sample_weight, check_Y
from labeltrees._settings import number
from labeltrees._validation import check_choice
from labeltrees.errors import InputError

COVERS = ("marginal", "greedy")
check_softness = number(0, 1)
_EXACT_UP_TO = 2.0**53  # whole numbers up to here add up without rounding


def label_frequencies(Y: Any, sample_weight: Any = None) -> Float64s:
    """Return each label's share of all label occurrences.

    Parameters
    ----------
    Y : sparse or dense matrix of shape (N, L)
        The labels of the points; a positive value is a label, whatever its size.
    sample_weight : array of shape (N,), optional
        Weights of the points; finite, none negative, not all zero.

    Returns
    -------
    array of shape (L,), float64
        Sums to 1.

    Examples
    --------
    >>> label_frequencies([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    array([0.75, 0.25, 0.  ])
    """
    labels = check_Y(Y).indicator
    weights = check_sample_weight(sample_weight, labels.n_points)
    return normalised(label_weight_sums(labels, weights))


def cover_frequencies(Y: Any, sample_weight: Any = None, method: str = "marginal", softness: float = 0.0) -> Float64s:
    """Return how much each label contributes to covering the points, the paper's f-tilde.

    A tree that places labels by these frequencies keeps one label of every point near the root, instead of all the
    frequent ones. They are used only if ``tradeoff`` > 1, or with ``path="direct"``.

    Parameters
    ----------
    Y : sparse or dense matrix of shape (N, L)
        The labels of the points; a positive value is a label, whatever its size.
    sample_weight : array of shape (N,), optional
        Weights of the points; finite, none negative, not all zero.
    method : {"marginal", "greedy"}
        "marginal": each point gives its weight to its most frequent label. "greedy": the label that covers most of the
        remaining weight takes it and its points are removed, again and again. Ties go to the smaller label id.
    softness : float in [0, 1]
        A point gives this share of its weight to its other labels too; 1 gives `label_frequencies`.

    Returns
    -------
    array of shape (L,), float64
        Sums to 1.

    Examples
    --------
    >>> Y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 0]]
    >>> cover_frequencies(Y)
    array([0.75, 0.25, 0.  ])
    >>> cover_frequencies(Y, softness=1.0)
    array([0.42857143, 0.42857143, 0.14285714])
    """
    check_choice("method", method, COVERS)
    check_softness("softness", softness)
    labels = check_Y(Y).indicator
    weights = check_sample_weight(sample_weight, labels.n_points)
    frequency = label_weight_sums(labels, weights)
    cover = greedy_cover_sums(labels, weights) if method == "greedy" else _marginal_cover(labels, weights, frequency)
    return blend_cover(cover, frequency, softness)


def blend_cover(cover: Float64s, sums: Float64s, softness: float) -> Float64s:
    """Return cover frequencies: a point adds its weight p to the label that covers it, softness * p to its others."""
    return normalised((1 - softness) * cover + softness * sums)


def label_weight_sums(labels: Indicator, weights: Float64s | None) -> Float64s:
    """Return the total weight of each label's points, Y^T p."""
    if weights is None:
        sums = np.bincount(labels.indices, minlength=labels.n_labels)
    else:
        sums = np.bincount(
            labels.indices, weights=np.repeat(weights, labels.labels_per_point()), minlength=labels.n_labels
        )
    return sums.astype(np.float64, copy=False)


def frequency_order(frequencies: Float64s) -> Int64s:
    """Return the label ids from the most frequent to the least; equals by id."""
    return np.argsort(-frequencies, kind="stable")


def ranks_within_points(labels: Indicator, order: Int64s) -> Int32s:
    """Return the labels' places in `order`, ascending within every point; laid out as ``labels.indices``."""
    rank = places(order)
    # Transposing twice sorts all rows in linear time.
    column_ptr, points = _core.transpose_indicator(labels.indptr, rank[labels.indices], labels.n_labels)
    return _core.transpose_indicator(column_ptr, points, labels.n_points)[1]


def places(order: Int64s) -> Int32s:
    """Return the place of each label in `order`."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def _marginal_cover(labels: Indicator, weights: Float64s | None, frequency: Float64s) -> Float64s:
    """Return the weight each label gets when every point gives its own to its most frequent label."""
    order = frequency_order(frequency)
    labelled = np.flatnonzero(labels.labels_per_point())
    if len(labelled) == 0:
        return np.zeros(labels.n_labels)
    best_rank = np.minimum.reduceat(places(order)[labels.indices], labels.indptr[labelled])
    given = np.bincount(best_rank, weights=None if weights is None else weights[labelled], minlength=labels.n_labels)
    cover = np.empty(labels.n_labels)
    cover[order] = given
    return cover


def greedy_cover_sums(labels: Indicator, weights: Float64s | None) -> Float64s:
    """Return the weight each label takes in the paper's Algorithm 1."""
    if weights is None:
        weights = np.ones(labels.n_points)
    whole = bool((weights == np.floor(weights)).all() and weights.sum() < _EXACT_UP_TO)
    cover = np.empty(labels.n_labels)
    _core.greedy_cover(labels.indptr, labels.indices, weights, whole, cover)
    return cover


def normalised(sums: Float64s) -> Float64s:
    """Return the sums scaled to a total of 1."""
    total = float(sums.sum())
    if not total > 0:
        message = "Y must have at least one label on a point of positive weight, got none"
        raise InputError(message)
    return sums / total
