"""EASE: weights between items from the baskets that they share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from labeltrees._matrices import Float32s, Float64s
from labeltrees.errors import InputError

_LARGEST_CONDITION = 1e5  # condition number up to which single precision suffices: its relative error is 6e-8


def item_gram(items: Any, weights: Float64s) -> Float64s:
    """Return the total weight of the baskets that two items share (m, m), for baskets (N, m) of 0 and 1."""
    shared: Float64s = (items.T @ sparse.diags_array(weights) @ items).toarray()
    return shared


def item_weights(gram: Float64s, ridge: float) -> Float32s:
    """Return the weights W of EASE (m, m), as float32, from the result of `item_gram`.

    They minimise the squared error of B - B W plus `ridge` times the sum of squares of W, where B are the baskets, with
    a diagonal of 0 (Steck, WWW 2019). Memory is at most 20 bytes times m^2, and time grows with m^3.
    """
    # Single precision takes half the time. A row sum bounds the largest eigenvalue, and the ridge the smallest.
    is_single = gram.sum(axis=1).max() + ridge < _LARGEST_CONDITION * ridge
    matrix: Any = np.array(gram, dtype=np.float32 if is_single else np.float64, order="F")
    matrix[np.diag_indices_from(matrix)] += ridge
    invert = (lapack.spotrf, lapack.spotri) if is_single else (lapack.dpotrf, lapack.dpotri)
    # On one thread, so that the result does not depend on their number. Those of BLAS also wait actively: on two busy
    # cores they took four times the processor time.
    with threadpool_limits(1, user_api="blas"):
        matrix, failed = invert[0](matrix, lower=1, overwrite_a=1)
        if not failed:
            matrix, failed = invert[1](matrix, lower=1, overwrite_c=1)
    if failed:
        message = "EASE: the matrix of items cannot be inverted; use a larger ridge"
        raise InputError(message)
    # P, the inverse, is symmetric and only its lower triangle is set. Column j of W is -P[:, j] / P[j, j].
    found: Float32s = matrix.astype(np.float32, copy=False)
    del matrix
    found = np.tril(found)
    diagonal = found.diagonal().copy()
    found += np.tril(found, -1).T
    found /= -diagonal
    np.fill_diagonal(found, 0)
    return found


def sparse_item_weights(gram: Any, item: int, ridge: float, n_others: int) -> tuple[Any, Float64s]:
    """Return the items that share the most baskets with an item, ascending, and their weights for it.

    The weights are those of EASE among these items only, so that time does not depend on the number of items.

    Parameters
    ----------
    gram : csr_array (m, m)
        Total weight of the baskets that two items share; with sorted indices.
    item : int
    ridge : float
    n_others : int
        Maximum number of items that get a weight.

    Examples
    --------
    >>> baskets = sparse.csr_array([[1.0, 1, 0], [1, 1, 0], [0, 1, 1]])
    >>> sparse_item_weights(sparse.csr_array(baskets.T @ baskets), 0, 1.0, 1)
    (array([1]), array([0.5]))
    """
    own = slice(int(gram.indptr[item]), int(gram.indptr[item + 1]))
    others, shared = gram.indices[own], gram.data[own]
    is_other = others != item
    others, shared = others[is_other], shared[is_other]
    if len(others) > n_others:
        best = np.sort(np.argsort(-shared, kind="stable")[:n_others])
        others, shared = others[best], shared[best]
    between = gram[others][:, others].toarray()
    between[np.diag_indices_from(between)] += ridge
    return others.astype(np.int64), np.linalg.solve(between, shared) if len(others) else np.zeros(0)
