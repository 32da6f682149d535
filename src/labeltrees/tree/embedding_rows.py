"""Label embeddings as the native code reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float32s, Int32s, Int64s, SparseRows, check_features
from labeltrees._validation import refuse


class EmbeddingRows(NamedTuple):
    """One row a label: the arguments of the native functions, in their order. `columns` is empty for dense rows."""

    indptr: Int64s
    columns: Int32s
    values: Float32s
    n_columns: int

    @property
    def n_labels(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def unit(self) -> EmbeddingRows:
        """Return the rows with unit length; rows of zeros stay as they are, and so does the rest if all are unit."""
        squares = np.zeros(self.n_labels, dtype=np.float64)
        filled = np.flatnonzero(np.diff(self.indptr))  # reduceat has no answer for an empty row
        if len(filled) > 0:
            squares[filled] = np.add.reduceat(np.square(self.values), self.indptr[filled], dtype=np.float64)
        lengths = np.sqrt(squares)
        lengths[lengths == 0] = 1.0
        if np.abs(lengths - 1).max(initial=0) < 1e-5:
            return self
        scale = np.repeat(lengths, np.diff(self.indptr))
        return self._replace(values=np.divide(self.values, scale, dtype=np.float32))


def embedding_rows(embeddings: Any, n_labels: int | None = None) -> EmbeddingRows:
    """Check `embeddings` (n_labels, d), sparse or dense, and return them as rows."""
    checked = check_features(embeddings, "embeddings")
    if isinstance(checked, SparseRows):
        columns = checked.indices
        if len(columns) == 0:  # an empty array would mean dense rows
            columns = np.zeros(1, dtype=np.int32)
        rows = EmbeddingRows(checked.indptr, columns, checked.values, checked.n_columns)
    else:
        n_rows, n_columns = checked.shape
        indptr = np.arange(n_rows + 1, dtype=np.int64) * n_columns
        rows = EmbeddingRows(indptr, np.empty(0, dtype=np.int32), checked.reshape(-1), n_columns)
    if n_labels is not None and rows.n_labels != n_labels:
        refuse("embeddings", f"a matrix with one row for each of the {n_labels} labels", f"{rows.n_labels} rows")
    return rows


def no_embeddings(n_labels: int) -> EmbeddingRows:
    """Return rows that say nothing about `n_labels` labels."""
    return EmbeddingRows(
        np.zeros(n_labels + 1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.float32), 1
    )
