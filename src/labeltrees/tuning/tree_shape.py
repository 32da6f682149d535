"""The shape of a tree for a report: labels and mass at each depth, and the top of the tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import TreeViewer

_TOP_WIDTHS = (12, 5, 4)  # children shown per node, by depth


def tree_shape(tree: LabelTree, frequencies: Float64s, label_names: Any = None) -> dict[str, Any]:
    """Return labels and mass (share of label occurrences) at each depth, and the top of the tree, as plain records.

    Examples
    --------
    >>> import numpy as np
    >>> shape = tree_shape(LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3), np.array([0.5, 0.25, 0.25]))
    >>> shape["labels_per_depth"], shape["mass_per_depth"]
    ([0, 1, 2], [0.0, 0.5, 0.5])
    """
    placed = tree.label_depth >= 0
    depth = tree.label_depth[placed]
    return {
        "height": tree.height,
        "n_nodes": tree.n_nodes,
        "labels_per_depth": np.bincount(depth).tolist(),
        "mass_per_depth": np.bincount(depth, weights=frequencies[placed]).tolist(),
        "top": TreeViewer(tree, label_names).top(len(_TOP_WIDTHS), _TOP_WIDTHS).record(),
    }
