"""The nodes that a search had to open: the ancestors of the labels it returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Int64s
from labeltrees.profiling.counts import Visits
from labeltrees.tree.label_tree import LabelTree


def ancestors_of(tree: LabelTree, labels: Any) -> Int64s:
    """Return the ancestors of each query's labels as ``query * n_nodes + node``, ascending and distinct.

    Parameters
    ----------
    tree : LabelTree
    labels : array of int (n, k)
        Padded with -1. Labels that are not in the tree have no ancestors.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3)
    >>> ancestors_of(tree, np.array([[0, -1], [0, 2]])).tolist()
    [0, 2, 3]
    """
    labels = np.asarray(labels, np.int64)
    query = np.repeat(np.arange(len(labels)), labels.shape[1])
    node = np.where(labels >= 0, tree.label_parent[labels], -1).reshape(-1).astype(np.int64)
    found = [np.zeros(0, np.int64)]
    while True:
        query, node = query[node >= 0], node[node >= 0]
        if len(node) == 0:
            return np.unique(np.concatenate(found))
        found.append(np.unique(query * tree.n_nodes + node))
        query, node = np.divmod(found[-1], tree.n_nodes)
        node = tree.parent[node].astype(np.int64)


def mark_oracle(
    trees: Sequence[LabelTree], labels: Any, visits: Visits, *, skip_single_children: bool = False
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Return how many nodes (n,) an oracle would have opened, and which visits are to such nodes.

    An oracle knows the labels to return and opens only their ancestors. `skip_single_children` leaves out nodes with a
    single child, which a search passes without evaluating a classifier.
    """
    number = np.zeros(len(labels), np.int64)
    marked = np.zeros(len(visits.nodes), bool)
    for place, tree in enumerate(trees):
        keys = ancestors_of(tree, labels)
        if skip_single_children:
            keys = keys[np.diff(tree.child_ptr)[keys % tree.n_nodes] > 1]
        number += np.bincount(keys // tree.n_nodes, minlength=len(labels))
        own = visits.trees == place
        marked[own] = np.isin(visits.queries[own] * tree.n_nodes + visits.nodes[own], keys)
    return number, marked
