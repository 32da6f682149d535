"""Contraction: making the nodes of a binary tree wider."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees._validation import Fanout, check_fanout, check_integer, check_number, refuse
from labeltrees.tree import arrays
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


def contract(
    tree: LabelTree, fanout: Fanout, mass: Any = None, *, leaf_size: int = 1, cost: SearchCost | None = None
) -> LabelTree:
    """Return `tree` with at most `fanout` children per node, and frequent labels nearer to the root.

    From the root down, the heaviest node among a node's children is replaced by its own children, repeatedly, as long
    as the node then has at most `fanout` children. Single labels become direct children at any level.

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
    """Return `value`; raise `InputError` unless it is None, or a `SearchCost` and `fanout` is "auto"."""
    if value is None:
        return None
    if not isinstance(value, SearchCost):
        refuse(name, "None or a SearchCost", value)
    if fanout != "auto":
        refuse(name, "None unless fanout is 'auto'", value)
    return value


MOST_CHILDREN = 256  # per part of a chunk


@dataclass(frozen=True)
class SearchCost:
    """The cost model that ``fanout="auto"`` minimises.

    The odds that a search visits a node are `answers` times the odds that one label, drawn by its weight, is below it:
    with the node's mass m the probability is answers * m / (1 + (answers - 1) * m). A visit to a node with at
    most `narrow` children costs `visit`, whatever their number, because they are scored together in one vector. A visit
    to a wider node costs `wide` more, and `block` for each block of `block_size` children after the first. The unit
    does not matter for the choice of a tree; the default unit is one visit to a narrow node.

    Trees are built for this cost plus `level` per visit. That term is for precision, not for time: every node on the
    path to a label is one more place where the search can go wrong. With 0 the tree is as fast as possible; with more
    it is wider and more precise.

    The defaults are fixed numbers, so that the same data give the same tree on every machine. They were measured on
    real datasets with sparse features (decision 7). Only their ratios matter.

    Parameters
    ----------
    visit, wide, block, level : float
    narrow, block_size : int
    most_children : int in [2, 256]
        Maximum number of children per node.
    answers : float

    Examples
    --------
    >>> import labeltrees as lt
    >>> cost = SearchCost(visit=1.0, wide=0.5, block=2.0)
    >>> cost.of_width([2, 16, 17, 64, 65]).tolist()
    [1.0, 1.0, 1.5, 1.5, 3.5]
    """

    visit: float = 1.0
    wide: float = 1.0
    block: float = 1.2
    level: float = 0.5
    narrow: int = 16
    block_size: int = 64
    most_children: int = MOST_CHILDREN
    answers: float = 5.0

    def __post_init__(self) -> None:
        for name in ("visit", "wide", "block", "level"):
            object.__setattr__(self, name, check_number(name, getattr(self, name), 0, 1e12))
        if not any(getattr(self, field.name) > 0 for field in fields(self)[:3]):
            refuse("visit, wide and block", "not all 0", 0)
        object.__setattr__(self, "narrow", check_integer("narrow", self.narrow, 0))
        object.__setattr__(self, "block_size", check_integer("block_size", self.block_size, 1))
        object.__setattr__(self, "most_children", check_integer("most_children", self.most_children, 2, MOST_CHILDREN))
        object.__setattr__(self, "answers", check_number("answers", self.answers, 0, 1e6, low_open=True))

    def of_width(self, n_children: ArrayLike) -> Float64s:
        """Return the cost of a visit to a node with `n_children` children.

        More than 256 children are stored in several parts, each of which costs a visit.

        Examples
        --------
        >>> SearchCost(visit=1, wide=0, block=0).of_width([256, 257]).tolist()
        [1.0, 2.0]
        """
        n = np.asarray(n_children, dtype=np.int64)
        parts = np.maximum((n + MOST_CHILDREN - 1) // MOST_CHILDREN, 1)
        blocks = np.maximum((n + self.block_size - 1) // self.block_size - parts, 0)
        return self.visit * parts + np.where(n > self.narrow, self.wide * parts + self.block * blocks, 0.0)

    def visits(self, mass: ArrayLike) -> Float64s:
        """Return the probability that a search visits a node with a `mass`, given as a share of the root's mass.

        Examples
        --------
        >>> SearchCost(answers=3).visits([1.0, 0.5, 0.0]).tolist()
        [1.0, 0.75, 0.0]
        """
        share = np.minimum(np.asarray(mass, dtype=np.float64), 1.0)
        return self.answers * share / (1.0 + (self.answers - 1.0) * share)

    def expected(self, tree: LabelTree, weights: Any = None) -> float:
        """Return the expected cost of a search of `tree`, with label `weights` as in `LabelTree.mass`.

        This is the time only, without `level`.

        Examples
        --------
        >>> import labeltrees as lt
        >>> binary = lt.random_tree(1000)
        >>> cost = SearchCost(level=0)
        >>> auto, fixed = lt.contract(binary, "auto", cost=cost), lt.contract(binary, 16)
        >>> cost.expected(auto) < cost.expected(fixed) < cost.expected(binary)
        True
        """
        visits = self.visits_of(tree.mass(weights))
        return float(np.dot(visits, self.of_width(np.diff(tree.child_ptr))))

    def visits_of(self, mass: Float64s) -> Float64s:
        """Return `visits` for the masses of a tree's nodes (n_nodes,), the root's first."""
        if not mass[0] > 0:
            refuse("mass", "positive at the root", float(mass[0]))
        visits = self.visits(mass / mass[0])
        visits[0] = 1.0
        return visits
