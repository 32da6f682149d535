"""The top of a tree, or the way to one label, as text."""

from __future__ import annotations

import difflib

import numpy as np
from rich.text import Text
from rich.tree import Tree as TextTree

from labeltrees.cli.output import printable
from labeltrees.errors import InputError
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import LabelView, NodeView

_MOST_COMPARED = 20_000


def label_line(view: LabelView) -> Text:
    """Return a label as a line of text."""
    return Text.assemble((printable(view.name), "bold"), f"  mass {_mass(view.mass)}, depth {view.depth}")


def node_line(view: NodeView) -> Text:
    """Return a node as a line of text."""
    name = "root" if view.node == 0 else f"node {view.node}"
    counts = f"  mass {_mass(view.mass)}, {_labels(view.n_labels)}, {view.n_children} children"
    text = Text.assemble((name, "cyan"), counts)
    if view.node != 0 and not view.children:
        text.append("  " + ", ".join(map(printable, view.examples)), "dim")
        text.append(", ..." if view.n_labels > len(view.examples) else "", "dim")
    return text


def as_text(view: NodeView, above: TextTree | None = None) -> TextTree:
    """Return a node with everything shown below it as indented text."""
    tree = TextTree(node_line(view)) if above is None else above.add(node_line(view))
    for child in view.children:
        if isinstance(child, NodeView):
            as_text(child, tree)
        else:
            tree.add(label_line(child))
    if view.children and view.n_more_labels > 0:
        more = "more label" if view.n_more_labels == 1 else "more labels"
        tree.add(Text(f"... {view.n_more_labels:,} {more}, mass {_mass(view.mass_of_more)}", "dim"))
    return tree


def find_label(tree: LabelTree, asked: str) -> int:
    """Return the label of a name or, where no label is called so, of an id."""
    names = tree.label_names
    if names is not None:
        same = np.flatnonzero(names == asked)
        if len(same) > 0:
            return int(same[0])
    if asked.isascii() and asked.isdigit() and int(asked) < tree.n_labels:
        return int(asked)
    if names is None:
        message = f"no label {asked!r}: the tree has no label names; give an id from 0 to {tree.n_labels - 1}"
        raise InputError(message)
    near = _near(asked, [str(name) for name in names])
    message = f"no label {asked!r}" + (f"; near are {', '.join(map(repr, near))}" if near else "")
    raise InputError(message)


def _near(asked: str, names: list[str]) -> list[str]:
    """Return up to five names that may have been meant: first those that contain it, then those spelt alike."""
    folded = asked.casefold()
    containing = sorted((name for name in names if folded in name.casefold()), key=lambda name: (len(name), name))
    # Comparing spellings is slow: only names of about the same length, and not all of millions.
    alike = [name for name in names if abs(len(name) - len(asked)) <= 2][:_MOST_COMPARED]
    return list(dict.fromkeys(containing[:5] + difflib.get_close_matches(asked, alike, n=5)))[:5]


def _mass(mass: float) -> str:
    return f"{mass:.4f}" if mass >= 0.001 else f"{mass:.2g}"


def _labels(count: int) -> str:
    return f"{count:,} label" + ("" if count == 1 else "s")
