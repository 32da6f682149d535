"""Metrics beyond accuracy: novelty, diversity, and catalogue coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s
from labeltrees._validation import refuse
from labeltrees.errors import InputError
from labeltrees.metrics.hits import ComparedLists, check_returned, check_weights, compare_lists, mean_over_points
from labeltrees.tree.label_tree import LabelTree


def catalogue_at_k(Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the share of all labels that are in at least one list of k labels, correct or not.

    Examples
    --------
    >>> catalogue_at_k([[1, 1, 0, 0], [0, 0, 1, 0]], [[0, 2], [0, -1]], k=2)
    0.5
    """
    shown, n_labels = shown_labels(compare_lists(Y_true, labels, k), sample_weight)
    return shown / max(n_labels, 1)


def shown_labels(lists: ComparedLists, sample_weight: Any = None) -> tuple[int, int]:
    """Return how many labels are in at least one list, and how many labels there are."""
    weights = check_weights(sample_weight, lists.true.n_points)
    returned = lists.returned if weights is None else lists.returned[weights > 0]
    return len(np.unique(returned[returned >= 0])), lists.true.n_labels


def novelty_at_k(Y_true: Any, labels: Any, k: int, *, label_counts: Any, sample_weight: Any = None) -> float:
    """Return the mean information of the returned labels in bits: ``-log2(c / sum of c)`` for a label of c points.

    A label with half as many training points has one bit more. A label without training points counts as if it had one.
    Points without returned labels are left out.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least k)
    k : int
    label_counts : array of shape (L,)
        The number of training points of each label.
    sample_weight : array of shape (n,), optional
        Weights of the points.

    Examples
    --------
    >>> novelty_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [1, -1]], k=1, label_counts=[2, 1, 1])
    1.5
    """
    lists = compare_lists(Y_true, labels, k)
    counts = np.asarray(label_counts, dtype=np.float64)
    if counts.shape != (lists.true.n_labels,):
        refuse("label_counts", f"{lists.true.n_labels} numbers, one per label", label_counts)
    counts = np.maximum(counts, 1)
    information = -np.log2(counts / counts.sum())
    found = lists.returned >= 0
    values = np.where(found, information[lists.returned], 0).sum(axis=1)
    return _mean_of_answered(values, found.sum(axis=1), sample_weight)


def diversity_at_k(tree: LabelTree, labels: Any, k: int, *, sample_weight: Any = None) -> float:
    """Return the mean over points of how different the first k returned labels are from each other.

    The difference of two labels is 1 minus their similarity in the tree, which is ``1 - log(n) / log(L)`` if n of L
    labels are below their lowest common ancestor. The mean is over all pairs of a list; 0 for a list of one label.
    Points without returned labels are left out.

    Parameters
    ----------
    tree : LabelTree
    labels : array of int (n, at least k)
        Label ids, padded with -1.
    k : int
    sample_weight : array of shape (n,), optional
        Weights of the points.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4, 6], [1, 2, ~0, ~1, ~2, ~3], n_labels=4)
    >>> diversity_at_k(tree, [[0, 1]], k=2), diversity_at_k(tree, [[0, 2]], k=2)
    (0.5, 1.0)
    """
    if not isinstance(tree, LabelTree):
        message = f"tree must be a LabelTree, got {type(tree).__name__}"
        raise InputError(message)
    returned = check_returned(labels, k, tree.n_labels)
    sums, pairs = np.zeros(len(returned)), np.zeros(len(returned), dtype=np.int64)
    for first in range(returned.shape[1]):
        for second in range(first):
            both = (returned[:, first] >= 0) & (returned[:, second] >= 0)
            sums[both] += 1 - label_similarity(tree, returned[both, first], returned[both, second])
            pairs += both
    means = np.divide(sums, pairs, out=np.zeros(len(sums)), where=pairs > 0)
    n_found = (returned >= 0).sum(axis=1)
    return _mean_of_answered(means * n_found, n_found, sample_weight)


def label_similarity(tree: LabelTree, first: Int64s, second: Int64s) -> Float64s:
    """Return the similarity of pairs of labels in a tree (n,), as the search option `diversity` uses it."""
    below = np.maximum(tree.n_labels_below, 1)
    information = 1 - np.log(below) / np.log(max(int(below[0]), 2))
    a, b = tree.label_parent[first].astype(np.int64), tree.label_parent[second].astype(np.int64)
    placed = (a >= 0) & (b >= 0)
    a, b = np.where(placed, a, 0), np.where(placed, b, 0)
    while (differ := a != b).any():  # a child has a larger id than its parent
        a, b = np.where(differ & (a > b), tree.parent[a], a), np.where(differ & (b > a), tree.parent[b], b)
    return np.where(first == second, 1.0, np.where(placed, information[a], 0.0))


def _mean_of_answered(sums: NDArray[Any], counts: NDArray[Any], sample_weight: Any) -> float:
    """Return the mean of sums / counts over the points with positive counts; 0 if there are none."""
    weights = check_weights(sample_weight, len(sums))
    answered = counts > 0 if weights is None else (counts > 0) & (weights > 0)
    if not answered.any():
        return 0.0
    return mean_over_points(sums[answered] / counts[answered], None if weights is None else weights[answered])
