"""Precision, recall, hit rate, F1, nDCG and coverage at k, and the depth of the returned labels in the tree.

A metric takes the true labels ``Y_true`` (sparse or dense, (n, L); a positive value marks a label), the returned label
ids ``labels`` (n, at least k or L), best first and padded with -1, and k. Label names, padded with None, are also
allowed if ``Y_true`` is a `Dataset` with label names, or its ``Y``. A point without true labels counts as 0.

With ``sample_weight`` (n,) every metric is weighted: a point of weight 2 counts like two equal points, and a point of
weight 0 is left out. The scale of the weights does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.errors import InputError
from labeltrees.metrics.hits import (
    ComparedLists,
    Hits,
    check_returned,
    check_weights,
    compare_lists,
    count_labels,
    discounts,
    mean_over_points,
)
from labeltrees.tree.label_tree import LabelTree


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
    return _mean(precision_of_points, compare_lists(Y_true, labels, k), sample_weight)


def recall_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the mean share of a point's true labels that are among the first k returned.

    Examples
    --------
    >>> recall_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [2, -1]], k=2)
    0.75
    """
    return _mean(recall_of_points, compare_lists(Y_true, labels, k), sample_weight)


def hit_rate_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the share of points with at least one true label among the first k returned.

    Examples
    --------
    >>> hit_rate_at_k([[1, 1, 0], [0, 0, 1]], [[0, 1], [1, -1]], k=2)
    0.5
    """
    return _mean(hit_rate_of_points, compare_lists(Y_true, labels, k), sample_weight)


def hit_rate_of_points(hits: Hits) -> Float64s:
    """Return 1 for each point with a hit, else 0 (n,)."""
    return np.asarray(hits.hit.any(axis=1), dtype=np.float64)


def f1_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the mean over points of the harmonic mean of precision and recall at k.

    With h of a point's n true labels among the first k, its F1 is 2 h / (k + n).

    Examples
    --------
    >>> f1_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [0, 1]], k=2)
    0.25
    """
    return _mean(f1_of_points, compare_lists(Y_true, labels, k), sample_weight)


def ndcg_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the normalised discounted cumulative gain: hits at higher ranks count more.

    A hit at rank i adds 1 / log2(i + 1); the sum of a point is divided by its best possible value.

    Examples
    --------
    >>> round(ndcg_at_k([[1, 1, 0]], [[2, 0]], k=2), 4)
    0.3869
    """
    return _mean(ndcg_of_points, compare_lists(Y_true, labels, k), sample_weight)


def precision_of_points(hits: Hits) -> Float64s:
    """Return the precision of each point (n,)."""
    return np.asarray(hits.hit.sum(axis=1) / hits.k)


def recall_of_points(hits: Hits) -> Float64s:
    """Return the recall of each point (n,)."""
    return np.asarray(hits.hit.sum(axis=1) / np.maximum(hits.labels_per_point, 1))


def f1_of_points(hits: Hits) -> Float64s:
    """Return the F1 score of each point (n,)."""
    return np.asarray(2 * hits.hit.sum(axis=1) / (hits.k + hits.labels_per_point))


def ndcg_of_points(hits: Hits) -> Float64s:
    """Return the nDCG of each point (n,)."""
    n_ranks = hits.hit.shape[1]
    return np.asarray(hits.hit @ discounts(n_ranks) / ideal_gain(hits.labels_per_point, n_ranks))


def _mean(of_points: Callable[[Hits], Float64s], lists: ComparedLists, sample_weight: Any) -> float:
    return mean_over_points(of_points(lists.hits), check_weights(sample_weight, lists.true.n_points))


def ideal_gain(labels_per_point: Any, k: int) -> Float64s:
    """Return the discounted gain of a perfect list of k labels for each point; 1 for a point without labels."""
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
    lists = compare_lists(Y_true, labels, k)
    weights = check_weights(sample_weight, lists.true.n_points)
    n_labels = lists.true.n_labels
    found, returned = (
        count_labels(lists.returned[marked], np.nonzero(marked)[0], weights, n_labels)
        for marked in (lists.hits.hit, lists.returned >= 0)
    )
    true = count_labels(lists.true.indices, lists.points_of_true(), weights, n_labels)
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
    found, n_true = found_labels(compare_lists(Y_true, labels, k), sample_weight)
    return found / max(n_true, 1)


def found_labels(lists: ComparedLists, sample_weight: Any = None) -> tuple[int, int]:
    """Return how many true labels are found for at least one of their points, and how many true labels there are."""
    weights = check_weights(sample_weight, lists.true.n_points)
    counts = np.ones(lists.true.n_points, dtype=bool) if weights is None else weights > 0
    found = lists.returned[lists.hits.hit & counts[:, np.newaxis]]
    true = lists.true.indices[counts[lists.points_of_true()]]
    return len(np.unique(found)), len(np.unique(true))


def expected_depth_at_k(
    tree: LabelTree, labels: Any, k: int, *, sample_weight: Any = None, count_label_edge: bool = True
) -> float:
    """Return the mean over points of the depth of the deepest of the first k returned labels.

    Labels that are not in the tree do not count: searches find them without the tree.

    Parameters
    ----------
    tree : LabelTree
    labels : array of int (n, at least k)
        Label ids, best first, padded with -1. Points without a returned label in the tree are left out.
    k : int
    sample_weight : array of shape (n,), optional
        Weights of the points.
    count_label_edge : bool
        Whether the edge from the last node to the label counts. If not, the depth of a label is that of its
        parent node: 1 less. The paper does not say which of the two it reports.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3)
    >>> expected_depth_at_k(tree, [[0, 1], [0, -1]], k=2)
    1.5
    >>> expected_depth_at_k(tree, [[0, 1], [0, -1]], k=2, count_label_edge=False)
    0.5
    """
    if not isinstance(tree, LabelTree):
        message = f"tree must be a LabelTree, got {type(tree).__name__}"
        raise InputError(message)
    returned = check_returned(labels, k, tree.n_labels)
    returned = np.where((returned >= 0) & (tree.label_depth[returned] >= 0), returned, -1)
    depth = np.where(returned >= 0, tree.label_depth[returned], 0)
    weights = check_weights(sample_weight, len(returned))
    answered = (returned >= 0).any(axis=1)
    if weights is not None:
        answered &= weights > 0
    if not answered.any():
        which = "" if weights is None else " for a point of positive weight"
        message = f"labels must have at least one label in the tree{which}, got none"
        raise InputError(message)
    mean = mean_over_points(depth.max(axis=1)[answered], None if weights is None else weights[answered])
    return mean - (not count_label_edge)
