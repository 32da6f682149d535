"""Precision, recall, F1, nDCG and coverage at k.

Every metric takes the true labels ``Y_true`` (sparse or dense, (n, L); a positive value marks a label), the returned
label ids ``labels`` (n, at least k or L), best first and padded with -1, and k. Labels are ids, not names. A point
without true labels counts as 0.

With ``sample_weight`` (n,) every metric is weighted: a point of weight 2 counts like two equal points, and a point of
weight 0 is left out. The scale of the weights does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.metrics._hits import Hits, discounts, find_hits
from labeltrees.metrics._weights import check_weights, count_labels, mean_over_points


def precision_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the mean share of the first k returned labels that are true.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least k)
    k : int
        A missing label (-1) counts as wrong.
    sample_weight : array of shape (n,), optional
        Weights of the points.

    Examples
    --------
    >>> precision_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [2, -1]], k=2)
    0.5
    >>> precision_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [1, -1]], k=2, sample_weight=[3, 1])
    0.375
    """
    return _mean(precision_of_points, find_hits(Y_true, labels, k), sample_weight)


def recall_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the mean share of a point's true labels that are among the first k returned.

    Examples
    --------
    >>> recall_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [2, -1]], k=2)
    0.75
    """
    return _mean(recall_of_points, find_hits(Y_true, labels, k), sample_weight)


def f1_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the mean over points of the harmonic mean of precision and recall at k.

    With h of a point's n true labels among the first k, its F1 is 2 h / (k + n).

    Examples
    --------
    >>> f1_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [0, 1]], k=2)
    0.25
    """
    return _mean(f1_of_points, find_hits(Y_true, labels, k), sample_weight)


def ndcg_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the normalised discounted cumulative gain: hits at higher ranks count more.

    A hit at rank i adds 1 / log2(i + 1); the sum of a point is divided by its best possible value.

    Examples
    --------
    >>> round(ndcg_at_k([[1, 1, 0]], [[2, 0]], k=2), 4)
    0.3869
    """
    return _mean(ndcg_of_points, find_hits(Y_true, labels, k), sample_weight)


def precision_of_points(hits: Hits) -> Float64s:
    """Return the precision of each point (n,)."""
    return np.asarray(hits.hit.sum(axis=1) / hits.k)


def recall_of_points(hits: Hits) -> Float64s:
    """Return the recall of each point (n,)."""
    return np.asarray(hits.hit.sum(axis=1) / np.maximum(hits.true.labels_per_point(), 1))


def f1_of_points(hits: Hits) -> Float64s:
    """Return the F1 score of each point (n,)."""
    return np.asarray(2 * hits.hit.sum(axis=1) / (hits.k + hits.true.labels_per_point()))


def ndcg_of_points(hits: Hits) -> Float64s:
    """Return the nDCG of each point (n,)."""
    return np.asarray(hits.hit @ discounts(hits.n_ranks) / ideal_gain(hits.true.labels_per_point(), hits.n_ranks))


def _mean(of_points: Callable[[Hits], Float64s], hits: Hits, sample_weight: Any) -> float:
    return mean_over_points(of_points(hits), check_weights(sample_weight, hits.true.n_points))


def ideal_gain(labels_per_point: Any, k: int) -> Float64s:
    """Return the discounted gain of min(k, number of labels) hits at the first ranks; 1 without labels."""
    best = np.concatenate([[1.0], np.cumsum(discounts(k))])
    return np.asarray(best[np.minimum(labels_per_point, k)])


def macro_f1_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the F1 score of the first k returned labels, averaged over all L labels.

    All labels count equally, however rare. A label that is neither true nor returned for any point counts as 0.

    Examples
    --------
    >>> round(macro_f1_at_k([[1, 1, 0], [0, 0, 1]], [[0], [0]], k=1), 4)
    0.2222
    """
    hits = find_hits(Y_true, labels, k)
    weights = check_weights(sample_weight, hits.true.n_points)
    n_labels = hits.true.n_labels
    found, returned = (
        count_labels(hits.returned[marked], np.nonzero(marked)[0], weights, n_labels)
        for marked in (hits.hit, hits.returned >= 0)
    )
    true = count_labels(hits.true.indices, hits.points_of_true(), weights, n_labels)
    total = returned + true
    return float(np.mean(np.divide(2 * found, total, out=np.zeros(n_labels), where=total > 0)))


def coverage_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the share of the true labels that are found for at least one of their points.

    Coverage counts labels, not points. So `sample_weight` changes it only for points of weight 0, which are left out.

    Examples
    --------
    >>> coverage_at_k([[1, 1, 0], [1, 0, 0]], [[0, 2], [0, 1]], k=2)
    0.5
    """
    found, n_true = found_labels(find_hits(Y_true, labels, k), sample_weight)
    return found / max(n_true, 1)


def found_labels(hits: Hits, sample_weight: Any = None) -> tuple[int, int]:
    """Return how many true labels are found for at least one of their points, and how many true labels there are."""
    weights = check_weights(sample_weight, hits.true.n_points)
    counts = np.ones(hits.true.n_points, dtype=bool) if weights is None else weights > 0
    found = hits.returned[hits.hit & counts[:, np.newaxis]]
    true = hits.true.indices[counts[hits.points_of_true()]]
    return len(np.unique(found)), len(np.unique(true))
