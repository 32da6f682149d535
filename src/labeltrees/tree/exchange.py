"""Conversion of trees from and to other programs: SciPy's linkage matrices, napkinXC and omikuji."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from labeltrees import _core
from labeltrees._extras import import_extra
from labeltrees._files import PathLike, naming_file, refuse_file, write_atomically
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError
from labeltrees.tree.arrays import MAX_LABELS, Int32s, Int64s, TreeArrays, as_integers, renumber
from labeltrees.tree.files import label_claim_fault

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


def place_all(tree: LabelTree) -> LabelTree:
    """Put the unplaced labels, if there are any, below a new node, the last child of the root."""
    unplaced = tree.unplaced_labels
    if len(unplaced) == 0:
        return tree
    n_root, new_node = int(tree.child_ptr[1]), np.array([tree.n_nodes], dtype=np.int32)
    children = np.concatenate((tree.children[:n_root], new_node, tree.children[n_root:], ~unplaced.astype(np.int32)))
    child_ptr = np.append(tree.child_ptr, len(children))
    child_ptr[1:-1] += 1
    return tree._adopt(TreeArrays(child_ptr, children, tree.n_labels))


def labels_to_keep(unplaced_labels: ArrayLike | None, n_labels: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return a mask of the labels to place in a tree: all except `unplaced_labels`."""
    keep = np.ones(n_labels, dtype=bool)
    if unplaced_labels is not None:
        labels = as_integers("unplaced_labels", unplaced_labels, np.int64)
        if labels.size > 0 and not 0 <= labels.min() <= labels.max() < n_labels:
            refuse("unplaced_labels", f"within [0, {n_labels - 1}]", f"{labels.min()} to {labels.max()}")
        keep[labels] = False
        if not keep.any():
            refuse("unplaced_labels", "fewer than all labels of the tree", f"all {n_labels}")
    return keep


def prune(
    owner: Int64s, entries: Int32s, n_nodes: int, keep: np.ndarray[Any, np.dtype[np.bool_]], *, splice: bool
) -> TreeArrays:
    """Remove labels and the nodes left without labels; with `splice`, replace a node with one child by that child.

    Parameters
    ----------
    owner : array of int64 (n_entries,)
        The parent node of each entry, ascending.
    entries : array of int32 (n_entries,)
        Children as in `LabelTree`. Every node except 0 occurs once; its owner has a smaller id.
    n_nodes : int
    keep : array of bool (n_labels,)
        The labels to keep; each occurs at most once in `entries`.
    """
    is_node = entries >= 0
    n_below = _count_below(owner, entries, n_nodes, keep)
    if n_below[0] == 0:
        message = "no label remains in the tree"
        raise InputError(message)
    kept = np.where(is_node, n_below[np.where(is_node, entries, 0)] > 0, keep[np.where(is_node, 0, ~entries)])
    owner, entries = owner[kept], entries[kept]
    # target: the replacement of each node; a node with one child is replaced by the child.
    target = np.arange(n_nodes, dtype=np.int32)
    if splice:
        n_children = np.bincount(owner, minlength=n_nodes)
        lone = n_children[owner] == 1
        target[owner[lone]] = entries[lone]
        while True:
            further = np.where(target >= 0, target[np.maximum(target, 0)], target)
            if np.array_equal(further, target):
                break
            target = further
    if target[0] < 0:  # one label remains: it stays below the root
        owner, entries = np.zeros(1, dtype=np.int64), target[:1].copy()
        target[0] = 0
    entries = np.where(entries >= 0, target[np.maximum(entries, 0)], entries)
    stays = (target == np.arange(n_nodes)) & (n_below > 0)
    held = stays[owner]
    owner, entries = owner[held], entries[held]
    new_id = (np.cumsum(stays) - 1).astype(np.int32)
    children = np.where(entries >= 0, new_id[np.maximum(entries, 0)], entries)
    counts = np.bincount(new_id[owner], minlength=int(stays.sum()))
    return TreeArrays(np.concatenate(([0], np.cumsum(counts))), children, len(keep))


def _count_below(
    owner: Int64s, entries: Int32s, n_nodes: int, keep: np.ndarray[Any, np.dtype[np.bool_]]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    parent = np.full(n_nodes, -1, dtype=np.int32)
    parent[entries[entries >= 0]] = owner[entries >= 0]
    child_ptr = np.searchsorted(owner, np.arange(n_nodes + 1)).astype(np.int64)
    total = np.empty(n_nodes, dtype=np.int64)
    _core.tree_counts(child_ptr, np.ascontiguousarray(entries), parent, keep.astype(np.int64), total)
    return total


def read_linkage(linkage: Any, labels: Any = None, n_labels: int | None = None) -> TreeArrays:
    """Return the arrays of the binary tree of a linkage matrix; see `LabelTree.from_linkage`."""
    try:
        rows = np.asarray(linkage, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    n_leaves = len(rows) + 1
    if rows.ndim != 2 or rows.shape[1] != 4 or n_leaves < 2 or not np.isfinite(rows).all() or (rows < 0).any():
        _fail("one row (cluster, cluster, distance, size) per merge, all finite and not negative")
    merged = rows[:, :2].astype(np.int64)
    # Row i makes the cluster n_leaves + i, which only later rows may merge.
    late = (merged >= n_leaves + np.arange(len(rows))[:, np.newaxis]) | (merged != rows[:, :2])
    if late.any():
        row = int(np.flatnonzero(late.any(axis=1))[0])
        _fail(f"clusters that exist when they are merged, which those of row {row} do not: {rows[row, :2].tolist()}")
    if len(np.unique(merged)) < merged.size:
        _fail("every cluster merged only once")
    # The last cluster is the root. Counting backwards gives every node a smaller id than its children.
    own = _leaf_labels(labels, n_leaves, n_labels)
    children = np.where(merged < n_leaves, ~own[np.minimum(merged, n_leaves - 1)], 2 * n_leaves - 2 - merged)[::-1]
    child_ptr = np.arange(0, 2 * n_leaves - 1, 2, dtype=np.int64)
    n_labels = int(own.max()) + 1 if n_labels is None else n_labels
    return TreeArrays(child_ptr, children.ravel().astype(np.int32), n_labels)


def _leaf_labels(labels: Any, n_leaves: int, n_labels: int | None) -> Any:
    """Return the label of each observation of a linkage."""
    if n_labels is not None:
        check_integer("n_labels", n_labels, n_leaves, 2**31 - 1)
    if labels is None:
        return np.arange(n_leaves)
    own = np.asarray(labels)
    limit = 2**31 - 1 if n_labels is None else n_labels
    is_sound = own.dtype.kind in "iu" and own.shape == (n_leaves,) and len(np.unique(own)) == n_leaves
    if not is_sound or own.min() < 0 or own.max() >= limit:
        refuse("labels", f"{n_leaves} different label ids from 0 to {limit - 1}, one per observation", labels)
    return own.astype(np.int64)


def _fail(wanted: str) -> NoReturn:
    message = f"linkage must have, as the result of scipy.cluster.hierarchy.linkage does, {wanted}"
    raise InputError(message)


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


def read_napkinxc(path: PathLike, unplaced_labels: ArrayLike | None = None) -> TreeArrays:
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
    groups = _read_nodes(path)
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


_MAX_DEPTH = 3000  # nested maps and arrays; a node takes three of them


def _read_nodes(path: Path) -> list[list[int]]:
    """Return the children of each node of a CBOR file; a parent comes before its children."""
    groups: list[list[int]] = []
    waiting = [(_load_cbor(path), -1)]  # nodes to read, each with its parent
    while waiting:
        node, parent = waiting.pop()
        if parent >= 0:
            groups[parent].append(len(groups))
        kind, content = next(iter(node.items())) if isinstance(node, dict) and len(node) == 1 else ("", {})
        holds = {"Branch": "children", "Leaf": "labels"}.get(kind if isinstance(kind, str) else "")
        if holds is None or not isinstance(content, dict) or content.keys() != {"weights", holds}:
            refuse_file(path, "has something else where a Branch or a Leaf should be")
        items = content[holds]
        if not isinstance(items, list):
            refuse_file(path, f"has something else where the {holds} of a {kind} should be")
        groups.append([])
        if kind == "Branch":
            waiting += [(child, len(groups) - 1) for child in reversed(items)]
        elif all(type(label) is int and 0 <= label < MAX_LABELS for label in items):
            groups[-1] = [~label for label in items]
        else:
            refuse_file(path, f"has a label that is not an integer in [0, {MAX_LABELS})")
    return groups


def _load_cbor(path: Path) -> Any:
    cbor2 = import_extra("cbor2", "omikuji", "Reading trees of omikuji")
    limits = {"max_depth": _MAX_DEPTH, "allow_indefinite": False, "allow_duplicate_keys": False}
    with open(path, "rb") as file:
        try:
            item = cbor2.load(file, **limits, strict_hashable_types=True)
        except cbor2.CBORDecodeError as error:
            refuse_file(path, f"is not the CBOR of a tree: {error}")
        if file.read(1):
            refuse_file(path, "has more data after the tree")
    return item
