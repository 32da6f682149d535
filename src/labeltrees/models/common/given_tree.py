"""A given tree, prepared for training: labels without points are removed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import CheckedY, Float64s
from labeltrees._validation import refuse
from labeltrees.labels.frequency import label_frequencies
from labeltrees.tree.baselines import flat_tree
from labeltrees.tree.label_tree import LabelTree


def given_tree(tree: LabelTree | str, Y: CheckedY, sample_weight: Float64s | None = None) -> LabelTree:
    """Return the tree to train for a given tree, or for "flat": only labels with points are placed."""
    return place_labels(tree, Y.n_labels, label_frequencies(Y, sample_weight))


def place_labels(tree: LabelTree | str, n_labels: int, frequencies: Float64s) -> LabelTree:
    """Return the tree to train for a given tree, or for "flat": only labels of a frequency above 0 are placed."""
    if isinstance(tree, str):
        return flat_tree(n_labels, frequencies=frequencies)
    if tree.n_labels != n_labels:
        refuse("tree", f"a LabelTree over the {n_labels} labels of Y", tree)
    return keep_labels(tree, frequencies > 0)


def keep_labels(tree: LabelTree, kept: NDArray[np.bool_]) -> LabelTree:
    """Return `tree` with only the `kept` labels (L,) placed, and without the nodes that have none of them below.

    The order of nodes and children does not change. If all labels are kept, `tree` itself is returned.

    Examples
    --------
    >>> import numpy as np
    >>> tree = LabelTree([0, 2, 4, 5], [1, 2, ~0, ~1, ~2], n_labels=3)
    >>> keep_labels(tree, np.array([False, True, False])).children.tolist()
    [1, -2]
    """
    children = tree.children
    is_label = children < 0
    n_kept = tree.mass(kept.astype(np.float64))  # of the labels below each node
    if not n_kept[0] > 0:
        refuse("tree", "a LabelTree with some of the labels of Y placed", tree)
    stays = np.empty(len(children), dtype=bool)
    stays[is_label] = kept[~children[is_label]]
    stays[~is_label] = n_kept[children[~is_label]] > 0
    if stays.all():
        return tree
    has_any = n_kept > 0
    new_id: Any = (np.cumsum(has_any) - 1).astype(np.int32)
    renumbered = children.copy()
    renumbered[~is_label] = new_id[children[~is_label]]
    n_children = np.add.reduceat(stays.astype(np.int64), tree.child_ptr[:-1])[has_any]
    child_ptr = np.concatenate([[0], np.cumsum(n_children)])
    return LabelTree(
        child_ptr,
        renumbered[stays],
        tree.n_labels,
        label_names=tree.label_names,
        label_weights=tree.label_weights,
    )
