"""The one check that data gets before native code may trust it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees._validation import refuse
from labeltrees.errors import InputError

_INT32_MAX = np.iinfo(np.int32).max


def check_features(X: Any, name: str = "X") -> sparse.csr_array[np.float32]:
    """Return `X` (n_points, n_features) as canonical CSR of finite float32.

    Canonical means indices sorted in each row and none twice. The index arrays are int32 unless the number of entries
    needs int64. `X` itself is never changed, and its memory is shared where it has this form already.
    """
    matrix = _as_csr(name, X)
    values = _as_float32(matrix.data)
    _refuse_where(name, ~np.isfinite(values), matrix, values)
    return _rebuilt(matrix, values)


def check_dense_features(X: Any, name: str = "X") -> NDArray[np.float32]:
    """Return `X` (n_points, n_features), a dense matrix, as row-major finite float32."""
    dense = _as_dense(name, X)
    values = np.ascontiguousarray(_as_float32(dense))
    if not np.isfinite(values).all():
        row, column = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        _refuse_value(name, dense[row, column], values[row, column], row, column)
    return values


def check_labels(Y: Any, name: str = "Y") -> sparse.csr_array[np.float32]:
    """Return `Y` (n_points, n_labels) as canonical CSR of float32 relevance values, all above 0.

    Zeros that are stored are dropped.
    """
    matrix = _as_csr(name, Y)
    values = _as_float32(matrix.data)
    _refuse_where(name, ~((values >= 0) & np.isfinite(values)), matrix, values)
    matrix = _rebuilt(matrix, values)
    if not values.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
        matrix = freeze(matrix)
    return matrix


def check_texts(name: str, values: Any, count: int, *, unique: bool = False) -> NDArray[np.object_]:
    """Return `values`, `count` strings, as a 1-D array of str."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            refuse(name, "one-dimensional", f"an array of shape {values.shape}")
        values = values.tolist()
    if isinstance(values, str | bytes):
        refuse(name, "a sequence of strings", values)
    strings = list(values)
    if len(strings) != count:
        refuse(name, f"{count} strings", f"{len(strings)} of them")
    if not set(map(type, strings)) <= {str}:
        for i, string in enumerate(strings):
            if not isinstance(string, str):
                refuse(f"{name}[{i}]", "a string", string)
        strings = [str(string) for string in strings]
    if unique and len(set(strings)) < count:
        first: dict[str, int] = {}
        for i, string in enumerate(strings):
            if first.setdefault(string, i) != i:
                message = f"{name} has {string!r} twice, at {first[string]} and {i}"
                raise InputError(message)
    array = np.array(strings, dtype=np.object_)
    array.flags.writeable = False
    return array


def check_weights(sample_weight: Any, n_points: int, name: str = "sample_weight") -> NDArray[np.float64]:
    """Return `sample_weight` (n_points,) as finite float64, none negative and, where there are points, not all 0."""
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(name, "an array of numbers", sample_weight)
    if weights.shape != (n_points,):
        refuse(name, f"of shape ({n_points},)", f"shape {weights.shape}")
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if bad.size:
        refuse(f"{name}[{bad[0]}]", "a finite number of at least 0", float(weights[bad[0]]))
    if n_points > 0 and not weights.any():
        message = f"{name} is zero for every point"
        raise InputError(message)
    weights.flags.writeable = False
    return weights


def freeze(matrix: sparse.csr_array[np.float32]) -> sparse.csr_array[np.float32]:
    """Return a read-only view of `matrix`, which must be canonical, with indices as narrow as they can be."""
    narrow = matrix.nnz <= _INT32_MAX and max(matrix.shape) <= _INT32_MAX
    index_type = np.int32 if narrow else np.int64
    values = matrix.data[:]
    indices = matrix.indices.astype(index_type, copy=False)[:]
    indptr = matrix.indptr.astype(index_type, copy=False)[:]
    for view in (values, indices, indptr):
        view.flags.writeable = False
    parts: Any = (values, indices, indptr)
    frozen: sparse.csr_array[np.float32] = sparse.csr_array(parts, shape=matrix.shape)
    frozen.has_canonical_format = True
    return frozen


def _as_csr(name: str, matrix: Any) -> Any:
    """Return `matrix` as canonical CSR in its own dtype, sharing memory where it has this form already."""
    if sparse.issparse(matrix):
        return _sparse_as_csr(name, matrix)
    return sparse.csr_array(_as_dense(name, matrix))


def _as_dense(name: str, matrix: Any) -> NDArray[Any]:
    try:
        dense = np.asarray(matrix)
    except ValueError as error:
        message = f"{name} is no matrix: {error}"
        raise InputError(message) from None
    if dense.ndim != 2:
        refuse(name, "two-dimensional", f"an array of shape {dense.shape}")
    _refuse_dtype(name, dense.dtype)
    return dense


def _sparse_as_csr(name: str, matrix: Any) -> Any:
    if matrix.ndim != 2:
        refuse(name, "two-dimensional", f"an array of shape {matrix.shape}")
    _refuse_dtype(name, matrix.dtype)
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            message = f"{name} is a damaged sparse matrix: {error}"
            raise InputError(message) from None
    compressed = matrix.tocsr()
    # A new object works out for itself whether it is sorted; flags set by others are not trusted.
    nnz = compressed.indptr[-1]
    parts = (compressed.data[:nnz], compressed.indices[:nnz], compressed.indptr)
    canonical = sparse.csr_array(parts, shape=compressed.shape)
    if not canonical.has_canonical_format:
        canonical = canonical.copy()
        canonical.sum_duplicates()
    return canonical


def _refuse_dtype(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        refuse(name, "a matrix of real numbers", f"dtype {dtype}")


def _as_float32(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused with its place
        return values.astype(np.float32, copy=False)


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


def _rebuilt(matrix: Any, values: NDArray[np.float32]) -> sparse.csr_array[np.float32]:
    return freeze(sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape))
