"""Views of a tree for display: its top levels, or the path to one label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s, Int32s
from labeltrees.tree.label_tree import LabelTree

_EXAMPLES = 3


@dataclass(frozen=True)
class LabelView:
    """A label in a view."""

    label: int
    name: str
    mass: float
    depth: int

    def record(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {"label": self.label, "name": self.name, "mass": self.mass, "depth": self.depth}


@dataclass(frozen=True)
class NodeView:
    """A node in a view, with its heaviest children and the amount left out."""

    node: int
    mass: float
    depth: int
    n_labels: int
    n_children: int
    examples: list[str]  # the heaviest labels below
    children: list[NodeView | LabelView] = field(default_factory=list)
    n_more_labels: int = 0  # below children that are not shown
    mass_of_more: float = 0.0

    def record(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return {
            "node": self.node,
            "mass": self.mass,
            "depth": self.depth,
            "n_labels": self.n_labels,
            "n_children": self.n_children,
            "examples": self.examples,
            "children": [child.record() for child in self.children],
            "n_more_labels": self.n_more_labels,
            "mass_of_more": self.mass_of_more,
        }


class TreeViewer:
    """Makes views of a tree.

    Parameters
    ----------
    tree : LabelTree
    label_names : sequence of str (L,), optional
        By default those of the tree.
    n_examples : int
        Number of labels to name for a node.
    """

    def __init__(self, tree: LabelTree, label_names: Any = None, n_examples: int = _EXAMPLES) -> None:
        self.tree = tree
        self._n_examples = n_examples
        self._names = tree.label_names if label_names is None else label_names
        self._mass: Float64s = tree.mass()
        equal = np.full(tree.n_labels, 1 / tree.n_labels_below[0])
        self._weights: Float64s = equal if tree.label_weights is None else tree.label_weights
        self._order: Int32s = tree.leaf_order()

    def name(self, label: int) -> str:
        """Return the name to show for a label."""
        return f"label {label}" if self._names is None else str(self._names[label])

    def examples(self, node: int) -> list[str]:
        """Return the names of the heaviest labels below a node."""
        return self._heaviest(int(self.tree._leaf_layout[1][node]), int(self.tree.n_labels_below[node]))

    def top(self, depth: int, width: int | Sequence[int]) -> NodeView:
        """Return the root with `depth` levels below it, each node with its `width` heaviest children.

        If `width` is a sequence, it has the width for each depth, and `depth` is ignored.
        """
        return self._node(0, 0, 0, [width] * depth if isinstance(width, int) else list(width))

    def path_to(self, label: int) -> tuple[list[NodeView], LabelView]:
        """Return the nodes from the root to the parent of `label`, and the label."""
        start, nodes = 0, []
        path = self.tree.path(label).tolist()
        for depth, node in enumerate(path):
            if depth > 0:
                children, starts, _ = self._children(path[depth - 1], start)
                start = int(starts[np.flatnonzero(children == node)[0]])
            nodes.append(self._node(node, start, depth, []))
        return nodes, self._label(label, len(path))

    def _label(self, label: int, depth: int) -> LabelView:
        return LabelView(label, self.name(label), float(self._weights[label]), depth)

    def _node(self, node: int, start: int, depth: int, widths: list[int]) -> NodeView:
        """Return the view of a node whose labels start at `start` in the leaf order."""
        children, starts, masses = self._children(node, start)
        shown: list[NodeView | LabelView] = []
        # Heaviest first; of equal masses the first child.
        for place in np.argsort(-masses, kind="stable")[: widths[0] if widths else 0]:
            child = int(children[place])
            if child < 0:
                shown.append(self._label(~child, depth + 1))
            else:
                shown.append(self._node(child, int(starts[place]), depth + 1, widths[1:]))
        n_labels = int(self.tree.n_labels_below[node])
        n_shown = sum(child.n_labels if isinstance(child, NodeView) else 1 for child in shown)
        return NodeView(
            node=node,
            mass=float(self._mass[node]),
            depth=depth,
            n_labels=n_labels,
            n_children=len(children),
            examples=self._heaviest(start, n_labels),
            children=shown,
            n_more_labels=n_labels - n_shown,
            mass_of_more=max(float(self._mass[node]) - sum(child.mass for child in shown), 0.0),
        )

    def _children(self, node: int, start: int) -> tuple[Any, Any, Any]:
        """Return a node's children, the start of each child's labels in the leaf order, and the children's masses."""
        tree = self.tree
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
        sizes, masses = np.ones(len(children), dtype=np.int64), np.empty(len(children))
        is_node = children >= 0
        sizes[is_node] = tree.n_labels_below[children[is_node]]
        masses[is_node] = self._mass[children[is_node]]
        masses[~is_node] = self._weights[~children[~is_node]]
        return children, start + np.cumsum(sizes) - sizes, masses

    def _heaviest(self, start: int, n_labels: int) -> list[str]:
        """Return the names of the heaviest of `n_labels` labels from position `start` of the leaf order."""
        labels = self._order[start : start + n_labels]
        if n_labels > self._n_examples:
            labels = labels[np.argpartition(-self._weights[labels], self._n_examples)[: self._n_examples]]
        return [self.name(int(label)) for label in sorted(labels, key=lambda label: (-self._weights[label], label))]
