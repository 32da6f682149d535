"""Trained classifiers laid out as chunks: sparse ones for sparse points, full matrices for dense points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees.storage import ChunkStore, LinearWeights, pack_chunks, pack_dense_chunks
from labeltrees.tree.label_tree import LabelTree


def pack(tree: LabelTree, weights: LinearWeights, X: Any, *, n_jobs: int | None = None) -> ChunkStore:
    """Return the chunks of a tree whose classifiers were trained on X."""
    is_sparse = bool(sp.issparse(X))
    if is_sparse:
        return pack_chunks(tree, weights, X.shape[1], tree.mass(), n_jobs=n_jobs)
    parts: Any = (weights.values, weights.features, weights.indptr)
    matrix = sp.csr_array(parts, shape=(len(weights.bias), X.shape[1])).toarray()
    return pack_dense_chunks(tree, np.asarray(matrix, dtype=np.float32), weights.bias, tree.mass(), n_jobs=n_jobs)
