"""Validation of X, Y and point weights: checked once on input, then passed on as checked types.

`check_X` and `check_Y` return `CheckedX` and `CheckedY`. Both functions return a checked value unchanged, so every
public function can call them, and data that is already checked costs nothing.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._validation import refuse, refuse_masked
from labeltrees.errors import InputError

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

_LARGEST_INT32 = 2**31 - 1
_LARGEST_TOTAL = 1e290  # so that sums over labels cannot overflow either


class Indicator(NamedTuple):
    """Y as sets of labels: point i has the labels ``indices[indptr[i]:indptr[i + 1]]``, ascending and distinct."""

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


@dataclass(frozen=True, eq=False)
class CheckedX:
    """Features that have passed `check_X`. Construct it directly only from a matrix known to have this form.

    Parameters
    ----------
    matrix : csr_array or array (N, d)
        Finite float32. Sparse: canonical CSR, that is, columns of a row sorted and distinct. Dense: row-major.
    """

    matrix: Any

    @property
    def n_points(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1])

    @cached_property
    def rows(self) -> SparseRows | Float32s:
        """The arrays that native code reads: `SparseRows` of a sparse matrix, a dense matrix itself."""
        return sparse_rows(self.matrix) if is_sparse(self.matrix) else self.matrix


@dataclass(frozen=True, eq=False)
class CheckedY:
    """Labels that have passed `check_Y`. Construct it directly only from a matrix known to have this form.

    Parameters
    ----------
    matrix : csr_array (N, L)
        Canonical CSR of float32 relevance values, all above 0.
    """

    matrix: Any

    @property
    def n_points(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_labels(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1])

    @cached_property
    def indicator(self) -> Indicator:
        """The labels of every point, without their relevance."""
        return Indicator(*_index_arrays(self.matrix), self.n_labels)


def is_sparse(matrix: Any) -> bool:
    """Whether a matrix is a SciPy sparse matrix or array."""
    return bool(sp.issparse(matrix))


def check_X(X: Any, name: str = "X", *, allow_empty: bool = False) -> CheckedX:
    """Check features: sparse ones become canonical CSR, dense ones a row-major array, both of finite float32.

    `X` itself is never changed. Its memory is shared only if it already has this form and is read-only. Otherwise it
    is copied, because another thread may write to `X` while it is used.

    Parameters
    ----------
    X : sparse or dense matrix (N, d), or CheckedX
    name : str
        The name of `X` in error messages.
    allow_empty : bool
        Whether X may have no rows or no columns.
    """
    if isinstance(X, CheckedX):
        checked = X
    else:
        checked = CheckedX(sparse_features(X, name) if is_sparse(X) else _dense_features(X, name))
    if not allow_empty:
        _check_shape(checked.matrix.shape, name)
    return checked


def check_Y(Y: Any, name: str = "Y", *, allow_empty: bool = False) -> CheckedY:
    """Check labels: canonical CSR of float32 relevance values, all above 0. Stored zeros are dropped.

    Parameters
    ----------
    Y : sparse or dense matrix (N, L), or CheckedY
        Finite, without negative values.
    name : str
        The name of `Y` in error messages.
    allow_empty : bool
        Whether Y may have no rows or no columns.
    """
    checked = Y if isinstance(Y, CheckedY) else CheckedY(_relevance_matrix(Y, name))
    if not allow_empty:
        _check_shape(checked.matrix.shape, name)
    return checked


def sparse_features(X: Any, name: str = "X") -> sp.csr_array[np.float32]:
    """Check features, sparse or dense, and return them as canonical CSR of finite float32."""
    matrix = _as_csr(name, X)
    values = _as_float32(matrix.data)
    if not _surely_finite(values):
        _refuse_where(name, ~np.isfinite(values), matrix, values)
    return _with_values(matrix, values)


def check_same_points(n_points_of_x: int, n_points_of_y: int) -> None:
    """Refuse X and Y with different numbers of rows."""
    if n_points_of_x != n_points_of_y:
        message = f"X and Y must have the same number of rows, got {n_points_of_x} and {n_points_of_y}"
        raise InputError(message)


def check_sample_weight(sample_weight: Any, n_points: int, name: str = "sample_weight") -> Float64s | None:
    """Return the point weights as read-only float64 of shape (N,), or None for equal weights.

    They must be finite and at least 0, and not all 0 unless there are no points.
    """
    if sample_weight is None:
        return None
    refuse_masked(name, sample_weight)
    try:
        given = np.asarray(sample_weight)
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        refuse(name, "an array of numbers", sample_weight)
    if given.dtype.kind in "mM":  # NumPy converts dates to the number of days or seconds
        refuse(name, "an array of numbers", f"{given.dtype}")
    if weights.shape != (n_points,):
        refuse(name, f"of shape ({n_points},)", f"shape {weights.shape}")
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if bad.size:
        refuse(f"{name}[{bad[0]}]", "a finite number of at least 0", float(weights[bad[0]]))
    if n_points > 0 and not weights.any():
        message = f"{name} is zero for every point"
        raise InputError(message)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not total <= _LARGEST_TOTAL:
        message = f"{name} must sum to at most {_LARGEST_TOTAL:g}, got {total:g}"
        raise InputError(message)
    weights.flags.writeable = False
    return weights


def sparse_rows(matrix: Any) -> SparseRows:
    """Return a checked CSR matrix as the arrays that native code reads, sharing its memory where the types agree."""
    return SparseRows(*_index_arrays(matrix), matrix.data, matrix.shape[1])


def freeze(matrix: sp.csr_array[np.float32]) -> sp.csr_array[np.float32]:
    """Return `matrix`, which must be canonical, with read-only arrays and int32 indices unless int64 is needed.

    Its arrays and their base arrays become read-only, so that `read_only` does not copy them later.
    """
    narrow = matrix.nnz <= _LARGEST_INT32 and max(matrix.shape) <= _LARGEST_INT32
    index_type = np.int32 if narrow else np.int64
    values = matrix.data
    indices = matrix.indices.astype(index_type, copy=False)
    indptr = matrix.indptr.astype(index_type, copy=False)
    for array in (values, indices, indptr):
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner.flags.writeable = False
            owner = owner.base
    parts: Any = (values, indices, indptr)
    frozen: sp.csr_array[np.float32] = sp.csr_array(parts, shape=matrix.shape)
    frozen.has_canonical_format = True
    return frozen


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that cannot change: itself if it and all its base arrays are read-only, else a copy.

    Native code uses indices as offsets long after they were checked, and another thread may write to the caller's
    array meanwhile.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            array = array.copy()
            array.flags.writeable = False
            break
        owner = owner.base
    return array


def _index_arrays(matrix: Any) -> tuple[Int64s, Int32s]:
    return (
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(matrix.indices, dtype=np.int32),
    )


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if min(shape) == 0 or max(shape) > _LARGEST_INT32:
        refuse(f"the shape of {name}", f"at least 1 and at most {_LARGEST_INT32} in both dimensions", shape)


def _dense_features(X: Any, name: str) -> Float32s:
    dense = _as_dense(name, X)
    values = np.ascontiguousarray(_as_float32(dense))
    values = read_only(values) if values.flags.aligned else _frozen_copy(values, values.dtype)
    if not np.isfinite(values).all():
        row, column = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        _refuse_value(name, dense[row, column], values[row, column], row, column)
    return values


def _relevance_matrix(Y: Any, name: str) -> sp.csr_array[np.float32]:
    matrix = _as_csr(name, Y)
    values = _as_float32(matrix.data)
    _refuse_where(name, ~((values >= 0) & np.isfinite(values)), matrix, values)
    matrix = _with_values(matrix, values)
    if not values.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
        matrix = freeze(matrix)
    return matrix


def _as_csr(name: str, matrix: Any) -> Any:
    """Return `matrix` as canonical CSR in its own dtype."""
    if sp.issparse(matrix):
        return _sparse_as_csr(name, matrix)
    return sp.csr_array(_plain_values(name, _as_dense(name, matrix)))


def _as_dense(name: str, matrix: Any) -> NDArray[Any]:
    refuse_masked(name, matrix)
    try:
        dense = np.asarray(matrix)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        message = f"{name} is not a matrix: {error}"
        raise InputError(message) from None
    if dense.ndim != 2:
        refuse(name, "two-dimensional", f"an array of shape {dense.shape}")
    _refuse_dtype(name, dense.dtype)
    return dense


def _sparse_as_csr(name: str, matrix: Any) -> Any:
    try:
        plain = plain_sparse(name, matrix)
        canonical: Any = plain.tocsr()  # itself if it is CSR
        # A new object computes this flag itself: flags set by the caller are not trusted.
        if not canonical.has_canonical_format:
            canonical = canonical.copy() if canonical is plain else canonical
            canonical.sum_duplicates()
    except InputError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError, RuntimeError) as error:
        message = f"{name} is a damaged sparse matrix: {error}"
        raise InputError(message) from None
    return canonical


def plain_sparse(name: str, matrix: Any) -> Any:
    """Return a sparse matrix, checked, in one of SciPy's own classes, with indices that no other code can change.

    A subclass can run code in every attribute, and SciPy's conversions trust their indices. So each attribute is read
    once, its arrays are copied unless they are read-only, and only these arrays are checked and converted.
    """
    shape, kind = matrix.shape, matrix.format
    if len(shape) != 2:
        refuse(name, "two-dimensional", f"an array of shape {shape}")
    shape = tuple(operator.index(size) for size in shape)
    if kind == "lil":
        return _plain_lil(name, matrix.rows, matrix.data, shape)
    if kind == "dok":
        items = list(dict(matrix.items()).items())
        places = np.array([place for place, _ in items], dtype=np.int64).reshape(-1, 2)
        values = np.array([value for _, value in items], dtype=matrix.dtype if not items else None)
        return sp.coo_array((_plain_values(name, values), (places[:, 0], places[:, 1])), shape=shape)
    if kind == "coo":
        rows, columns = (_plain_indices(array) for array in matrix.coords)
        return sp.coo_array((_plain_values(name, matrix.data), (rows, columns)), shape=shape)
    if kind == "dia":
        return sp.dia_array((_plain_values(name, matrix.data), _plain_indices(matrix.offsets)), shape=shape).tocoo()
    if kind not in ("csr", "csc", "bsr"):
        return plain_sparse(name, sp.coo_array(matrix.tocoo()))
    made = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[kind]
    values, indices, indptr = matrix.data, _plain_indices(matrix.indices), _plain_indices(matrix.indptr)
    plain = made((_plain_values(name, values), indices, indptr), shape=shape)
    plain.check_format(full_check=True)
    return plain


def _plain_lil(name: str, rows: Any, values: Any, shape: Any) -> Any:
    rows, values = ([list(row) for row in lists] for lists in (rows, values))
    lengths = [len(row) for row in rows]
    if lengths != [len(row) for row in values] or len(lengths) != shape[0]:
        message = "its lists of columns and of values have different lengths"
        raise ValueError(message)
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    numbers = np.array([value for row in values for value in row], dtype=None if columns.size else np.float32)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    plain = sp.csr_array((_plain_values(name, numbers), columns, indptr), shape=shape)
    plain.check_format(full_check=True)
    return plain


def _plain_indices(array: Any) -> NDArray[Any]:
    array = np.asarray(array)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        message = f"its indices are an array of {array.dtype} of shape {array.shape}"
        raise ValueError(message)
    if array.dtype.newbyteorder("=") not in (np.int32, np.int64) or not _is_plain(array):
        return _frozen_copy(array, np.dtype(np.int64))
    return read_only(array)


def _plain_values(name: str, array: Any) -> NDArray[Any]:
    """Return values in native byte order, of a type that SciPy supports; float32 values become read-only."""
    array = np.asarray(array)
    _refuse_dtype(name, array.dtype)
    kind = np.dtype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind == "f" else array.dtype
    if kind.newbyteorder("=") != array.dtype or not _is_plain(array):
        return _frozen_copy(array, kind.newbyteorder("="))
    return read_only(array) if array.dtype == np.float32 else array  # other types are copied when they are converted


def _is_plain(array: NDArray[Any]) -> bool:
    return bool(array.dtype.isnative and array.flags.aligned and array.flags.c_contiguous)


def _frozen_copy(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    copy = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def _refuse_dtype(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        refuse(name, "a matrix of real numbers", f"dtype {dtype}")


def _as_float32(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # too large a value becomes infinite and is reported later
        return values.astype(np.float32, copy=False)


def _surely_finite(values: Float32s) -> bool:
    """Whether the sum of squares is finite: much faster than checking every value, but False for huge values too."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.dot(values, values)))


def _refuse_where(name: str, bad: NDArray[np.bool_], matrix: Any, values: NDArray[np.float32]) -> None:
    if not bad.any():
        return
    entry = int(np.argmax(bad))
    row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    _refuse_value(name, matrix.data[entry], values[entry], row, int(matrix.indices[entry]))


def _refuse_value(name: str, value: Any, as_float32: Any, row: int, column: int) -> NoReturn:
    if np.isnan(value):
        fault = "a NaN"
    elif np.isinf(value):
        fault = "an infinite value"
    elif np.isinf(as_float32):
        fault = f"{value:g}, too large for float32,"
    else:
        fault = f"the negative value {value:g}"
    message = f"{name} has {fault} at row {row}, column {column}"
    raise InputError(message)


def _with_values(matrix: Any, values: NDArray[np.float32]) -> sp.csr_array[np.float32]:
    return freeze(sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape))
