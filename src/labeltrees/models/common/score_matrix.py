"""Predicted scores as sparse matrices: of the k best labels, or of all labels that reach a threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

# Scores computed at once if it is not known how many labels reach the threshold: 64 MB of labels and scores.
_BLOCK_SIZE = 2**22


def top_scores(labels: Any, scores: Any, n_labels: int) -> Any:
    """Return the scores of lists of labels, padded with -1, as CSR (n, n_labels).

    Examples
    --------
    >>> import numpy as np
    >>> top_scores(np.array([[2, 0], [1, -1]]), np.array([[0.5, 0.25], [1.0, 0.0]]), 3).toarray()
    array([[0.25, 0.  , 0.5 ],
           [0.  , 1.  , 0.  ]])
    """
    found = labels >= 0
    return _csr(found.sum(axis=1), labels[found], scores[found], n_labels)


def scores_above(threshold: float, X: Any, topk: Callable[[Any, int], tuple[Any, Any]], n_labels: int) -> Any:
    """Return the scores of all labels that reach `threshold` as CSR (n, n_labels).

    Parameters
    ----------
    threshold : float
    X : n points
    topk : function of points and k
        Returns the k best labels (n, k) and their scores. It is called again with a larger k for the points whose k-th
        label still reaches the threshold.
    n_labels : int
    """
    n = X.shape[0]
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))]
    unfinished, k = np.arange(n), min(16, n_labels)
    while len(unfinished) > 0:
        needs_more = np.zeros(len(unfinished), dtype=bool)
        step = max(_BLOCK_SIZE // k, 1)
        for first in range(0, len(unfinished), step):
            block = slice(first, first + step)
            rows = unfinished[block]
            labels, scores = topk(X[rows], k)
            reached = (scores >= threshold) & (labels >= 0)
            needs_more[block] = reached[:, -1] & (k < n_labels)
            reached[needs_more[block]] = False
            found.append((rows[np.nonzero(reached)[0]], labels[reached], scores[reached]))
        unfinished = unfinished[needs_more]
        k = min(4 * k, n_labels)
    rows, labels, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(rows, kind="stable")
    return _csr(np.bincount(rows, minlength=n), labels[order], scores[order], n_labels)


def _csr(row_lengths: Any, labels: Any, scores: Any, n_labels: int) -> Any:
    indptr = np.concatenate([[0], np.cumsum(row_lengths)])
    matrix = sp.csr_array((scores, labels, indptr), shape=(len(row_lengths), n_labels))
    matrix.sort_indices()
    return matrix
