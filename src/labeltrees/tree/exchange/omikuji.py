"""omikuji's trees: nested branches and leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees._files import PathLike, refuse_file
from labeltrees._validation import check_integer
from labeltrees.tree.arrays import MAX_LABELS, TreeArrays
from labeltrees.tree.exchange.cbor import ARRAY, MAP, CborReader
from labeltrees.tree.serialize import label_claim_fault

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


def tree_to_nested(tree: LabelTree) -> dict[str, Any]:
    """Return the tree as nested dicts, without weights."""
    built: list[dict[str, Any]] = [{}] * tree.n_nodes
    for node in reversed(range(tree.n_nodes)):
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
        if all(child < 0 for child in children):
            built[node] = {"Leaf": {"labels": [~child for child in children]}}
        else:
            below = [built[child] if child >= 0 else {"Leaf": {"labels": [~child]}} for child in children]
            built[node] = {"Branch": {"children": below}}
    return built[0]


def read_omikuji(path: PathLike, tree: int = 0, n_labels: int | None = None) -> TreeArrays:
    """Return the arrays of a tree in a model that omikuji saved."""
    path = Path(path)
    if path.is_dir():
        path = path / f"tree{check_integer('tree', tree, 0)}.cbor"
        if not path.is_file():
            refuse_file(path, "is missing")
    groups = _read_nodes(CborReader(path))
    entries = np.array([child for group in groups for child in group], dtype=np.int64)
    labels = ~entries[entries < 0]
    if len(labels) == 0:
        refuse_file(path, "has no labels")
    largest = int(labels.max())
    if n_labels is None:
        n_labels = largest + 1
    elif largest >= check_integer("n_labels", n_labels, 1, MAX_LABELS):
        refuse_file(path, f"has label {largest}, but there are {n_labels} labels")
    fault = label_claim_fault(n_labels, len(labels))
    if fault is not None:
        refuse_file(path, f"claims {fault}")
    child_ptr = np.cumsum([0, *map(len, groups)], dtype=np.int64)
    return TreeArrays(child_ptr, entries.astype(np.int32), n_labels)


@dataclass
class _OpenNode:
    """A node that is being read, with the numbers of keys and children still to read."""

    node: int
    kind: str
    n_keys: int
    n_children: int = 0


def _read_nodes(reader: CborReader) -> list[list[int]]:
    """Return the children of each node; a parent comes before its children."""
    groups: list[list[int]] = []
    waiting = [_enter(reader, groups)]
    while waiting:
        top = waiting[-1]
        if top.n_children > 0:
            top.n_children -= 1
            groups[top.node].append(len(groups))
            waiting.append(_enter(reader, groups))
        elif top.n_keys > 0:
            top.n_keys -= 1
            key = reader.text()
            if key == "weights":
                reader.skip()
            elif key == "children" and top.kind == "Branch":
                top.n_children = reader.expect(ARRAY, "the children of a branch")
            elif key == "labels" and top.kind == "Leaf":
                groups[top.node] += [~label for label in reader.unsigned_list(MAX_LABELS)]
            else:
                reader.refuse(f"has an unknown key in a {top.kind}")
        else:
            waiting.pop()
    if reader.position != len(reader.data):
        reader.refuse("has more data after the tree")
    return groups


def _enter(reader: CborReader, groups: list[list[int]]) -> _OpenNode:
    kind = reader.text() if reader.expect(MAP, "a node") == 1 else ""
    if kind not in ("Branch", "Leaf") or reader.expect(MAP, "the contents of a node") != 2:
        reader.refuse("has no Branch or Leaf of two keys where a node should be")
    groups.append([])
    return _OpenNode(len(groups) - 1, kind, n_keys=2)
