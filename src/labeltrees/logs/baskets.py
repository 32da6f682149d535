"""Basket completion: some items of a basket are hidden and become labels, the others are features."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labeltrees.logs.features import Matrix


def hide_items(baskets: Matrix, hide: float, seed: int | np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return the visible items X and the hidden items Y of each basket.

    Parameters
    ----------
    baskets : (n_baskets, n_items) CSR with sorted indices
        Each row has at least two items.
    hide : float
        The share of items to hide (below 1), or their number. At least one item is hidden and one stays visible.
    seed : int or Generator
        The same baskets and seed hide the same items. With a generator, so do blocks of baskets, one after the other.
    """
    sizes = np.diff(baskets.indptr)
    n_hidden = np.floor(hide * sizes + 0.5) if hide < 1 else np.full(len(sizes), hide)
    n_hidden = np.clip(n_hidden, 1, np.maximum(sizes - 1, 1)).astype(np.int64)
    # A random number per item; in each basket the items with the smallest ones are hidden.
    row = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((np.random.default_rng(seed).random(baskets.nnz), row))
    place = np.empty(baskets.nnz, dtype=np.int64)
    place[order] = np.arange(baskets.nnz) - np.repeat(baskets.indptr[:-1], sizes)
    hidden = place < np.repeat(n_hidden, sizes)
    return _some(baskets, ~hidden), _some(baskets, hidden, binary=True)


def _some(matrix: Matrix, keep: np.ndarray, binary: bool = False) -> Matrix:
    indptr = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    values = np.ones(int(indptr[-1]), dtype=np.float32) if binary else matrix.data[keep]
    return sparse.csr_array((values, matrix.indices[keep], indptr.astype(matrix.indptr.dtype)), shape=matrix.shape)
