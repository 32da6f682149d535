"""Expected depth of the returned labels: the paper's proxy for search time."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees.errors import InputError
from labeltrees.metrics._hits import check_returned
from labeltrees.tree.label_tree import LabelTree


def expected_depth_at_k(tree: LabelTree, labels: Any, k: int, *, count_label_edge: bool = True) -> float:
    """Return the mean over points of the depth of the deepest of the first k returned labels.

    Parameters
    ----------
    tree : LabelTree
    labels : array of int (n, at least k)
        Label ids, best first, padded with -1. Points with no returned label are left out.
    k : int
    count_label_edge : bool
        Whether the edge from the last node to the label counts. If not, the depth of a label is that of the node that
        has it as a child: 1 less. The paper does not say which of the two it reports.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3)
    >>> expected_depth_at_k(tree, [[0, 1], [0, -1]], k=2)
    1.5
    >>> expected_depth_at_k(tree, [[0, 1], [0, -1]], k=2, count_label_edge=False)
    0.5
    """
    if not isinstance(tree, LabelTree):
        message = f"tree must be a LabelTree, got {type(tree).__name__}"
        raise InputError(message)
    returned = check_returned(labels, k, tree.n_labels)
    depth = np.where(returned >= 0, tree.label_depth[returned], 0)
    unplaced = (returned >= 0) & (depth < 0)
    if unplaced.any():
        row, column = np.argwhere(unplaced)[0]
        message = f"labels must be in the tree, got {returned[row, column]} in row {row}, which the tree does not have"
        raise InputError(message)
    answered = (returned >= 0).any(axis=1)
    if not answered.any():
        message = "labels must have at least one label, got only -1"
        raise InputError(message)
    return float(depth.max(axis=1)[answered].mean()) - (not count_label_edge)
