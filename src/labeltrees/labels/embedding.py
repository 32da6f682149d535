"""PIFA label embeddings: the embedding of a label is the sum of its points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._matrices import Float32s, Int32s, Int64s, SparseRows, check_same_points, check_X, check_Y
from labeltrees._validation import check_n_jobs

# A thread keeps one number per column while it sums the points of a label. From this width on (512 MB per thread) the
# columns that occur are renumbered first, which costs a copy of the column ids.
_WIDEST = 2**26


def pifa(X: Any, Y: Any, *, n_jobs: int | None = None) -> Any:
    """Return an embedding of every label: the sum of its points, scaled to unit length.

    Parameters
    ----------
    X : sparse or dense matrix of shape (N, d)
        The points.
    Y : sparse or dense matrix of shape (N, L)
        The labels of the points; a positive value is a label, whatever its size.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.

    Returns
    -------
    csr_array of shape (L, d), float32
        Rows of unit length with sorted columns and no stored zeros. A label without points, or whose points sum to
        zero, has an empty row. For dense X, a dense float32 array, in which such a row is zero.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = sp.csr_array(np.array([[3.0, 0.0], [0.0, 4.0], [1.0, 0.0]]))
    >>> Y = sp.csr_array(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]]))
    >>> pifa(X, Y).toarray()
    array([[0.6, 0.8],
           [1. , 0. ],
           [0. , 0. ]], dtype=float32)
    """
    n_threads = check_n_jobs(n_jobs)
    rows = check_X(X).rows
    labels = check_Y(Y).indicator
    check_same_points(rows.n_points if isinstance(rows, SparseRows) else len(rows), labels.n_points)
    label_ptr, points = _core.transpose_indicator(labels.indptr, labels.indices, labels.n_labels)
    return sum_points(rows, label_ptr, points, n_threads)


def sum_points(rows: SparseRows | Float32s, label_ptr: Int64s, points: Int32s, n_threads: int) -> Any:
    """Return the embeddings of labels whose points are ``points[label_ptr[l]:label_ptr[l + 1]]``, ascending.

    A row depends only on the label's own points, which are summed in ascending order, in double precision. Any range of
    labels therefore gives the same rows alone as among all labels.
    """
    if not isinstance(rows, SparseRows):
        return _dense(rows, label_ptr, points, n_threads)
    if rows.n_columns <= _WIDEST:
        return _sparse(rows, label_ptr, points, n_threads)
    occurring, narrow_ids = np.unique(rows.indices, return_inverse=True)
    narrow = rows._replace(indices=narrow_ids.astype(np.int32), n_columns=max(len(occurring), 1))
    result = _sparse(narrow, label_ptr, points, n_threads)
    # The renumbering keeps the order, so the columns stay sorted.
    return sp.csr_array(
        (result.data, occurring[result.indices], result.indptr), shape=(result.shape[0], rows.n_columns)
    )


def _sparse(rows: SparseRows, label_ptr: Int64s, points: Int32s, n_threads: int) -> Any:
    n_labels = len(label_ptr) - 1
    out_ptr, indices, values = _core.pifa_sparse(
        label_ptr, points, rows.indptr, rows.indices, rows.values, rows.n_columns, n_threads
    )
    # SciPy copies the columns if the row starts have another type: use int32 unless there are too many entries.
    row_ptr = out_ptr if len(values) > np.iinfo(np.int32).max else out_ptr.astype(np.int32)
    result = sp.csr_array((values, indices, row_ptr), shape=(n_labels, rows.n_columns))
    if not values.all():
        result.eliminate_zeros()
    return result


def _dense(X: Float32s, label_ptr: Int64s, points: Int32s, n_threads: int) -> Float32s:
    n_labels, n_columns = len(label_ptr) - 1, X.shape[1]
    out = np.empty(n_labels * n_columns, dtype=np.float32)
    _core.pifa_dense(label_ptr, points, X.reshape(-1), n_columns, n_threads, out)
    return out.reshape(n_labels, n_columns)
