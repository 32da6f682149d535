"""The top of a tree, or the path to one label, as text."""

from __future__ import annotations

import difflib

import numpy as np
from rich.text import Text
from rich.tree import Tree as TextTree

from labeltrees.cli.output import plural, printable
from labeltrees.errors import InputError
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import LabelView, NodeView

_MAX_COMPARED = 20_000


def label_line(view: LabelView) -> Text:
    """Return a label as a line of text."""
    return Text.assemble((printable(view.name), "bold"), f"  mass {_mass(view.mass)}, depth {view.depth}")


def node_line(view: NodeView) -> Text:
    """Return a node as a line of text."""
    name = "root" if view.node == 0 else f"node {view.node}"
    children = "child" if view.n_children == 1 else "children"
    counts = f"  mass {_mass(view.mass)}, {plural(view.n_labels, 'label')}, {view.n_children} {children}"
    text = Text.assemble((name, "cyan"), counts)
    if view.node != 0 and not view.children:
        text.append("  " + ", ".join(map(printable, view.examples)), "dim")
        text.append(", ..." if view.n_labels > len(view.examples) else "", "dim")
    return text


def as_text(view: NodeView, above: TextTree | None = None) -> TextTree:
    """Return a node and everything shown below it as indented text."""
    tree = TextTree(node_line(view)) if above is None else above.add(node_line(view))
    for child in view.children:
        if isinstance(child, NodeView):
            as_text(child, tree)
        else:
            tree.add(label_line(child))
    if view.children and view.n_more_labels > 0:
        tree.add(Text(f"... {plural(view.n_more_labels, 'more label')}, mass {_mass(view.mass_of_more)}", "dim"))
    return tree


def find_label(tree: LabelTree, label_or_id: str) -> int:
    """Return the id of a label, given its name or, if no label has that name, its id."""
    names = tree.label_names
    if names is not None:
        same = np.flatnonzero(names == label_or_id)
        if len(same) > 0:
            return int(same[0])
    if label_or_id.isascii() and label_or_id.isdigit() and int(label_or_id) < tree.n_labels:
        return int(label_or_id)
    if names is None:
        message = f"no label {label_or_id!r}: the labels have no names; use an id from 0 to {tree.n_labels - 1}"
        raise InputError(message)
    near = _near(label_or_id, [str(name) for name in names])
    message = f"no label {label_or_id!r}" + (f"; did you mean {', '.join(map(repr, near))}?" if near else "")
    raise InputError(message)


def _near(label_or_id: str, names: list[str]) -> list[str]:
    """Return up to five similar names: first those that contain the given one, then those with a similar spelling."""
    folded = label_or_id.casefold()
    containing = sorted((name for name in names if folded in name.casefold()), key=lambda name: (len(name), name))
    # Comparing spellings is slow: only names of similar length, and not all of millions.
    alike = [name for name in names if abs(len(name) - len(label_or_id)) <= 2][:_MAX_COMPARED]
    return list(dict.fromkeys(containing[:5] + difflib.get_close_matches(label_or_id, alike, n=5)))[:5]


def _mass(mass: float) -> str:
    return f"{mass:.4f}" if mass >= 0.001 else f"{mass:.2g}"
