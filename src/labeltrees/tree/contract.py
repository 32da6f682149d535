"""Contraction: a binary tree made wide."""

from __future__ import annotations

from typing import Any

from labeltrees import _core
from labeltrees._validation import check_integer
from labeltrees.tree import arrays
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree


def contract(tree: LabelTree, fanout: int, mass: Any = None, *, leaf_size: int = 1) -> LabelTree:
    """Return `tree` with at most `fanout` children a node, frequent labels nearer to the root.

    From the root down, the heaviest node among a node's children gives its place to its own children, again and again,
    while no more than `fanout` of them stand side by side. Single labels become direct children at any level.

    Parameters
    ----------
    tree : LabelTree
        Usually binary.
    fanout : int
        At least 2. A node that has more children already keeps them.
    mass : array (n_nodes,), optional
        What makes a node heavy; by default ``tree.mass()``.
    leaf_size : int
        Above 1, nodes that hold only labels are leaves and are kept whole.

    Examples
    --------
    >>> import labeltrees as lt
    >>> binary = lt.huffman_tree([0.5, 0.2, 0.1, 0.1, 0.1])
    >>> binary.label_depth, lt.contract(binary, 4).label_depth
    (array([1, 3, 3, 3, 3], dtype=int32), array([1, 1, 1, 2, 2], dtype=int32))
    """
    fanout = check_integer("fanout", fanout, 2)
    leaf_size = check_integer("leaf_size", leaf_size, 1)
    heavy = tree.mass() if mass is None else arrays.check_weights("mass", mass, tree.n_nodes, each="node")
    child_ptr, children = _core.contract_tree(tree.child_ptr, tree.children, heavy, fanout, leaf_size > 1)
    parts = TreeArrays(child_ptr, children, tree.n_labels, tree.label_names, tree.label_weights)
    return LabelTree._adopt(parts).renumbered()
