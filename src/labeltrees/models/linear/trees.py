"""The tree of a fit: large sets of labels are split one by one, then the trees of all sets are built and joined.

In memory there is one set: all labels.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Int32s, Int64s
from labeltrees._progress import ProgressArgument
from labeltrees._validation import check_n_jobs
from labeltrees.models.linear.blocks import Blocks
from labeltrees.models.linear.embeddings import LabelInputs
from labeltrees.storage.chunks import edges_of, tree_levels
from labeltrees.tasks import Outcome, Results, Runner, Task
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.builder import Binary, LabelSet, build_binary, build_set, join, leaf_of, split_set, widen
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.splits import EmbeddingRows, SplitRules, split_rules

SETS = 16  # aim at this many or more, to keep all workers of a small cluster busy
LEAST_VALUES = 4_000_000  # minimum per set that is built in one task: about half a second
SIDES = ("plus", "minus")
_logger = logging.getLogger("labeltrees.training")


class Layout(NamedTuple):
    """Labels in the order of a depth-first walk, so that those of each node, and of each edge, are one range.

    Parameters
    ----------
    position : int32 (n_labels,)
        -1 for a label that is not in the tree.
    label_at : int32 (n_placed,)
    node_start, node_end : int64 (n_nodes,)
    edge_start, edge_end : int64 (n_edges,)
    """

    position: Int32s
    label_at: Int32s
    node_start: Int64s
    node_end: Int64s
    edge_start: Int64s
    edge_end: Int64s


class GrownTree(NamedTuple):
    """A tree, the name of the result that contains it, and its layout if the result contains that too."""

    tree: LabelTree
    name: str
    stored_layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        """The layout; computed at each access unless it is stored, because it takes as much memory as the tree."""
        return lay_out(self.tree) if self.stored_layout is None else self.stored_layout


class _Set(NamedTuple):
    """A set of labels, with its sizes: one side of an earlier split, or all labels if `split` is None."""

    split: str | None
    side: str
    n_labels: int
    n_values: int


def split_bytes(n_values: int, n_labels: int, n_features: int) -> int:
    """Return the number of bytes needed to split a set: its embeddings, its labels, and the centres."""
    return n_values * 8 + n_labels * 150 + n_features * 60


def build_bytes(n_values: int, n_labels: int, n_features: int) -> int:
    """Return the number of bytes needed to build the tree of a set: a split, and a second copy of the embeddings."""
    return split_bytes(n_values, n_labels, n_features) + n_values * 8


def grow_tree(
    points: Blocks,
    labels: LabelInputs,
    settings: TreeSettings,
    seed: int,
    runner: Runner,
    *,
    overwrite: bool = False,
    progress: ProgressArgument = None,
) -> GrownTree:
    """Build a tree.

    A set is split first if building its tree would take more memory than a task has, or keep other workers waiting.

    Parameters
    ----------
    overwrite : bool
        Whether the embeddings may be overwritten, if they are in memory.
    progress : bool or callable, optional
        Progress of building one set.
    """
    shared = {"labels": labels, "settings": settings, "seed": seed}
    n_threads = runner.threads_of_host
    root = _Set(None, "", points.n_labels, labels.n_values)
    if not points.in_memory and labels.are_own:
        _check_memory(root, labels.n_columns, runner)
    largest = 2**62 if points.in_memory else max(root.n_values // SETS, LEAST_VALUES)
    level, splits, built = [root], list[tuple[_Set, str]](), list[_Set]()
    while level:
        large = [own for own in level if _is_large(own, largest, labels.n_columns, settings.leaf_size, runner)]
        built += [own for own in level if own not in large]
        each = {"n_jobs": max(n_threads // max(len(large), 1), 1)}
        tasks = [Task(split_labels, {**shared, "split": own.split, "side": own.side}, each) for own in large]
        if tasks:
            runner.run("Splitting labels", tasks)
        splits += [(own, task.name) for own, task in zip(large, tasks, strict=True)]
        level = [side for task in tasks for side in _sides_of(runner.results, task)]
    how: dict[str, Any] = {"n_jobs": max(n_threads // len(built), 1), "overwrite": overwrite, "progress": progress}
    subtrees = [Task(build_subtree, {**shared, "split": own.split, "side": own.side}, how) for own in built]
    runner.run("Building the tree", subtrees)
    pieces = [[own.split, own.side, name] for own, name in splits]
    pieces += [[own.split, own.side, task.name] for own, task in zip(built, subtrees, strict=True)]
    whole = Task(join_tree, {"counts": labels.counts, "settings": settings, "pieces": pieces})
    runner.run("Joining the tree", [whole])
    return read_tree(runner.results, whole.name, points.n_labels)


def _check_memory(root: _Set, n_columns: int, runner: Runner) -> None:
    needed = split_bytes(root.n_values, root.n_labels, n_columns)
    _logger.info("Splitting the labels: up to %.0f MiB", needed / 2**20)
    if runner.memory is not None and needed > runner.memory.n_bytes:
        runner.memory.refuse(needed, "to build the tree of these labels")


def _is_large(own: _Set, largest: int, n_columns: int, leaf_size: int, runner: Runner) -> bool:
    needs = build_bytes(own.n_values, own.n_labels, n_columns)
    return (own.n_values > largest or needs > runner.task_bytes) and own.n_labels > max(leaf_size, 1)


def _sides_of(results: Results, task: Task) -> list[_Set]:
    result = results[task.name]
    return [_Set(task.name, side, len(result[side]), result.values[f"{side}_values"]) for side in SIDES]


def split_labels(
    results: Results,
    *,
    split: str | None,
    side: str,
    labels: LabelInputs,
    settings: TreeSettings,
    seed: int,
    n_jobs: int | None = None,
) -> Outcome:
    """Return the two sides of a set of labels, and the seeds for their trees."""
    rules = _rules(results, labels.counts, settings)
    own = _labels_of(results, split, side, seed, rules)
    rows = read_rows(results, labels, own.labels)
    sides = split_set(own, rows, rules, check_n_jobs(n_jobs))
    lengths = np.diff(rows.indptr)
    values: dict[str, Any] = {}
    for name, found in zip(SIDES, sides, strict=True):
        values[f"{name}_seed"] = found.seed
        values[f"{name}_values"] = int(lengths[np.searchsorted(own.labels, found.labels)].sum())
    return {name: found.labels for name, found in zip(SIDES, sides, strict=True)}, values


def build_subtree(
    results: Results,
    *,
    split: str | None,
    side: str,
    labels: LabelInputs,
    settings: TreeSettings,
    seed: int,
    n_jobs: int | None = None,
    overwrite: bool = False,
    progress: ProgressArgument = None,
) -> Outcome:
    """Return the tree of a set of labels."""
    rules = _rules(results, labels.counts, settings)
    own = _labels_of(results, split, side, seed, rules)
    if len(own.labels) <= settings.leaf_size:
        child_ptr, children = leaf_of(own.labels)
    elif results.folder is None:
        kept = results[labels.embeddings[0]]
        rows = EmbeddingRows(kept["indptr"], kept["columns"], kept["values"], labels.n_columns)
        how: dict[str, Any] = {"overwrite_rows": overwrite, "n_jobs": n_jobs, "progress": progress}
        child_ptr, children = build_binary(
            rows, rules.labels, rules.root_weights, rules.settings, random_state=seed, **how
        )
    else:
        rows = read_rows(results, labels, own.labels)
        child_ptr, children = build_set(own, rows, rules, check_n_jobs(n_jobs))
    return {"child_ptr": child_ptr, "children": children}, {}


def join_tree(results: Results, *, counts: str, settings: TreeSettings, pieces: list[Any]) -> Outcome:
    """Return the whole tree. A piece is [split, side, name]: a set, and the name of the result for this set."""
    names = {(split, side): name for split, side, name in pieces}

    def tree_of(split: str | None, side: str) -> Binary:
        name = names[split, side]
        result = results[name]
        if result.get("children") is None:  # a split
            return join(tree_of(name, "plus"), tree_of(name, "minus"))
        return np.asarray(result["child_ptr"]), np.asarray(result["children"])

    rules = _rules(results, counts, settings)
    arrays = TreeArrays(*tree_of(None, ""), len(rules.weights), label_weights=rules.weights)
    return tree_arrays(widen(arrays, settings), results), {}


def read_rows(results: Results, labels: LabelInputs, wanted: Int32s) -> EmbeddingRows:
    """Return a copy of the embeddings of some labels, ascending; each result has a range of labels, in order."""
    files, lengths, first = [], [], 0
    for name in labels.embeddings:
        result = results[name]
        last = first + len(result["indptr"]) - 1
        begin, end = np.searchsorted(wanted, [first, last])
        mine = wanted[begin:end] - first
        starts, ends = result["indptr"][mine], result["indptr"][mine + 1]
        lengths.append(ends - starts)
        files.append((name, starts))
        first = last
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
    is_dense = len(results[labels.embeddings[0]]["columns"]) == 0
    columns = np.empty(0 if is_dense else max(indptr[-1], 1), np.int32)
    values = np.empty(max(indptr[-1], 1), np.float32)
    at = 0
    for (name, starts), length in zip(files, lengths, strict=True):
        result = results[name]  # mapped again, so that one file at a time is in memory
        n_values = int(length.sum())
        places: Any = slice(n_values)
        if n_values < len(result["values"]):
            places = np.repeat(starts - (np.cumsum(length) - length), length) + np.arange(n_values)
        if not is_dense:
            columns[at : at + n_values] = result["columns"][places]
        values[at : at + n_values] = result["values"][places]
        at += n_values
    return EmbeddingRows(indptr, columns, values, labels.n_columns)


def _rules(results: Results, counts: str, settings: TreeSettings) -> SplitRules:
    result = results[counts]
    return split_rules(np.array(result["frequencies"]), np.array(result["covers"]), settings)


def _labels_of(results: Results, split: str | None, side: str, seed: int, rules: SplitRules) -> LabelSet:
    if split is None:
        return LabelSet(rules.labels, seed, is_root=True)
    result = results[split]
    return LabelSet(np.array(result[side]), result.values[f"{side}_seed"])


def store_tree(tree: LabelTree, results: Results) -> GrownTree:
    """Store a given tree as a result."""
    name = results.store("tree", tree_arrays(tree, results))
    return read_tree(results, name, tree.n_labels)._replace(tree=tree)


def tree_arrays(tree: LabelTree, results: Results) -> dict[str, Any]:
    """Return a tree and its layout as the arrays of a result; in memory only the tree object."""
    if results.folder is None:
        return {"tree": tree}
    arrays: dict[str, Any] = {"child_ptr": tree.child_ptr, "children": tree.children}
    if tree.label_weights is not None:
        arrays["label_weights"] = tree.label_weights
    return arrays | lay_out(tree)._asdict()


def read_tree(results: Results, name: str, n_labels: int) -> GrownTree:
    """Return a tree and its layout from a result."""
    result = results[name]
    if results.folder is None:
        kept: Any = result["tree"]
        return GrownTree(kept, name)
    layout = Layout(*(result[field] for field in Layout._fields))
    weights = result.get("label_weights")
    arrays = TreeArrays(
        np.array(result["child_ptr"]),
        np.array(result["children"]),
        n_labels,
        label_weights=None if weights is None else np.array(weights),
    )
    return GrownTree(LabelTree._adopt(arrays), name, layout)


def lay_out(tree: LabelTree) -> Layout:
    """Return the layout of a tree: its labels in the order of a depth-first walk.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4], [~1, 1, ~2, ~0], n_labels=3)
    >>> lay_out(tree).label_at.tolist(), lay_out(tree).node_start.tolist()
    ([1, 2, 0], [0, 1])
    """
    child_ptr, children = tree.child_ptr, tree.children.astype(np.int64)
    placed = (tree.label_parent >= 0).astype(np.float64)
    n_below = tree.mass(placed).astype(np.int64)
    sizes = np.where(children >= 0, n_below[np.maximum(children, 0)], 1)
    start = np.zeros(tree.n_nodes, np.int64)
    edge_start = np.empty(len(children), np.int64)
    for nodes in tree_levels(child_ptr, children):
        edges, first = edges_of(child_ptr, nodes)
        before = np.cumsum(sizes[edges]) - sizes[edges]
        counts = np.diff(np.append(first, len(edges)))
        edge_start[edges] = before - np.repeat(before[first] - start[nodes], counts)
        below = children[edges] >= 0
        start[children[edges][below]] = edge_start[edges][below]
    is_label = children < 0
    position = np.full(tree.n_labels, -1, np.int32)
    position[~children[is_label]] = edge_start[is_label]
    label_at = np.empty(n_below[0], np.int32)
    label_at[edge_start[is_label]] = ~children[is_label]
    return Layout(position, label_at, start, start + n_below, edge_start, edge_start + sizes)
