"""LabelTree: the type of all trees, from builders to models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from labeltrees import _core
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError
from labeltrees.tree import arrays
from labeltrees.tree.arrays import Float64s, Int32s, Int64s, Names, TreeArrays
from labeltrees.tree.forms import TreeForms
from labeltrees.tree.measures import TreeSummary, expected_depth_or_nan, summarize


class LabelTree(TreeForms):
    """A read-only tree over labels, stored as two flat arrays.

    Node ``i`` has the children ``children[child_ptr[i]:child_ptr[i + 1]]``: an entry ``>= 0`` is a node, an entry
    ``< 0`` is ``~label``. A node may have both nodes and labels as children. The constructor checks
    that the root is node 0, that every other node is the child of exactly one node with a smaller id, that every node
    has a child, and that every label occurs at most once. A label that does not occur is in `unplaced_labels` and is
    never predicted.

    Parameters
    ----------
    child_ptr : array of int64 (n_nodes + 1,)
    children : array of int32 (child_ptr[-1],)
    n_labels : int
    label_names : sequence of str (n_labels,), optional
    label_weights : array of float64 (n_labels,), optional
        The weights that the tree was built with (the root's f(tradeoff)): the default for `mass` and `expected_depth`.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3, label_weights=[0.5, 0.25, 0.25])
    >>> tree
    LabelTree(n_labels=3, n_nodes=2, height=2, expected_depth=1.5)
    >>> tree.label_depth
    array([1, 2, 2], dtype=int32)
    """

    def __init__(
        self,
        child_ptr: ArrayLike,
        children: ArrayLike,
        n_labels: int,
        *,
        label_names: Sequence[str] | Names | None = None,
        label_weights: ArrayLike | None = None,
    ) -> None:
        checked_ptr, checked_children, n_labels = arrays.check_shape(child_ptr, children, n_labels)
        names = weights = None
        if label_names is not None:
            names = arrays.freeze(arrays.check_names(label_names, n_labels))
        if label_weights is not None:
            weights = arrays.check_weights("label_weights", label_weights, n_labels)
            weights = arrays.frozen(weights, label_weights)
        self._set(
            arrays.frozen(checked_ptr, child_ptr), arrays.frozen(checked_children, children), n_labels, names, weights
        )
        self._parents  # noqa: B018  checks the tree

    @classmethod
    def _adopt(cls, parts: TreeArrays, *, check: bool = True) -> Self:
        """Make a tree without copies: the caller gives up the arrays. If not `check`, they are checked on first use."""
        tree = cls.__new__(cls)
        child_ptr, children, n_labels = arrays.check_shape(*parts[:3])
        tree._set(child_ptr, children, n_labels, parts.label_names, parts.label_weights)
        for array in (child_ptr, children, parts.label_names, parts.label_weights):
            if array is not None:
                arrays.freeze(array)
        if check:
            tree._parents  # noqa: B018
        else:
            tree.__dict__["_unchecked"] = tree.__dict__.pop("child_ptr"), tree.__dict__.pop("children")
        return tree

    def __getattr__(self, name: str) -> Any:
        """Check the two arrays of a tree from a file when one of them is first used: every method needs them."""
        unchecked = self.__dict__.get("_unchecked")
        if name not in ("child_ptr", "children") or unchecked is None:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)
        child_ptr, children = unchecked
        parents = arrays.find_parents(child_ptr, children, self.n_labels)
        self.__dict__.update(child_ptr=child_ptr, children=children, _parents=parents)
        del self.__dict__["_unchecked"]
        return self.__dict__[name]

    def _set(
        self, child_ptr: Int64s, children: Int32s, n_labels: int, names: Names | None, weights: Float64s | None
    ) -> None:
        self.__dict__.update(
            child_ptr=child_ptr, children=children, n_labels=n_labels, label_names=names, label_weights=weights
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a LabelTree cannot be changed: {name}"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"a LabelTree cannot be changed: {name}"
        raise AttributeError(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), *self._parts)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same nodes and children in the same order; names and weights are not compared."""
        if not isinstance(other, LabelTree):
            return NotImplemented
        return (
            self.n_labels == other.n_labels
            and np.array_equal(self.child_ptr, other.child_ptr)
            and np.array_equal(self.children, other.children)
        )

    def __hash__(self) -> int:
        return hash((self.n_labels, self.n_nodes, self.children[:64].tobytes()))

    def __repr__(self) -> str:
        unplaced = f", unplaced={len(self.unplaced_labels)}" if len(self.unplaced_labels) > 0 else ""
        return (
            f"{type(self).__name__}(n_labels={self.n_labels}, n_nodes={self.n_nodes}, height={self.height}, "
            f"expected_depth={expected_depth_or_nan(self):.4g}{unplaced})"
        )

    # Computed from the two arrays on first use.

    @cached_property
    def _parents(self) -> tuple[Int32s, Int32s]:
        return arrays.find_parents(self.child_ptr, self.children, self.n_labels)

    @cached_property
    def _depths(self) -> tuple[Int32s, Int32s]:
        node_depth, label_depth = np.empty(self.n_nodes, dtype=np.int32), np.empty(self.n_labels, dtype=np.int32)
        _core.tree_depths(self.child_ptr, self.children, *self._parents, node_depth, label_depth)
        return arrays.freeze(node_depth), arrays.freeze(label_depth)

    @property
    def n_nodes(self) -> int:
        """The number of internal nodes, including the root."""
        return len(self.child_ptr) - 1

    @property
    def parent(self) -> Int32s:
        """The parent of each node, -1 for the root (n_nodes,)."""
        return self._parents[0]

    @property
    def label_parent(self) -> Int32s:
        """The parent node of each label, -1 for an unplaced label (n_labels,)."""
        return self._parents[1]

    @property
    def node_depth(self) -> Int32s:
        """The number of edges from the root to each node (n_nodes,)."""
        return self._depths[0]

    @property
    def label_depth(self) -> Int32s:
        """The number of edges from the root to each label, -1 for an unplaced label (n_labels,)."""
        return self._depths[1]

    @cached_property
    def height(self) -> int:
        """The depth of the deepest label."""
        return int(self.label_depth.max())

    @cached_property
    def unplaced_labels(self) -> Int64s:
        """The labels that are not in the tree, ascending."""
        return arrays.freeze(np.flatnonzero(self.label_parent < 0))  # type: ignore[no-any-return]

    @cached_property
    def n_labels_below(self) -> Int64s:
        """The number of labels below each node (n_nodes,)."""
        total = np.empty(self.n_nodes, dtype=np.int64)
        ones = np.ones(self.n_labels, dtype=np.int64)
        _core.tree_counts(self.child_ptr, self.children, self.parent, ones, total)
        return arrays.freeze(total)  # type: ignore[no-any-return]

    def leaf_order(self) -> Int32s:
        """Return the placed labels from left to right (n_placed,).

        Examples
        --------
        >>> LabelTree([0, 2, 4], [1, ~2, ~1, ~0], n_labels=3).leaf_order()
        array([1, 0, 2], dtype=int32)
        """
        return self._leaf_layout[0]

    @cached_property
    def _leaf_layout(self) -> tuple[Int32s, Int64s]:
        """The labels from left to right, and for each node the position of its first label."""
        order = np.empty(self.n_labels_below[0], dtype=np.int32)
        start = np.empty(self.n_nodes, dtype=np.int64)
        _core.tree_leaf_order(self.child_ptr, self.children, self.n_labels_below, start, order)
        return arrays.freeze(order), arrays.freeze(start)

    def path(self, label: int) -> Int32s:
        """Return the nodes from the root to the parent of `label`.

        Examples
        --------
        >>> LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3).path(2)
        array([0, 1], dtype=int32)
        """
        label = check_integer("label", label, 0, self.n_labels - 1)
        node = int(self.label_parent[label])
        if node < 0:
            message = f"label {label} is not in the tree (see unplaced_labels)"
            raise InputError(message)
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = int(self.parent[node])
        return np.array(nodes[::-1], dtype=np.int32)

    # Computed from the arrays and the weights of the labels.

    def mass(self, weights: ArrayLike | None = None) -> Float64s:
        """Return the total weight of the labels below each node.

        Parameters
        ----------
        weights : array (n_labels,), optional
            By default `label_weights`; if the tree has none, equal weights of the placed labels that sum to 1.

        Returns
        -------
        array of float64 (n_nodes,)

        Examples
        --------
        >>> LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3).mass([0.5, 0.25, 0.25])
        array([1. , 0.5])
        """
        total = np.empty(self.n_nodes, dtype=np.float64)
        _core.tree_mass(self.child_ptr, self.children, self.parent, self._weights(weights), total)
        return total

    def expected_depth(self, weights: ArrayLike | None = None, *, count_label_edge: bool = True) -> float:
        """Return the mean depth of the placed labels under `weights` (as in `mass`).

        Without `count_label_edge`, the edge from the last node to the label does not count.

        Examples
        --------
        >>> LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3).expected_depth([2, 1, 1])
        1.5
        """
        checked = self._weights(weights)
        placed = self.label_depth >= 0
        total = float(checked.sum(where=placed))
        if not total > 0:
            refuse("weights", "positive for some label of the tree", total)
        return float(np.sum(checked * self.label_depth, where=placed)) / total - (not count_label_edge)

    def kraft_sum(self) -> float:
        """Return the sum of 2**-depth over the placed labels: 1 for a full binary tree.

        Examples
        --------
        >>> LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3).kraft_sum()
        1.0
        """
        count = np.bincount(self.label_depth[self.label_depth >= 0])
        return float(np.sum(np.ldexp(count.astype(np.float64), -np.arange(len(count)))))

    def _weights(self, weights: ArrayLike | None) -> Float64s:
        if weights is not None:
            return arrays.check_weights("weights", weights, self.n_labels)
        if self.label_weights is not None:
            return self.label_weights
        return np.full(self.n_labels, 1.0 / (self.n_labels - len(self.unplaced_labels)))

    def summary(self) -> TreeSummary:
        """Return the size and shape of the tree in numbers.

        Examples
        --------
        >>> LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3).summary().max_children
        2
        """
        return summarize(self)

    def renumbered(self, weights: ArrayLike | None = None) -> LabelTree:
        """Return the same tree with nodes numbered breadth-first, within a level by descending mass.

        Nodes that searches visit often are then close together in memory. The children of a node keep their order.

        Examples
        --------
        >>> tree = LabelTree([0, 2, 4, 6], [1, 2, ~0, ~1, ~2, ~3], n_labels=4)
        >>> tree.renumbered([1, 2, 3, 4]).children
        array([ 2,  1, -3, -4, -1, -2], dtype=int32)
        """
        child_ptr, children, _ = arrays.renumber(self.child_ptr, self.children, self.mass(weights))
        return self._adopt(TreeArrays(child_ptr, children, self.n_labels, self.label_names, self.label_weights))


def _unpickle(
    kind: type[LabelTree],
    child_ptr: Int64s,
    children: Int32s,
    n_labels: int,
    label_names: Names | None,
    label_weights: Float64s | None,
) -> LabelTree:
    return kind(child_ptr, children, n_labels, label_names=label_names, label_weights=label_weights)
