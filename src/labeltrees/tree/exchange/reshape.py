"""What the peers' forms need done to a tree: every label placed, labels left out, nodes of one child taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from labeltrees import _core
from labeltrees._validation import refuse
from labeltrees.errors import InputError
from labeltrees.tree.arrays import Int32s, Int64s, TreeArrays, as_integers

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


def place_all(tree: LabelTree) -> LabelTree:
    """Hang the unplaced labels below one more node, the last child of the root; a tree without any stays as it is."""
    unplaced = tree.unplaced_labels
    if len(unplaced) == 0:
        return tree
    n_root, new_node = int(tree.child_ptr[1]), np.array([tree.n_nodes], dtype=np.int32)
    children = np.concatenate((tree.children[:n_root], new_node, tree.children[n_root:], ~unplaced.astype(np.int32)))
    child_ptr = np.append(tree.child_ptr, len(children))
    child_ptr[1:-1] += 1
    return tree._adopt(TreeArrays(child_ptr, children, tree.n_labels))


def labels_to_keep(unplaced_labels: ArrayLike | None, n_labels: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which labels a tree that is read should place: all but `unplaced_labels`."""
    keep = np.ones(n_labels, dtype=bool)
    if unplaced_labels is not None:
        labels = as_integers("unplaced_labels", unplaced_labels, np.int64)
        if labels.size > 0 and not 0 <= labels.min() <= labels.max() < n_labels:
            refuse("unplaced_labels", f"within [0, {n_labels - 1}]", f"{labels.min()} to {labels.max()}")
        keep[labels] = False
        if not keep.any():
            refuse("unplaced_labels", "fewer than all labels of the tree", f"all {n_labels}")
    return keep


def prune(
    owner: Int64s, entries: Int32s, n_nodes: int, keep: np.ndarray[Any, np.dtype[np.bool_]], *, splice: bool
) -> TreeArrays:
    """Leave out labels and the nodes that then hold none; where `splice`, a node of one child gives way to it.

    Parameters
    ----------
    owner : array of int64 (n_entries,)
        The node each entry is a child of, rising.
    entries : array of int32 (n_entries,)
        Children as in `LabelTree`; every node but 0 is an entry once, of a smaller owner.
    n_nodes : int
    keep : array of bool (n_labels,)
        The labels to keep; each is an entry at most once.
    """
    is_node = entries >= 0
    n_below = _count_below(owner, entries, n_nodes, keep)
    if n_below[0] == 0:
        message = "no label is left in the tree"
        raise InputError(message)
    kept = np.where(is_node, n_below[np.where(is_node, entries, 0)] > 0, keep[np.where(is_node, 0, ~entries)])
    owner, entries = owner[kept], entries[kept]
    # target: what stands in a node's place; a node of one child hands on to that child.
    target = np.arange(n_nodes, dtype=np.int32)
    if splice:
        n_children = np.bincount(owner, minlength=n_nodes)
        lone = n_children[owner] == 1
        target[owner[lone]] = entries[lone]
        while True:
            further = np.where(target >= 0, target[np.maximum(target, 0)], target)
            if np.array_equal(further, target):
                break
            target = further
    if target[0] < 0:  # one label is left: the root keeps it
        owner, entries = np.zeros(1, dtype=np.int64), target[:1].copy()
        target[0] = 0
    entries = np.where(entries >= 0, target[np.maximum(entries, 0)], entries)
    stays = (target == np.arange(n_nodes)) & (n_below > 0)
    held = stays[owner]
    owner, entries = owner[held], entries[held]
    new_id = (np.cumsum(stays) - 1).astype(np.int32)
    children = np.where(entries >= 0, new_id[np.maximum(entries, 0)], entries)
    counts = np.bincount(new_id[owner], minlength=int(stays.sum()))
    return TreeArrays(np.concatenate(([0], np.cumsum(counts))), children, len(keep))


def _count_below(
    owner: Int64s, entries: Int32s, n_nodes: int, keep: np.ndarray[Any, np.dtype[np.bool_]]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    parent = np.full(n_nodes, -1, dtype=np.int32)
    parent[entries[entries >= 0]] = owner[entries >= 0]
    child_ptr = np.searchsorted(owner, np.arange(n_nodes + 1)).astype(np.int64)
    total = np.empty(n_nodes, dtype=np.int64)
    _core.tree_counts(child_ptr, np.ascontiguousarray(entries), parent, keep.astype(np.int64), total)
    return total
