"""Precision, recall, nDCG, F1 and coverage at k.

Every metric takes the true labels ``Y_true`` (sparse or dense, (n, L); a positive value marks a label), the returned
label ids ``labels`` (n, at least k), best first and padded with -1, and k. Labels are ids, not names. A point without
true labels counts as 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.metrics._hits import discounts, find_hits


def precision_at_k(Y_true: Any, labels: Any, k: int) -> float:
    """Return the mean share of the first k returned labels that are true.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least k)
    k : int
        A missing label (-1) counts as wrong.

    Examples
    --------
    >>> precision_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [2, -1]], k=2)
    0.5
    """
    return float(find_hits(Y_true, labels, k).hit.mean())


def recall_at_k(Y_true: Any, labels: Any, k: int) -> float:
    """Return the mean share of a point's true labels that are among the first k returned.

    Examples
    --------
    >>> recall_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [2, -1]], k=2)
    0.75
    """
    hits = find_hits(Y_true, labels, k)
    return float(np.mean(hits.hit.sum(axis=1) / np.maximum(hits.true.labels_per_point(), 1)))


def ndcg_at_k(Y_true: Any, labels: Any, k: int) -> float:
    """Return the normalised discounted cumulative gain: hits at higher ranks count more.

    A hit at rank i adds 1 / log2(i + 1); the sum of a point is divided by its best possible value.

    Examples
    --------
    >>> round(ndcg_at_k([[1, 1, 0]], [[2, 0]], k=2), 4)
    0.3869
    """
    hits = find_hits(Y_true, labels, k)
    return float(np.mean(hits.hit @ discounts(hits.k) / ideal_gain(hits.true.labels_per_point(), hits.k)))


def ideal_gain(labels_per_point: Any, k: int) -> Float64s:
    """Return the discounted gain of min(k, number of labels) hits at the first ranks; 1 without labels."""
    best = np.concatenate([[1.0], np.cumsum(discounts(k))])
    return np.asarray(best[np.minimum(labels_per_point, k)])


def macro_f1_at_k(Y_true: Any, labels: Any, k: int) -> float:
    """Return the F1 score of the first k returned labels, averaged over all L labels.

    All labels count equally, however rare. A label that is neither true nor returned for any point counts as 0.

    Examples
    --------
    >>> round(macro_f1_at_k([[1, 1, 0], [0, 0, 1]], [[0], [0]], k=1), 4)
    0.2222
    """
    hits = find_hits(Y_true, labels, k)
    n_labels = hits.true.n_labels
    found = np.bincount(hits.returned[hits.hit], minlength=n_labels)
    returned = np.bincount(hits.returned[hits.returned >= 0], minlength=n_labels)
    true = np.bincount(hits.true.indices, minlength=n_labels)
    return float(np.mean(2 * found / np.maximum(returned + true, 1)))


def coverage_at_k(Y_true: Any, labels: Any, k: int) -> float:
    """Return the share of the true labels that are found for at least one of their points.

    Examples
    --------
    >>> coverage_at_k([[1, 1, 0], [1, 0, 0]], [[0, 2], [0, 1]], k=2)
    0.5
    """
    hits = find_hits(Y_true, labels, k)
    n_true = len(np.unique(hits.true.indices))
    return len(np.unique(hits.returned[hits.hit])) / max(n_true, 1)
