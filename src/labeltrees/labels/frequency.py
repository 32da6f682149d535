"""Label frequencies (f), cover frequencies (f~) and weights f(tradeoff).

Points come in blocks; the frequencies do not depend on the block size. The order of summation is fixed: a label's
weights are added one by one, in the order of its points, in double precision. `np.bincount` sums in this order;
`np.add.at` continues such a sum with the next block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Indicator, Int32s, Int64s, check_sample_weight, check_Y
from labeltrees._settings import number
from labeltrees._validation import check_choice, refuse
from labeltrees.errors import InputError

COVERS = ("marginal", "greedy")
Blocks = Callable[[], Iterable[tuple[Indicator, Float64s | None]]]  # labels and weights of the points of each block
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
        "marginal": each point gives its weight to its most frequent label. "greedy": repeatedly, the label that
        covers the most remaining weight takes it, and its points are removed. Ties go to the smaller label id.
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
    _, covers = frequencies_of_blocks(lambda: [(labels, weights)], labels.n_labels, method, softness)
    assert covers is not None
    return covers


def frequencies_of_blocks(
    blocks: Blocks, n_labels: int, method: str | None, softness: float
) -> tuple[Float64s, Float64s | None]:
    """Return the label frequencies over all blocks, and the cover frequencies (None if `method` is None)."""
    sums = np.zeros(n_labels)
    for at, (labels, weights) in enumerate(blocks()):
        _add(sums, labels.indices, None if weights is None else np.repeat(weights, labels.labels_per_point()), at)
    if method is None:
        return normalised(sums), None
    cover = greedy_cover(*_joined(blocks, n_labels)) if method == "greedy" else _marginal_cover(blocks, sums)
    # A point adds its weight p to the label that covers it, and softness * p to its others.
    return normalised(sums), normalised((1 - softness) * cover + softness * sums)


def _add(sums: Float64s, labels: Int32s, weights: Float64s | None, at: int) -> None:
    """Add the weights of a block to the sums of their labels; `at` is the number of the block."""
    if weights is None:
        sums += np.bincount(labels, minlength=len(sums))  # whole numbers: exact in any order
    elif at == 0:
        sums += np.bincount(labels, weights=weights, minlength=len(sums))  # faster than np.add.at
    else:
        np.add.at(sums, labels, weights)


def label_weight_sums(labels: Indicator, weights: Float64s | None) -> Float64s:
    """Return the total weight of each label's points, Y^T p."""
    sums = np.zeros(labels.n_labels)
    _add(sums, labels.indices, None if weights is None else np.repeat(weights, labels.labels_per_point()), 0)
    return sums


def frequency_order(frequencies: Float64s) -> Int64s:
    """Return the label ids from the most frequent to the least; ties by id."""
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


def _marginal_cover(blocks: Blocks, sums: Float64s) -> Float64s:
    """Return the weight each label gets when every point gives its weight to its most frequent label."""
    order = frequency_order(sums)
    place = places(order)
    given = np.zeros(len(sums))
    for at, (labels, weights) in enumerate(blocks()):
        labelled = np.flatnonzero(labels.labels_per_point())
        if len(labelled) > 0:
            best = np.minimum.reduceat(place[labels.indices], labels.indptr[labelled])
            _add(given, best, None if weights is None else weights[labelled], at)
    cover = np.empty(len(sums))
    cover[order] = given
    return cover


def greedy_cover(labels: Indicator, weights: Float64s | None) -> Float64s:
    """Return the weight each label takes in the paper's Algorithm 1."""
    if weights is None:
        weights = np.ones(labels.n_points)
    whole = bool((weights == np.floor(weights)).all() and weights.sum() < _EXACT_UP_TO)
    cover = np.empty(labels.n_labels)
    _core.greedy_cover(labels.indptr, labels.indices, weights, whole, cover)
    return cover


def _joined(blocks: Blocks, n_labels: int) -> tuple[Indicator, Float64s | None]:
    """Return all points as one block: the greedy cover reads them repeatedly."""
    every = list(blocks())
    if len(every) == 1:
        return every[0]
    counts = np.concatenate([labels.labels_per_point() for labels, _ in every])
    indices = np.concatenate([labels.indices for labels, _ in every])
    weights = [weights for _, weights in every if weights is not None]
    joined = Indicator(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), indices, n_labels)
    return joined, np.concatenate(weights) if weights else None


def normalised(sums: Float64s) -> Float64s:
    """Return the sums scaled to a total of 1."""
    total = float(sums.sum())
    if not total > 0:
        message = "Y must have at least one label on a point of positive weight, got none"
        raise InputError(message)
    return sums / total


PATHS = ("weighted", "direct")
WEIGHTS_OF = ("root", "node")
check_tradeoff = number(0, 2)
check_smoothing = number(0)


class WeightTerms(NamedTuple):
    """A label's weight before normalisation: frequency * f^power + cover * f~ + uniform / L."""

    frequency: float
    power: float
    cover: float
    uniform: float


def weight_terms(tradeoff: float, smoothing: float, path: str) -> WeightTerms:
    """Return the terms of the paper's f(tradeoff), or of the direct path, for checked arguments."""
    t, g = float(tradeoff), float(smoothing)
    if path == "direct":
        return WeightTerms(0.0, 1.0, t / 2, 1 - t / 2 + g)
    return WeightTerms(2 - t, min(t, 1.0), max(t - 1, 0.0), g)


def label_weights(
    frequencies: Any, cover_frequencies: Any, tradeoff: float, smoothing: float = 0.1, path: str = "weighted"
) -> Float64s:
    """Return the weights of the labels at a tradeoff, from equal weights (0) to cover frequencies (2).

    Parameters
    ----------
    frequencies : array of shape (L,)
        f, as from `label_frequencies`. Counts work too: they are divided by their sum.
    cover_frequencies : array of shape (L,)
        f-tilde, as from `cover_frequencies`; positive only where `frequencies` are. Divided by their sum too.
    tradeoff : float in [0, 2]
        t in the formulas below.
    smoothing : float >= 0
        g in the formulas below: spread evenly over all labels.
    path : {"weighted", "direct"}
        With t = `tradeoff`, g = `smoothing` and (x)+ = max(x, 0), weights are proportional to
        (2 - t) f^min(t, 1) + (t - 1)+ f~ + g / L ("weighted") or (1 - t/2) / L + (t/2) f~ + g / L ("direct").

    Returns
    -------
    array of shape (L,), float64
        Sums to 1. A label of frequency 0 has weight 0 and is left out of the tree.

    Examples
    --------
    >>> label_weights([0.75, 0.25, 0.0], [1.0, 0.0, 0.0], tradeoff=0.0)
    array([0.5, 0.5, 0. ])
    >>> label_weights([0.75, 0.25, 0.0], [1.0, 0.0, 0.0], tradeoff=1.0, smoothing=0.0)
    array([0.75, 0.25, 0.  ])
    >>> label_weights([0.75, 0.25, 0.0], [1.0, 0.0, 0.0], tradeoff=2.0, smoothing=0.0)
    array([1., 0., 0.])
    """
    check_tradeoff("tradeoff", tradeoff)
    check_smoothing("smoothing", smoothing)
    check_choice("path", path, PATHS)
    f = _check_shares("frequencies", frequencies)
    cover = _check_shares("cover_frequencies", cover_frequencies)
    if f.shape != cover.shape:
        message = f"frequencies and cover_frequencies must have the same length, got {len(f)} and {len(cover)}"
        raise InputError(message)
    seen = f > 0
    if cover[~seen].any():
        label = int(np.flatnonzero(cover * ~seen)[0])
        message = f"cover_frequencies must be 0 where frequencies are, got {cover[label]:g} for label {label}"
        raise InputError(message)
    terms = weight_terms(tradeoff, smoothing, path)
    # f ** 0 is 1 for every label, so at t = 0 all weights are the same number.
    weights = terms.frequency * f**terms.power + terms.cover * cover + terms.uniform / len(f)
    # The paper's denominator is not needed: leaving out unseen labels requires normalising again anyway.
    weights[~seen] = 0.0
    return np.asarray(weights / weights.sum())


def _check_shares(name: str, values: Any) -> Float64s:
    """Return `values` divided by their sum, if they are finite, not negative and not all zero."""
    allowed = "a list of finite numbers with a finite sum, none negative and not all zero"
    try:
        shares = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(name, allowed, values)
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(shares.sum())
    if shares.ndim != 1 or not (shares >= 0).all() or not 0 < total < np.inf:
        refuse(name, allowed, values)
    return shares / total
