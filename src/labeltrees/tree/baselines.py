"""Baseline trees: Huffman, Fano, random and flat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees._validation import Fanout, check_integer, check_seed, refuse
from labeltrees.tree.arrays import MAX_LABELS, TreeArrays, check_weights
from labeltrees.tree.builder import build_binary
from labeltrees.tree.contract import contract
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.splits import SplitSettings, embedding_rows, no_embeddings


def _placed(frequencies: Any) -> tuple[Int32s, Float64s]:
    """Return the labels with a frequency above 0, and all frequencies, checked."""
    checked = check_weights("frequencies", frequencies)
    labels = np.flatnonzero(checked > 0).astype(np.int32)
    if len(labels) == 0:
        refuse("frequencies", "positive for at least one label", "all zero")
    return labels, checked


def huffman_tree(frequencies: Any) -> LabelTree:
    """Return the binary tree with the smallest expected depth for `frequencies` (L,).

    Labels of frequency 0 are not placed.

    Examples
    --------
    >>> huffman_tree([0.5, 0.25, 0.125, 0.125]).label_depth
    array([1, 2, 3, 3], dtype=int32)
    """
    return _code_tree(_core.huffman_tree, frequencies)


def fano_tree(frequencies: Any) -> LabelTree:
    """Return Fano's binary tree: labels sorted by falling frequency are split recursively into halves of equal mass.

    The label at the middle goes to the nearer side, or on a tie to the rarer
    labels. Labels of frequency 0 are not placed.

    Examples
    --------
    >>> fano_tree([0.4, 0.3, 0.1, 0.1, 0.1]).label_depth
    array([1, 2, 3, 4, 4], dtype=int32)
    """
    return _code_tree(_core.fano_tree, frequencies)


def _code_tree(build: Callable[[Int32s, Float64s], tuple[Int64s, Int32s]], frequencies: Any) -> LabelTree:
    labels, checked = _placed(frequencies)
    arrays = build(labels, checked[labels])
    return LabelTree._adopt(TreeArrays(*arrays, len(checked), label_weights=checked)).renumbered()


def random_tree(n_labels: int, *, fanout: Fanout = 2, leaf_size: int = 1, random_state: int = 0) -> LabelTree:
    """Return a balanced tree over the labels in random order.

    Examples
    --------
    >>> random_tree(8).label_depth
    array([3, 3, 3, 3, 3, 3, 3, 3], dtype=int32)
    """
    n_labels = check_integer("n_labels", n_labels, 1, MAX_LABELS)
    order = np.random.default_rng(check_seed(random_state)).permutation(n_labels).astype(np.int32)
    labels = np.arange(n_labels, dtype=np.int32)
    # Labels with equal weights and no embeddings are split into equal halves in the order of their ids.
    settings = SplitSettings(0.0, 1.0, leaf_size=check_integer("leaf_size", leaf_size, 1))
    child_ptr, children = build_binary(no_embeddings(n_labels), labels, np.ones(n_labels), settings)
    is_label = children < 0
    children[is_label] = ~order[~children[is_label]]
    weights = np.full(n_labels, 1.0 / n_labels)
    tree = LabelTree._adopt(TreeArrays(child_ptr, children, n_labels, label_weights=weights))
    return tree.renumbered() if fanout == 2 else contract(tree, fanout, leaf_size=leaf_size)


def flat_tree(n_labels: int, *, frequencies: Any = None) -> LabelTree:
    """Return a tree with one node that has all labels; with `frequencies` (L,), only labels with a frequency above 0.

    Examples
    --------
    >>> flat_tree(3).children
    array([-1, -2, -3], dtype=int32)
    """
    n_labels = check_integer("n_labels", n_labels, 1, MAX_LABELS)
    if frequencies is None:
        return LabelTree([0, n_labels], ~np.arange(n_labels, dtype=np.int32), n_labels)
    labels, checked = _placed(frequencies)
    return LabelTree([0, len(labels)], ~labels, n_labels, label_weights=checked)


def semantic_huffman_tree(
    embeddings: Any, frequencies: Any, *, random_state: int = 0, n_jobs: int | None = None
) -> LabelTree:
    """Return Huffman's tree with similar labels next to each other: a label keeps its depth, but not its position.

    All labels are sorted by balanced splits on similarity (the leaf order of a tree at tradeoff 0). In that order the
    labels of each level fill the positions of the level from left to right. So the labels of a subtree are similar even
    if their depths differ.

    Parameters
    ----------
    embeddings : sparse or dense matrix (L, d)
    frequencies : array (L,)
        Labels of frequency 0 are not placed.

    Examples
    --------
    >>> import numpy as np
    >>> tree = semantic_huffman_tree(np.eye(2)[[0, 1, 0, 1]], [0.25, 0.25, 0.25, 0.25])
    >>> sorted(sorted(pair) for pair in tree.leaf_order().reshape(2, 2).tolist())
    [[0, 2], [1, 3]]
    """
    tree = huffman_tree(frequencies)
    rows = embedding_rows(embeddings, tree.n_labels).unit()
    places = tree.leaf_order()  # from left to right, each identified by its present label
    similarity = SplitSettings(2.0, 0.0)
    arrays = build_binary(
        rows, np.sort(places), np.ones(len(places)), similarity, random_state=random_state, n_jobs=n_jobs
    )
    similar = LabelTree._adopt(TreeArrays(*arrays, tree.n_labels)).leaf_order()
    arranged = np.arange(tree.n_labels, dtype=np.int32)  # the label that takes the place of label l
    by_level = np.argsort(tree.label_depth[places], kind="stable")
    arranged[places[by_level]] = similar[np.argsort(tree.label_depth[similar], kind="stable")]
    children = tree.children.copy()
    is_label = children < 0
    children[is_label] = ~arranged[~children[is_label]]
    return LabelTree._adopt(TreeArrays(tree.child_ptr.copy(), children, tree.n_labels, None, tree.label_weights))


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
        Labels of frequency 0 are not placed. The clusters do not depend on the frequencies, which become the
        `label_weights` of the tree.
    max_iterations : int
        Maximum number of iterations of k-means at each node.
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
    sets = [labels]  # the labels of each node so far, breadth-first
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
    """Return the cluster of each row; for sparse rows, only the centres are dense, over the columns that occur."""
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
