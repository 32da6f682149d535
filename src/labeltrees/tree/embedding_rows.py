"""Label embeddings as the native code reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._matrices import Float32s, Int32s, Int64s, SparseRows, check_X, sparse_rows
from labeltrees._validation import refuse


class EmbeddingRows(NamedTuple):
    """One row per label: the arguments of the native functions, in their order. `columns` is empty for dense rows."""

    indptr: Int64s
    columns: Int32s
    values: Float32s
    n_columns: int

    @property
    def n_labels(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def unit(self) -> EmbeddingRows:
        """Return the rows scaled to unit length, except rows of zeros; `self` if all have unit length already."""
        lengths = _core.row_lengths(self.indptr, self.values)
        lengths[lengths == 0] = 1.0
        if np.abs(lengths - 1).max(initial=0) < 1e-5:
            return self
        scale = np.repeat(lengths, np.diff(self.indptr))
        return self._replace(values=np.divide(self.values, scale, dtype=np.float32))


def embedding_rows(embeddings: Any, n_labels: int | None = None) -> EmbeddingRows:
    """Check `embeddings` (n_labels, d), sparse or dense, and return them as rows."""
    checked = check_X(embeddings, "embeddings").rows
    rows = _sparse_rows(checked) if isinstance(checked, SparseRows) else _dense_rows(checked)
    if n_labels is not None and rows.n_labels != n_labels:
        refuse("embeddings", f"a matrix with one row for each of the {n_labels} labels", f"{rows.n_labels} rows")
    return rows


def own_rows(embeddings: Any) -> EmbeddingRows:
    """Return the embeddings that `pifa` has made as rows, in their own memory."""
    return _sparse_rows(sparse_rows(embeddings)) if sp.issparse(embeddings) else _dense_rows(embeddings)


def _sparse_rows(matrix: SparseRows) -> EmbeddingRows:
    # An empty array of columns would mean dense rows.
    columns = matrix.indices if len(matrix.indices) > 0 else np.zeros(1, dtype=np.int32)
    return EmbeddingRows(matrix.indptr, columns, matrix.values, matrix.n_columns)


def _dense_rows(matrix: Float32s) -> EmbeddingRows:
    n_rows, n_columns = matrix.shape
    indptr = np.arange(n_rows + 1, dtype=np.int64) * n_columns
    return EmbeddingRows(indptr, np.empty(0, dtype=np.int32), matrix.reshape(-1), n_columns)


def no_embeddings(n_labels: int) -> EmbeddingRows:
    """Return empty rows for `n_labels` labels."""
    return EmbeddingRows(
        np.zeros(n_labels + 1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.float32), 1
    )
