"""napkinXC's trees: rows of (parent, node, label), -1 for none, in a list or a text file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from labeltrees._files import PathLike, naming_file, refuse_file, write_atomically
from labeltrees._validation import refuse
from labeltrees.errors import InputError
from labeltrees.tree.arrays import MAX_LABELS, Int64s, TreeArrays, as_integers, renumber
from labeltrees.tree.exchange.reshape import labels_to_keep, place_all, prune
from labeltrees.tree.serialize import label_claim_fault

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree

Rows = Sequence[tuple[int, int, int]]


def tree_to_rows(tree: LabelTree) -> list[tuple[int, int, int]]:
    """Return the rows of the tree: the root, then every child in the order of `children`."""
    tree = place_all(tree)
    owner = np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr))
    is_label = tree.children < 0
    # In napkinXC a label is a node too; label nodes come after the inner nodes.
    node = np.where(is_label, tree.n_nodes + np.cumsum(is_label) - 1, tree.children)
    label = np.where(is_label, ~tree.children, -1)
    return [(-1, 0, -1), *zip(owner.tolist(), node.tolist(), label.tolist(), strict=True)]


def write_napkinxc(rows: Rows, path: PathLike) -> None:
    """Write rows as the text file that napkinXC accepts as `tree_structure`."""
    n_labels = sum(label >= 0 for _, _, label in rows)
    lines = [f"{n_labels} {len(rows)}\n"]
    lines += [f"{parent} {node} {'' if label < 0 else label}\n" for parent, node, label in rows]
    write_atomically(path, ["".join(lines).encode()])


def read_rows(rows: Rows, unplaced_labels: ArrayLike | None = None) -> TreeArrays:
    """Return the arrays of a tree from napkinXC's rows."""
    try:
        table = np.array(rows)
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind not in "iu":
        refuse("the tree", "a list of (parent, node, label)", rows)
    parent, node, label = (as_integers("the tree", column, np.int64) for column in table.T)
    n_labels = _check(parent, node, label)
    return _assemble(parent, node, label, labels_to_keep(unplaced_labels, n_labels))


def read_file(path: PathLike, unplaced_labels: ArrayLike | None = None) -> TreeArrays:
    """Return the arrays of a tree from napkinXC's text file."""
    parent, node, label = _parse(Path(path))
    with naming_file(path):
        n_labels = _check(parent, node, label)
    keep = labels_to_keep(unplaced_labels, n_labels)
    with naming_file(path):
        return _assemble(parent, node, label, keep)


def _parse(path: Path) -> tuple[Int64s, Int64s, Int64s]:
    lines = path.read_bytes().splitlines()
    header = lines[0].split() if lines else []
    if len(header) != 2 or not all(part.isdigit() and len(part) < 19 for part in header):
        refuse_file(path, "must start with a line of two numbers, labels and nodes")
    n_labels, n_nodes = map(int, header)
    rows = []
    for number, line in enumerate(lines[1:], 2):
        parts = line.split()
        if not parts:
            continue
        if not 2 <= len(parts) <= 3 or not all(_is_integer(part) for part in parts):
            refuse_file(path, f"line {number} is not 'parent node [label]': {line[:60]!r}")
        rows.append((int(parts[0]), int(parts[1]), int(parts[2]) if len(parts) == 3 else -1))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    n_labelled = int(np.count_nonzero(columns[2] >= 0))
    if len(rows) != n_nodes or n_labelled != n_labels:
        refuse_file(path, f"claims {n_labels} labels and {n_nodes} nodes but has {n_labelled} and {len(rows)}")
    return columns[0], columns[1], columns[2]


def _is_integer(part: bytes) -> bool:
    return len(part) < 19 and part.removeprefix(b"-").isdigit()


def _check(parent: Int64s, node: Int64s, label: Int64s) -> int:
    """Check that the rows form a tree, and return the number of labels."""
    n_rows = len(node)
    if n_rows == 0 or n_rows > MAX_LABELS:
        refuse("the tree", f"of 1 to {MAX_LABELS} nodes", n_rows)
    for name, column, low, allowed in (("parent", parent, -1, "-1 or "), ("node", node, 0, "")):
        _refuse_first(~((column >= low) & (column < n_rows)), column, f"{name} must be {allowed}in [0, {n_rows - 1}]")
    _refuse_first(np.bincount(node, minlength=n_rows)[node] > 1, node, "node must not occur twice")
    _refuse_first((parent == -1) & (np.cumsum(parent == -1) > 1), node, "only one node may have parent -1")
    if not np.any(parent == -1):
        refuse("the tree", "a tree with a root, whose parent is -1", "none")
    is_inner = _inner_nodes(parent, node)
    _refuse_first((label < 0) & ~is_inner[node], node, "a node must have a label or children")
    placed = label[label >= 0]
    n_labels = int(placed.max()) + 1
    fault = label_claim_fault(n_labels, len(placed))
    if fault is not None:
        raise InputError(fault)
    return n_labels


def _inner_nodes(parent: Int64s, node: Int64s) -> Any:
    is_inner = np.zeros(len(node), dtype=bool)
    is_inner[parent[parent >= 0]] = True
    is_inner[node[parent == -1]] = True
    return is_inner


def _assemble(parent: Int64s, node: Int64s, label: Int64s, keep: Any) -> TreeArrays:
    """Assign ids to the inner nodes from the root down; the label of an inner node becomes its first child."""
    is_inner = _inner_nodes(parent, node)
    order = np.zeros(len(is_inner), dtype=np.int64)  # our id of each napkinXC node, the root first
    root = int(node[parent == -1][0])
    inner = np.concatenate(([root], np.setdiff1d(np.flatnonzero(is_inner), [root])))
    order[inner] = np.arange(len(inner))
    own = is_inner[node] & (label >= 0)
    hangs = parent >= 0
    owner = np.concatenate((order[node[own]], order[parent[hangs]]))
    below = np.where(is_inner[node[hangs]], order[node[hangs]], ~label[hangs])
    entries = np.concatenate((~label[own], below)).astype(np.int32)
    by_owner = np.argsort(owner, kind="stable")
    child_ptr = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(inner)))))
    child_ptr, children, _ = renumber(child_ptr, entries[by_owner], np.zeros(len(inner)))
    return prune(np.repeat(np.arange(len(inner)), np.diff(child_ptr)), children, len(inner), keep, splice=False)


def _refuse_first(wrong: Any, values: Int64s, rule: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows) > 0:
        message = f"row {rows[0]}: {rule}, got {values[rows[0]]}"
        raise InputError(message)
