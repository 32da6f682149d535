"""Hard negatives: points that the model sends to a node where they have no label (XR-Linear's matcher)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees.search import Searcher, SearchRequest
from labeltrees.tree.label_tree import LabelTree

# Labels looked at for each point: the nodes above them are where a beam of that width would go.
WIDTH = 10
POINTS_AT_ONCE = 65536


def confused_points(searcher: Searcher, tree: LabelTree, X: Any, Y: Any, *, n_jobs: int | None = None) -> Any:
    """Return the pairs (point, node) of wrong nodes as CSR of bool (N, n_nodes).

    A node is wrong for a point if it is above one of the best labels the model returns, and above none of the point's
    own.
    """
    above = _ancestors(tree)
    parts = []
    for first in range(0, X.shape[0], POINTS_AT_ONCE):
        rows = slice(first, first + POINTS_AT_ONCE)
        found = searcher.topk(X[rows], SearchRequest(WIDTH, beam=WIDTH), n_jobs=n_jobs).labels
        kept = found >= 0
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        ones = np.ones(indptr[-1], dtype=np.float32)
        returned = sp.csr_array((ones, found[kept], indptr), shape=(len(found), tree.n_labels))
        visited = (returned @ above).astype(bool)
        own = (sp.csr_array(Y[rows]).astype(bool).astype(np.float32) @ above).astype(bool)
        parts.append(sp.csr_array(visited > own))
    return sp.csr_array(sp.vstack(parts))


def _ancestors(tree: LabelTree) -> Any:
    """Return the nodes above each label as CSR (n_labels, n_nodes)."""
    labels = np.flatnonzero(tree.label_parent >= 0)
    nodes = tree.label_parent[labels]
    rows, columns = [labels], [nodes]
    while len(labels) > 0:
        nodes = tree.parent[nodes]
        labels, nodes = labels[nodes >= 0], nodes[nodes >= 0]
        rows.append(labels)
        columns.append(nodes)
    at = (np.concatenate(rows), np.concatenate(columns))
    ones = np.ones(len(at[0]), dtype=np.float32)
    return sp.csr_array((ones, at), shape=(tree.n_labels, tree.n_nodes))
