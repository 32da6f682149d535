"""Blocks of rows of a sparse product, small enough for the product to fit in a fixed amount of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def row_blocks(left: Any, entries_per_row: Any, max_products: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of rows of `left` for a product with another sparse matrix.

    A range has at most `max_products` products of nonzeros, or one row.

    Parameters
    ----------
    left : csr_array (n, m)
    entries_per_row : array of int (m,)
        The nonzeros in each row of the other matrix.
    max_products : int

    Examples
    --------
    >>> from scipy import sparse
    >>> list(row_blocks(sparse.csr_array([[1, 0], [1, 1], [0, 1]]), np.array([4, 1]), 6))
    [(0, 1), (1, 3)]
    """
    n_rows = left.shape[0]
    products = np.asarray(entries_per_row, dtype=np.int64)[left.indices]
    # cumsum instead of reduceat, which fails on empty rows
    done = np.concatenate([[0], np.cumsum(products)])[left.indptr]
    start = 0
    while start < n_rows:
        end = int(np.searchsorted(done, done[start] + max_products, side="right")) - 1
        end = min(max(end, start + 1), n_rows)
        yield start, end
        start = end
