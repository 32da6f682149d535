"""X, Y and point weights as users pass them, checked once and put into the form the native code reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._validation import refuse
from labeltrees.data import checks
from labeltrees.errors import InputError

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

_LARGEST_ID = 2**31 - 1
_LARGEST_TOTAL = 1e290  # so that sums over labels cannot overflow either


class Indicator(NamedTuple):
    """Y as sets of labels: point i carries ``indices[indptr[i]:indptr[i + 1]]``, ascending and distinct."""

    indptr: Int64s
    indices: Int32s
    n_labels: int

    @property
    def n_points(self) -> int:
        """The number of rows of Y."""
        return len(self.indptr) - 1

    def labels_per_point(self) -> Int64s:
        """Return the number of labels of every point."""
        return np.diff(self.indptr)


class SparseRows(NamedTuple):
    """X as the native code reads it: columns of a row ascending and distinct."""

    indptr: Int64s
    indices: Int32s
    values: Float32s
    n_columns: int

    @property
    def n_points(self) -> int:
        """The number of rows of X."""
        return len(self.indptr) - 1


def is_sparse(matrix: Any) -> bool:
    """Whether a matrix is one of SciPy's sparse ones."""
    return bool(sp.issparse(matrix))


def check_labels(Y: Any, name: str = "Y") -> Indicator:
    """Return the labels of every point: a positive value is a label, whatever its size.

    Parameters
    ----------
    Y : sparse or dense matrix of shape (N, L)
        Finite, no negative value.
    name : str
        What the error messages call it.
    """
    matrix = checks.check_labels(Y, name)
    _check_shape(matrix.shape, name)
    return indicator(matrix)


def indicator(matrix: Any) -> Indicator:
    """Return the labels of a checked CSR matrix, sharing its memory where the types agree."""
    return Indicator(*_index_arrays(matrix), matrix.shape[1])


def check_features(X: Any, name: str = "X") -> SparseRows | Float32s:
    """Return X in float32: sparse rows for a sparse matrix, a row-major (N, d) array for a dense one."""
    if not sp.issparse(X):
        dense = checks.check_dense_features(X, name)
        _check_shape(dense.shape, name)
        return dense
    matrix = checks.check_features(X, name)
    _check_shape(matrix.shape, name)
    return sparse_rows(matrix)


def sparse_rows(matrix: Any) -> SparseRows:
    """Return a checked CSR matrix as the arrays that native code reads, sharing its memory where the types agree."""
    return SparseRows(*_index_arrays(matrix), matrix.data, matrix.shape[1])


def check_same_points(n_points_of_x: int, n_points_of_y: int) -> None:
    """Refuse X and Y with different numbers of rows."""
    if n_points_of_x != n_points_of_y:
        message = f"X and Y must have the same number of rows, got {n_points_of_x} and {n_points_of_y}"
        raise InputError(message)


def check_sample_weight(sample_weight: Any, n_points: int) -> Float64s | None:
    """Return the point weights as float64 of shape (N,), or None for equal weights."""
    if sample_weight is None:
        return None
    weights = checks.check_weights(sample_weight, n_points)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not total <= _LARGEST_TOTAL:
        message = f"sample_weight must sum to at most {_LARGEST_TOTAL:g}, got {total:g}"
        raise InputError(message)
    return weights


def _index_arrays(matrix: Any) -> tuple[Int64s, Int32s]:
    return (
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(matrix.indices, dtype=np.int32),
    )


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if min(shape) == 0 or max(shape) > _LARGEST_ID:
        refuse(f"the shape of {name}", f"at least 1 and at most {_LARGEST_ID} both ways", shape)
