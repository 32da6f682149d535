"""A k-ary tree of plain spherical k-means, as Bonsai builds it: clusters may have any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int32s
from labeltrees._validation import check_integer, check_seed
from labeltrees.tree.arrays import check_weights
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.splits import embedding_rows


def kmeans_tree(
    embeddings: Any,
    k: int = 16,
    *,
    leaf_size: int = 100,
    frequencies: Any = None,
    max_iterations: int = 20,
    random_state: int = 0,
) -> LabelTree:
    """Return a tree of spherical k-means clusters with at most `k` children per node above the leaves.

    A set of at most `leaf_size` labels is a leaf. A set that k-means cannot split (equal embeddings) is divided
    into equal parts.

    Parameters
    ----------
    embeddings : sparse or dense matrix (L, d)
    k : int
        At least 2.
    leaf_size : int
    frequencies : array (L,), optional
        Labels of frequency 0 are not placed. Nothing else depends on the frequencies.
    max_iterations : int
        Of k-means at every node.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> kmeans_tree(np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1, 2]], k=3, leaf_size=3, random_state=3).height
    2
    """
    rows = embedding_rows(embeddings).unit()
    k = check_integer("k", k, 2)
    leaf_size = check_integer("leaf_size", leaf_size, 1)
    max_iterations = check_integer("max_iterations", max_iterations, 1)
    rng = np.random.default_rng(check_seed(random_state))
    vectors = _matrix(rows)
    weights = None if frequencies is None else check_weights("frequencies", frequencies, rows.n_labels)
    labels = np.arange(rows.n_labels) if weights is None else np.flatnonzero(weights > 0)

    child_ptr, children = [0], []
    sets = [labels]  # of the nodes made so far, breadth-first
    for labels in sets:
        if len(labels) <= leaf_size:
            children.extend((~labels).tolist())
        else:
            for part in _parts(vectors[labels], labels, k, max_iterations, rng):
                if len(part) == 1:
                    children.append(int(~part[0]))
                else:
                    children.append(len(sets))
                    sets.append(part)
        child_ptr.append(len(children))
    return LabelTree(child_ptr, children, rows.n_labels, label_weights=weights).renumbered()


def _matrix(rows: Any) -> Any:
    if len(rows.columns) == 0:
        return rows.values.reshape(rows.n_labels, rows.n_columns)
    nnz = int(rows.indptr[-1])
    return sp.csr_array((rows.values[:nnz], rows.columns[:nnz], rows.indptr), shape=(rows.n_labels, rows.n_columns))


def _parts(vectors: Any, labels: NDArray[Any], k: int, max_iterations: int, rng: Any) -> list[NDArray[Any]]:
    k = min(k, len(labels))
    cluster = _spherical_kmeans(vectors, k, max_iterations, rng)
    parts = [labels[cluster == c] for c in range(k)]
    parts = [part for part in parts if len(part) > 0]
    return parts if len(parts) > 1 else np.array_split(labels, k)


def _spherical_kmeans(vectors: Any, k: int, max_iterations: int, rng: Any) -> Int32s:
    """Return the cluster of each row; the k centres (k, d) are the only dense thing, over the columns that occur."""
    is_sparse = bool(sp.issparse(vectors))
    if is_sparse:
        used, columns = np.unique(vectors.indices, return_inverse=True)
        vectors = sp.csr_array((vectors.data, columns, vectors.indptr), shape=(vectors.shape[0], max(len(used), 1)))
    n = vectors.shape[0]
    start = vectors[rng.choice(n, size=k, replace=False)]
    centres = start.toarray() if is_sparse else start
    cluster = np.full(n, -1, dtype=np.int32)
    for _ in range(max_iterations):
        nearest: Float64s = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(nearest, cluster):
            break
        cluster = nearest.astype(np.int32)
        members = sp.csr_array((np.ones(n, np.float32), (cluster, np.arange(n))), shape=(k, n))
        sums = members @ vectors
        centres = sums.toarray() if is_sparse else sums
        lengths = np.linalg.norm(centres, axis=1, keepdims=True)
        centres = centres / np.where(lengths > 0, lengths, 1)
    return cluster
