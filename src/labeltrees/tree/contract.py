"""Contraction: making the nodes of a binary tree wider."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees._validation import Fanout, check_fanout, check_integer, refuse
from labeltrees.tree import arrays
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.search_cost import SearchCost


def contract(
    tree: LabelTree, fanout: Fanout, mass: Any = None, *, leaf_size: int = 1, cost: SearchCost | None = None
) -> LabelTree:
    """Return `tree` with at most `fanout` children per node, and frequent labels nearer to the root.

    From the root down, the heaviest node among a node's children is replaced by its own children, again and again,
    while the node has no more than `fanout` children. Single labels become direct children at any level.

    With ``fanout="auto"`` the nodes to keep are chosen to minimise the expected cost of a search (`SearchCost`). The
    choice is optimal for that cost: many children where this pays off, usually at the root, and few elsewhere.

    Parameters
    ----------
    tree : LabelTree
        Usually binary.
    fanout : int or "auto"
        At least 2. A node that already has more children keeps them.
    mass : array (n_nodes,), optional
        The weights of the nodes; by default ``tree.mass()``.
    leaf_size : int
        If above 1, nodes that have only labels are leaves and are kept.
    cost : SearchCost, optional
        The cost for ``fanout="auto"``.

    Examples
    --------
    >>> import labeltrees as lt
    >>> binary = lt.huffman_tree([0.5, 0.2, 0.1, 0.1, 0.1])
    >>> binary.label_depth, lt.contract(binary, 4).label_depth
    (array([1, 3, 3, 3, 3], dtype=int32), array([1, 1, 1, 2, 2], dtype=int32))
    """
    fanout = check_fanout("fanout", fanout)
    cost = check_cost("cost", cost, fanout)
    leaf_size = check_integer("leaf_size", leaf_size, 1)
    heavy = tree.mass() if mass is None else arrays.check_weights("mass", mass, tree.n_nodes, each="node")
    if fanout == "auto":
        child_ptr, children = _for_cost(tree, heavy, cost or SearchCost(), leaf_size > 1)
    else:
        child_ptr, children = _core.contract_tree(tree.child_ptr, tree.children, heavy, fanout, leaf_size > 1)
    parts = TreeArrays(child_ptr, children, tree.n_labels, tree.label_names, tree.label_weights)
    return LabelTree._adopt(parts).renumbered()


def _for_cost(tree: LabelTree, mass: Float64s, cost: SearchCost, keep_leaves: bool) -> tuple[Int64s, Int32s]:
    widest = max(cost.most_children, int(np.diff(tree.child_ptr).max()))
    cost_of = cost.of_width(np.arange(widest + 1)) + cost.level
    visits = cost.visits_of(mass)
    return _core.contract_for_cost(
        tree.child_ptr, tree.children, visits, cost_of, cost.most_children, keep_leaves=keep_leaves
    )


def check_cost(name: str, value: Any, fanout: Fanout) -> SearchCost | None:
    """Return `value` if it is None, or a cost and `fanout` is "auto"."""
    if value is None:
        return None
    if not isinstance(value, SearchCost):
        refuse(name, "None or a SearchCost", value)
    if fanout != "auto":
        refuse(name, "None unless fanout is 'auto'", value)
    return value
