"""Measures of a tree: its size and shape, and the similarity of labels in the same node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError
from labeltrees.tree.arrays import Float64s

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


def within_node_similarity(tree: LabelTree, embeddings: Any, max_labels: int | None = None) -> float:
    """Return the mean cosine between a label and the centre of a node above it.

    With unit embeddings and their sum s below a node, the cosines of its n labels with its centre add up to the norm of
    s. So this is the sum of these norms over nodes divided by the sum of n.

    Parameters
    ----------
    tree : LabelTree
    embeddings : sparse matrix or array (n_labels, n_features)
        One row per label, scaled to unit length here. A row of zeros counts as a cosine of 0.
    max_labels : int, optional
        By default every node except the root counts, and a label counts once for each of these nodes above it.
        Otherwise only the largest nodes with at most this many labels count, and a label below none of them has a
        cosine of 1. Trees of different shapes are then compared at the same granularity.

    Returns
    -------
    float
        At most 1; NaN if no node counts (the tree has only a root).

    Examples
    --------
    >>> import numpy as np
    >>> from labeltrees.tree.label_tree import LabelTree
    >>> tree = LabelTree([0, 2, 4, 6], [1, 2, ~0, ~1, ~2, ~3], n_labels=4)
    >>> within_node_similarity(tree, np.array([[1, 0], [1, 0], [0, 1], [0, 2]]))
    1.0
    """
    unit = _unit_rows(embeddings, tree.n_labels)
    if max_labels is None:
        total, count = _over_all_nodes(tree, unit)
    else:
        total, count = _over_largest_nodes(tree, unit, check_integer("max_labels", max_labels, 1))
    return total / count if count > 0 else float("nan")


def _unit_rows(embeddings: Any, n_labels: int) -> Any:
    """Return the rows scaled to unit length: CSR if they are sparse; single precision is kept."""
    if not _is_sparse(embeddings):
        embeddings = np.asarray(embeddings)
    if embeddings.ndim != 2 or embeddings.shape[0] != n_labels or embeddings.dtype.kind not in "iuf":
        came = f"{embeddings.dtype} of shape {embeddings.shape}"
        refuse("embeddings", f"numbers of shape ({n_labels}, n_features)", came)
    dtype = np.float32 if embeddings.dtype == np.float32 else np.float64
    rows: Any
    if _is_sparse(embeddings):
        rows = sparse.csr_matrix(embeddings, dtype=dtype)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
    else:
        rows = embeddings.astype(dtype)
    if not np.all(np.isfinite(rows.data if _is_sparse(rows) else rows)):
        refuse("embeddings", "finite", "NaN or infinity")
    norms = _norms(rows)
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0).astype(dtype)
    if _is_sparse(rows):
        scaled = rows.data * np.repeat(scale, np.diff(rows.indptr))
        return sparse.csr_matrix((scaled, rows.indices, rows.indptr), shape=rows.shape)
    return rows * scale[:, np.newaxis]


def _is_sparse(rows: Any) -> bool:
    return bool(sparse.issparse(rows))


def _norms(rows: Any) -> Float64s:
    if _is_sparse(rows):
        squares = np.square(rows.data, dtype=np.float64)
        # One more entry, because reduceat rejects a start at the end of the array.
        sums = np.add.reduceat(np.append(squares, 0.0), rows.indptr[:-1])
        return np.sqrt(np.where(np.diff(rows.indptr) > 0, sums, 0.0))
    lengths: Float64s = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return lengths


def _over_all_nodes(tree: LabelTree, unit: Any) -> tuple[float, int]:
    """Add the nodes of each depth to their parents, from the deepest up: only two depths are held at a time."""
    by_depth = np.argsort(tree.node_depth, kind="stable")
    first = np.searchsorted(tree.node_depth[by_depth], np.arange(tree.height + 1))
    labels_by_depth = np.argsort(tree.label_depth, kind="stable")
    first_label = np.searchsorted(tree.label_depth[labels_by_depth], np.arange(tree.height + 2))
    place = np.empty(tree.n_nodes, dtype=np.int64)  # of a node among those of its depth
    place[by_depth] = np.arange(tree.n_nodes) - first[tree.node_depth[by_depth]]
    total, sums = 0.0, None
    for depth in range(tree.height - 1, 0, -1):
        n_here = first[depth + 1] - first[depth]
        labels = labels_by_depth[first_label[depth + 1] : first_label[depth + 2]]
        below = _gather(place[tree.label_parent[labels]], n_here) @ unit[labels]
        if sums is not None:
            nodes = by_depth[first[depth + 1] : first[depth + 1] + sums.shape[0]]
            below = below + _gather(place[tree.parent[nodes]], n_here) @ sums
        sums = below
        total += float(_norms(sums).sum())
    return total, int(tree.n_labels_below[1:].sum())


def _gather(owner: Any, n_owners: int) -> sparse.csr_matrix:
    """Return the matrix that sums the rows of each owner."""
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(n_owners + 1))
    return sparse.csr_matrix((np.ones(len(owner), dtype=np.float32), order, starts), shape=(n_owners, len(owner)))


def _over_largest_nodes(tree: LabelTree, unit: Any, max_labels: int) -> tuple[float, int]:
    """Sum over the largest nodes with at most `max_labels` labels; the labels of each are a slice of the leaf order."""
    n_below, (order, start) = tree.n_labels_below, tree._leaf_layout
    above = np.where(tree.parent >= 0, n_below[tree.parent], max_labels + 1)
    nodes = np.flatnonzero((n_below <= max_labels) & (above > max_labels))
    nodes = nodes[np.argsort(start[nodes])]
    owner = np.repeat(np.arange(len(nodes)), n_below[nodes])
    covered = np.repeat(start[nodes] - (np.cumsum(n_below[nodes]) - n_below[nodes]), n_below[nodes])
    labels = order[covered + np.arange(len(owner))]
    sums = _gather(owner, len(nodes)) @ unit[labels]
    return float(_norms(sums).sum()) + (len(order) - len(labels)), len(order)


@dataclass(frozen=True)
class TreeSummary:
    """Result of `LabelTree.summary`. `mean_depth` weights placed labels equally, `expected_depth` by their weights."""

    n_labels: int
    n_placed: int
    n_nodes: int
    height: int
    mean_children: float
    max_children: int
    mean_depth: float
    expected_depth: float
    kraft_sum: float


def summarize(tree: LabelTree) -> TreeSummary:
    """Return the summary of a tree."""
    n_children = np.diff(tree.child_ptr)
    n_placed = tree.n_labels - len(tree.unplaced_labels)
    return TreeSummary(
        n_labels=tree.n_labels,
        n_placed=n_placed,
        n_nodes=tree.n_nodes,
        height=tree.height,
        mean_children=float(n_children.mean()),
        max_children=int(n_children.max()),
        mean_depth=float(tree.label_depth.sum(where=tree.label_depth >= 0, dtype=np.int64)) / n_placed,
        expected_depth=expected_depth_or_nan(tree),
        kraft_sum=tree.kraft_sum(),
    )


def expected_depth_or_nan(tree: LabelTree) -> float:
    """Return the expected depth, or NaN if only unplaced labels have weight, so that repr does not fail."""
    try:
        return tree.expected_depth()
    except InputError:
        return float("nan")
