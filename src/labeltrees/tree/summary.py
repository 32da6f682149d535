"""The size and shape of a tree in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.errors import InputError

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


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
    """Return the expected depth, or NaN if only unplaced labels have weight: showing a tree must not fail."""
    try:
        return tree.expected_depth()
    except InputError:
        return float("nan")
