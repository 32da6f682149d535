"""Rows of a dataset in parts: some points of every part, gathered in the order of their numbers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._matrices import Int32s, Int64s, SparseRows
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.models.linear.points import row_lengths, scaled_rows


class GatheredRows(NamedTuple):
    """Rows of X with renumbered columns, which keep their order; column c is the feature ``features[c]``."""

    rows: SparseRows
    features: Int32s


def gather_rows(
    data: PartsDataset, wanted: list[Int32s], *, scale: bool, spill_above: int | None = None, folder: Path | None = None
) -> SparseRows:
    """Return the rows ``wanted[i]``, ascending, of every part i, one below the other.

    Parameters
    ----------
    scale : bool
        Whether to scale them to unit length.
    spill_above : int, optional
        Rows of more bytes than this are held in a file in `folder`, whose pages the system can drop, not in memory.
    """
    lengths = []
    for part, rows in zip(data.parts, wanted, strict=True):
        indptr = part.arrays("X_indptr")["X_indptr"]
        lengths.append((indptr[rows + 1] - indptr[rows]).astype(np.int64))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    n_values = int(indptr[-1])
    is_large = spill_above is not None and n_values * 8 > spill_above
    indices: Any = _allocate(n_values, np.int32, folder if is_large else None)
    values: Any = _allocate(n_values, np.float32, folder if is_large else None)
    at = 0
    for part, rows in zip(data.parts, wanted, strict=True):
        if len(rows) == 0:
            continue
        X = part.features()
        some = X if len(rows) == X.shape[0] else X[rows]
        end = at + some.nnz
        indices[at:end] = some.indices
        values[at:end] = scaled_rows(some, row_lengths(some)).data if scale else some.data
        at = end
    return SparseRows(indptr, indices, values, data.n_features)


def renumber_columns(rows: SparseRows) -> GatheredRows:
    """Return the rows with only the columns that occur."""
    occurs = np.zeros(rows.n_columns, dtype=bool)
    occurs[rows.indices] = True
    features: Any = np.flatnonzero(occurs).astype(np.int32)
    if len(features) == rows.n_columns:
        return GatheredRows(rows, features)
    place: Any = np.cumsum(occurs, dtype=np.int32)
    place -= 1
    block = 1 << 22
    for start in range(0, len(rows.indices), block):  # in place, without a second copy of the columns
        rows.indices[start : start + block] = place[rows.indices[start : start + block]]
    return GatheredRows(rows._replace(n_columns=max(len(features), 1)), features)


def distinct_rows(rows: list[Int32s], sizes: list[int]) -> tuple[list[Int32s], list[Int64s]]:
    """Return the distinct rows of every part, ascending, and the place among all of them of every given row."""
    distinct, places = [], []
    first = 0
    for of_part, n_points in zip(rows, sizes, strict=True):
        occurs = np.zeros(n_points, dtype=bool)
        occurs[of_part] = True
        found: Any = np.flatnonzero(occurs).astype(np.int32)
        place: Any = np.cumsum(occurs, dtype=np.int64)
        places.append(place[of_part] + (first - 1))
        distinct.append(found)
        first += len(found)
    return distinct, places


def by_column(columns: NDArray[Any], rows: NDArray[Any], shape: tuple[int, int]) -> tuple[Int64s, Int32s]:
    """Return the rows of each column, in the order given, as starts and rows (a counting sort)."""
    matrix = sp.coo_array((np.ones(len(rows), np.bool_), (columns, rows)), shape=(shape[1], shape[0])).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)


def _allocate(n: int, dtype: Any, folder: Path | None) -> NDArray[Any]:
    if folder is None or n == 0:
        return np.empty(n, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:  # without a name: it disappears with its last user
        return np.memmap(file, dtype, mode="w+", shape=(n,))
