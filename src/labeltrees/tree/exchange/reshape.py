"""Changing a tree for other programs: place all labels, remove labels, remove nodes with one child."""

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
    """Put the unplaced labels, if there are any, below a new node, the last child of the root."""
    unplaced = tree.unplaced_labels
    if len(unplaced) == 0:
        return tree
    n_root, new_node = int(tree.child_ptr[1]), np.array([tree.n_nodes], dtype=np.int32)
    children = np.concatenate((tree.children[:n_root], new_node, tree.children[n_root:], ~unplaced.astype(np.int32)))
    child_ptr = np.append(tree.child_ptr, len(children))
    child_ptr[1:-1] += 1
    return tree._adopt(TreeArrays(child_ptr, children, tree.n_labels))


def labels_to_keep(unplaced_labels: ArrayLike | None, n_labels: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which labels to place in a tree that is read: all except `unplaced_labels`."""
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
    """Remove labels and the nodes left without labels; with `splice`, replace a node with one child by that child.

    Parameters
    ----------
    owner : array of int64 (n_entries,)
        The parent node of each entry, ascending.
    entries : array of int32 (n_entries,)
        Children as in `LabelTree`; every node except 0 is an entry once, of a smaller owner.
    n_nodes : int
    keep : array of bool (n_labels,)
        The labels to keep; each is an entry at most once.
    """
    is_node = entries >= 0
    n_below = _count_below(owner, entries, n_nodes, keep)
    if n_below[0] == 0:
        message = "no label remains in the tree"
        raise InputError(message)
    kept = np.where(is_node, n_below[np.where(is_node, entries, 0)] > 0, keep[np.where(is_node, 0, ~entries)])
    owner, entries = owner[kept], entries[kept]
    # target: the replacement of each node; a node with one child is replaced by the child.
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
    if target[0] < 0:  # one label remains: it stays below the root
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
