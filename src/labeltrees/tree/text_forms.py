"""Trees as text for drawing programs: Newick and Graphviz. No recursion, because a tree may be thousands high."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from labeltrees._validation import check_integer
from labeltrees.tree.arrays import Names, check_names

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree

# Newick reads an underscore outside quotes as a space.
_PLAIN_NEWICK = re.compile(r"[^\s()\[\]{}:;,'\"_]+")


def tree_to_newick(tree: LabelTree, label_names: Sequence[str] | Names | None = None) -> str:
    """Return the tree in Newick format."""
    names = _names_of(tree, label_names)
    pieces: list[str] = []
    # A string is written as it is; an integer is a child to descend into.
    waiting: list[int | str] = [";", 0]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif item < 0:
            pieces.append(_quote_newick(_name(names, ~item)))
        else:
            children = tree.children[tree.child_ptr[item] : tree.child_ptr[item + 1]].tolist()
            pieces.append("(")
            waiting.append(")")
            for child in children[:0:-1]:
                waiting += [child, ","]
            waiting.append(children[0])
    return "".join(pieces)


def _quote_newick(name: str) -> str:
    if _PLAIN_NEWICK.fullmatch(name):
        return name
    return "'" + name.replace("'", "''") + "'"


def tree_to_dot(
    tree: LabelTree,
    max_depth: int | None = None,
    *,
    max_children: int | None = None,
    label_names: Sequence[str] | Names | None = None,
    weights: ArrayLike | None = None,
) -> str:
    """Return the tree as a Graphviz digraph."""
    if max_depth is not None:
        max_depth = check_integer("max_depth", max_depth, 0)
    if max_children is not None:
        max_children = check_integer("max_children", max_children, 1)
    names, mass, below = _names_of(tree, label_names), tree.mass(weights), tree.n_labels_below
    lines = ["digraph LabelTree {", "  node [shape=ellipse];"]
    # Parents come before their children, so one pass in order of id is enough.
    drawn = np.zeros(tree.n_nodes, dtype=bool)
    drawn[0] = True
    for node in range(tree.n_nodes):
        if not drawn[node]:
            continue
        lines.append(f'  n{node} [label="{node}\\nmass {mass[node]:.3g}\\n{below[node]} labels"];')
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
        if max_depth is not None and tree.node_depth[node] >= max_depth:
            lines.append(f'  m{node} [shape=plaintext, label="..."];')
            lines.append(f"  n{node} -> m{node};")
            continue
        for child in children[:max_children].tolist():
            if child >= 0:
                drawn[child] = True
                lines.append(f"  n{node} -> n{child};")
            else:
                lines.append(f'  l{~child} [shape=box, label="{_escape_dot(_name(names, ~child))}"];')
                lines.append(f"  n{node} -> l{~child};")
        if max_children is not None and len(children) > max_children:
            lines.append(f'  m{node} [shape=plaintext, label="{len(children) - max_children} more"];')
            lines.append(f"  n{node} -> m{node};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _escape_dot(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", "\\n")
    return "".join(" " if ord(letter) < 32 else letter for letter in text)


def _names_of(tree: LabelTree, label_names: Sequence[str] | Names | None) -> Names | None:
    return tree.label_names if label_names is None else check_names(label_names, tree.n_labels)


def _name(names: Names | None, label: int) -> str:
    return str(label) if names is None else str(names[label])
