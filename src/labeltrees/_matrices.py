"""X, Y and point weights as users pass them, checked once and put into the form the native code reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._validation import refuse
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
    """X as the native code reads it; `canonical` says that the columns of every row are ascending and distinct."""

    indptr: Int64s
    indices: Int32s
    values: Float32s
    n_columns: int
    canonical: bool

    @property
    def n_points(self) -> int:
        """The number of rows of X."""
        return len(self.indptr) - 1


def check_labels(Y: Any, name: str = "Y") -> Indicator:
    """Return the labels of every point: a positive value is a label, whatever its size.

    Parameters
    ----------
    Y : sparse or dense matrix of shape (N, L)
        Finite, no negative value.
    name : str
        What the error messages call it.
    """
    if not sp.issparse(Y):
        Y = _dense(Y, name)
        _check_values(Y.reshape(-1), name, lambda position: position // Y.shape[1], non_negative=True)
        matrix = sp.csr_array(Y > 0)
    else:
        matrix = _csr(Y, name)
        _check_values(matrix.data, name, lambda position: _row_of(matrix, position), non_negative=True)
        if not (matrix.has_canonical_format and matrix.data.all()):
            matrix = matrix.copy()
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
    return Indicator(*_index_arrays(matrix), matrix.shape[1])


def check_features(X: Any, name: str = "X") -> SparseRows | Float32s:
    """Return X in float32: sparse rows for a sparse matrix, a row-major (N, d) array for a dense one."""
    if not sp.issparse(X):
        X = np.ascontiguousarray(_as_float32(_dense(X, name)))
        _check_values(X.reshape(-1), name, lambda position: position // X.shape[1], non_negative=False)
        return X  # type: ignore[no-any-return]
    matrix = _csr(X, name)
    indptr, indices = _index_arrays(matrix)
    values = np.ascontiguousarray(_as_float32(matrix.data[: len(indices)]))
    _check_values(values, name, lambda position: _row_of(matrix, position), non_negative=False)
    return SparseRows(indptr, indices, values, matrix.shape[1], bool(matrix.has_canonical_format))


def check_same_points(n_points_of_x: int, n_points_of_y: int) -> None:
    """Refuse X and Y with different numbers of rows."""
    if n_points_of_x != n_points_of_y:
        message = f"X and Y must have the same number of rows, got {n_points_of_x} and {n_points_of_y}"
        raise InputError(message)


def check_sample_weight(sample_weight: Any, n_points: int) -> Float64s | None:
    """Return the point weights as float64 of shape (N,), or None for equal weights."""
    if sample_weight is None:
        return None
    allowed = f"None or {n_points} finite numbers, none negative and not all zero"
    try:
        weights = np.asarray(sample_weight)
    except ValueError:
        refuse("sample_weight", allowed, sample_weight)
    if weights.ndim != 1 or weights.dtype.kind not in "biuf":
        refuse("sample_weight", allowed, sample_weight)
    if len(weights) != n_points:
        message = f"sample_weight must have one number for each of the {n_points} points, got {len(weights)}"
        raise InputError(message)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    _check_values(weights, "sample_weight", lambda position: position, non_negative=True)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total == 0:
        message = "sample_weight must not be all zero"
        raise InputError(message)
    if not total <= _LARGEST_TOTAL:
        message = f"sample_weight must sum to at most {_LARGEST_TOTAL:g}, got {total:g}"
        raise InputError(message)
    return weights


def _dense(matrix: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(matrix)
    except ValueError:
        refuse(name, "a sparse or dense matrix of numbers", matrix)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        what = f"an array of shape {array.shape} and type {array.dtype}" if array.ndim else repr(matrix)
        message = f"{name} must be a sparse or dense matrix of numbers with two dimensions, got {what}"
        raise InputError(message)
    _check_shape(array.shape, name)
    return array


def _csr(matrix: Any, name: str) -> Any:
    """Return a CSR view of (or copy in CSR form of) a sparse matrix, its indices checked; never the caller's object."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        message = (
            f"{name} must be a sparse or dense matrix of numbers with two dimensions, "
            f"got a sparse one of shape {matrix.shape} and type {matrix.dtype}"
        )
        raise InputError(message)
    _check_shape(matrix.shape, name)
    try:
        csr = sp.csr_array(matrix)
        csr.check_format(full_check=True)
    except ValueError as error:
        message = f"{name} is not a valid sparse matrix: {error}"
        raise InputError(message) from error
    return csr


def _index_arrays(matrix: Any) -> tuple[Int64s, Int32s]:
    indices = matrix.indices[: matrix.indptr[-1]]
    return (
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=np.int32),
    )


def _as_float32(values: NDArray[Any]) -> Float32s:
    with np.errstate(over="ignore"):  # what became infinite is refused with its place
        return values.astype(np.float32, copy=False)


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if min(shape) == 0 or max(shape) > _LARGEST_ID:
        message = f"{name} must have from 1 to {_LARGEST_ID} rows and columns, got shape {shape}"
        raise InputError(message)


def _check_values(values: NDArray[Any], name: str, row_of: Any, *, non_negative: bool) -> None:
    """Refuse NaN, infinity and, where asked, negative numbers, naming the first row with one."""
    if len(values) == 0 or values.dtype.kind == "b":
        return
    low, high = values.min(), values.max()  # a NaN anywhere makes both NaN
    if np.isfinite(low) and np.isfinite(high) and not (non_negative and low < 0):
        return
    bad = ~np.isfinite(values)
    if non_negative:
        bad |= values < 0
    position = int(np.flatnonzero(bad)[0])
    allowed = "finite and not negative" if non_negative else "finite (in float32)"
    message = f"{name} must be {allowed}, got {values[position]} in row {row_of(position)}"
    raise InputError(message)


def _row_of(matrix: Any, position: int) -> int:
    return int(np.searchsorted(matrix.indptr, position, side="right")) - 1
