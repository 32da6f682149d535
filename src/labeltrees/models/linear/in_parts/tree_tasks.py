"""The tree as tasks: large sets of labels are split one by one, then the trees of all sets are built and joined."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Int32s
from labeltrees._validation import check_n_jobs
from labeltrees.models.linear.in_parts.trees import tree_arrays
from labeltrees.tasks import Outcome, Results, Runner, Task
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.builder import widen
from labeltrees.tree.pieces import Binary, LabelSet, build_set, join, leaf_of, split_set
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.splits import EmbeddingRows, SplitRules, split_rules

SETS = 16  # aim at this many or more, to keep the workers of a small cluster equally busy
LEAST_VALUES = 4_000_000  # of a set that is built in one task: about half a second
SIDES = ("plus", "minus")


class Place(NamedTuple):
    """Where a set of labels is found: a side of an earlier split; no split is the root.

    `n_labels` and `n_values` are the sizes of the set and of its embeddings.
    """

    split: str | None
    side: str
    n_labels: int
    n_values: int

    @property
    def inputs(self) -> dict[str, Any]:
        """What a task needs to know."""
        return {"split": self.split, "side": self.side}


class TreeInputs(NamedTuple):
    """What all tasks of a tree have in common: names of earlier results, settings and the seed of the root."""

    counts: str
    embeddings: list[str]
    settings: dict[str, Any]
    n_features: int
    seed: int


def split_bytes(n_values: int, n_labels: int, n_features: int) -> int:
    """Return the bytes for splitting a set: its embeddings, its labels, and the centres."""
    return n_values * 8 + n_labels * 150 + n_features * 60


def build_bytes(n_values: int, n_labels: int, n_features: int) -> int:
    """Return the bytes for building the tree of a set: as for a split, with a second copy of the embeddings."""
    return split_bytes(n_values, n_labels, n_features) + n_values * 8


def grow_in_tasks(inputs: TreeInputs, root: Place, task_bytes: int, n_threads: int, runner: Runner) -> Task:
    """Run the tasks of a tree; return the last one, whose result is the tree.

    A set is split first if building its tree would exceed `task_bytes`, or would keep other workers waiting.
    """
    shared = inputs._asdict()
    of_one_task = max(root.n_values // SETS, LEAST_VALUES)
    level, splits, built = [root], [], []
    while level:
        large = [
            place
            for place in level
            if place.n_values > of_one_task or build_bytes(*place[2:], inputs.n_features) > task_bytes
        ]
        large = [place for place in large if place.n_labels > max(inputs.settings["leaf_size"], 1)]
        built += [place for place in level if place not in large]
        how = {"n_jobs": max(n_threads // max(len(large), 1), 1)}
        tasks = [Task(split_labels, {**shared, **place.inputs}, how) for place in large]
        if tasks:
            runner.run("Splitting labels", tasks)
        splits += [(place, task.name) for place, task in zip(large, tasks, strict=True)]
        level = [side for task in tasks for side in _sides_of(runner.results, task)]
    how = {"n_jobs": max(n_threads // len(built), 1)}
    subtrees = [Task(build_subtree, {**shared, **place.inputs}, how) for place in built]
    runner.run("Building the tree", subtrees)
    pieces = [[place.split, place.side, name] for place, name in splits]
    pieces += [[place.split, place.side, task.name] for place, task in zip(built, subtrees, strict=True)]
    whole = Task(join_tree, {"counts": inputs.counts, "settings": inputs.settings, "pieces": pieces})
    runner.run("Joining the tree", [whole])
    return whole


def _sides_of(results: Results, task: Task) -> list[Place]:
    result = results[task.name]
    return [Place(task.name, side, len(result[side]), result.values[f"{side}_values"]) for side in SIDES]


def split_labels(
    results: Results, *, split: str | None, side: str, n_jobs: int | None = None, **shared: Any
) -> Outcome:
    """Return the two sides of a set of labels, and the seeds for their trees."""
    inputs = TreeInputs(**shared)
    rules = _rules(results, inputs.counts, TreeSettings(**inputs.settings))
    labels = _labels_of(results, split, side, inputs.seed, rules)
    rows = read_rows(results, inputs.embeddings, labels.labels, inputs.n_features)
    sides = split_set(labels, rows, rules, check_n_jobs(n_jobs))
    lengths = np.diff(rows.indptr)
    values: dict[str, Any] = {}
    for name, found in zip(SIDES, sides, strict=True):
        values[f"{name}_seed"] = found.seed
        values[f"{name}_values"] = int(lengths[np.searchsorted(labels.labels, found.labels)].sum())
    return {name: found.labels for name, found in zip(SIDES, sides, strict=True)}, values


def build_subtree(
    results: Results, *, split: str | None, side: str, n_jobs: int | None = None, **shared: Any
) -> Outcome:
    """Return the tree of a set of labels."""
    inputs = TreeInputs(**shared)
    settings = TreeSettings(**inputs.settings)
    rules = _rules(results, inputs.counts, settings)
    labels = _labels_of(results, split, side, inputs.seed, rules)
    if len(labels.labels) <= settings.leaf_size:
        child_ptr, children = leaf_of(labels.labels)
    else:
        rows = read_rows(results, inputs.embeddings, labels.labels, inputs.n_features)
        child_ptr, children = build_set(labels, rows, rules, check_n_jobs(n_jobs))
    return {"child_ptr": child_ptr, "children": children}, {}


def join_tree(results: Results, *, counts: str, settings: dict[str, Any], pieces: list[Any]) -> Outcome:
    """Return the whole tree. A piece is the place of its set, as split and side, and the result for this set."""
    names = {(split, side): name for split, side, name in pieces}

    def tree_of(split: str | None, side: str) -> Binary:
        name = names[split, side]
        result = results[name]
        if result.get("children") is None:  # a split
            return join(tree_of(name, "plus"), tree_of(name, "minus"))
        return np.array(result["child_ptr"]), np.array(result["children"])

    checked = TreeSettings(**settings)
    rules = _rules(results, counts, checked)
    arrays = TreeArrays(*tree_of(None, ""), len(rules.weights), label_weights=rules.weights)
    return tree_arrays(widen(arrays, checked)), {}


def read_rows(results: Results, names: list[str], labels: Int32s, n_features: int) -> EmbeddingRows:
    """Return the embeddings of some labels, ascending, in new memory; the files have ranges of labels, in order."""
    files, lengths, first = [], [], 0
    for name in names:
        result = results[name]
        last = first + len(result["indptr"]) - 1
        begin, end = np.searchsorted(labels, [first, last])
        mine = labels[begin:end] - first
        starts, ends = result["indptr"][mine], result["indptr"][mine + 1]
        lengths.append(ends - starts)
        files.append((name, starts))
        first = last
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
    columns, values = np.empty(max(indptr[-1], 1), np.int32), np.empty(max(indptr[-1], 1), np.float32)
    at = 0
    for (name, starts), length in zip(files, lengths, strict=True):
        result = results[name]  # mapped again, so that one file at a time is in memory
        n_values = int(length.sum())
        places: Any = slice(None)
        if n_values < len(result["values"]):
            places = np.repeat(starts - (np.cumsum(length) - length), length) + np.arange(n_values)
        columns[at : at + n_values], values[at : at + n_values] = result["columns"][places], result["values"][places]
        at += n_values
    return EmbeddingRows(indptr, columns, values, n_features)


def _rules(results: Results, counts: str, settings: TreeSettings) -> SplitRules:
    result = results[counts]
    return split_rules(np.array(result["frequencies"]), np.array(result["covers"]), settings)


def _labels_of(results: Results, split: str | None, side: str, seed: int, rules: SplitRules) -> LabelSet:
    if split is None:
        return LabelSet(rules.labels, seed, is_root=True)
    result = results[split]
    return LabelSet(np.array(result[side]), result.values[f"{side}_seed"])
