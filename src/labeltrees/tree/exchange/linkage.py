"""SciPy's hierarchical clusterings: rows of (cluster, cluster, distance, size)."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from labeltrees.errors import InputError
from labeltrees.tree.arrays import TreeArrays


def read_linkage(linkage: Any) -> TreeArrays:
    """Return the arrays of the binary tree of a linkage matrix; see `LabelTree.from_linkage`."""
    try:
        rows = np.asarray(linkage, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    n_labels = len(rows) + 1
    if rows.ndim != 2 or rows.shape[1] != 4 or n_labels < 2 or not np.isfinite(rows).all() or (rows < 0).any():
        _fail("one row (cluster, cluster, distance, size) per merge, all finite and not negative")
    merged = rows[:, :2].astype(np.int64)
    # Row i makes the cluster n_labels + i, which only later rows may merge.
    late = (merged >= n_labels + np.arange(len(rows))[:, np.newaxis]) | (merged != rows[:, :2])
    if late.any():
        row = int(np.flatnonzero(late.any(axis=1))[0])
        _fail(f"clusters that exist when they are merged, which those of row {row} do not: {rows[row, :2].tolist()}")
    if len(np.unique(merged)) < merged.size:
        _fail("every cluster merged only once")
    # The last cluster is the root. Counting backwards gives every node a smaller id than its children.
    children = np.where(merged < n_labels, ~merged, 2 * n_labels - 2 - merged)[::-1]
    child_ptr = np.arange(0, 2 * n_labels - 1, 2, dtype=np.int64)
    return TreeArrays(child_ptr, children.ravel().astype(np.int32), n_labels)


def _fail(wanted: str) -> NoReturn:
    message = f"linkage must have, as the result of scipy.cluster.hierarchy.linkage does, {wanted}"
    raise InputError(message)
