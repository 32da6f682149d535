"""Training as a list of independent node tasks: plan them, execute them anywhere, assemble their weights.

A task trains the classifiers of one node, or of some of its children. Its result depends only on its own input, so any
part of the list can run on another machine, or be skipped if its input has not changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float32s, Int32s, Int64s
from labeltrees.errors import InputError
from labeltrees.models.linear.auto_cost import costs_of_nodes
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.storage import LinearWeights
from labeltrees.tree.label_tree import LabelTree

Advance = Callable[[int], object] | None
LANES = 16  # children that are trained together; a task never cuts such a group


@dataclass(frozen=True)
class DenseWeights:
    """The trained classifiers of a tree for dense X, one full row for every entry of the tree's `children`.

    Parameters
    ----------
    matrix : float32 (n_edges, n_features)
    bias : float32 (n_edges,)
    """

    matrix: Float32s
    bias: Float32s

    @property
    def values(self) -> Float32s:
        """All weights as one vector."""
        return self.matrix.reshape(-1)


Weights = LinearWeights | DenseWeights


class NodeTask(NamedTuple):
    """The children ``first_edge`` to ``first_edge + n_edges`` (positions in ``tree.children``) of one node.

    The other fields are upper bounds: pairs of a point and a label, points, bytes while the task runs, and
    multiplications in one pass over the points.
    """

    node: int
    first_edge: int
    n_edges: int
    n_pairs: int
    n_points: int
    n_bytes: int
    cost: int


@dataclass(frozen=True, eq=False)
class NodeTasks(Sequence[NodeTask]):
    """A list of tasks, stored as one array per field of `NodeTask`."""

    node: Int64s
    first_edge: Int64s
    n_edges: Int64s
    n_pairs: Int64s
    n_points: Int64s
    n_bytes: Int64s
    cost: Int64s

    @classmethod
    def of(cls, *tasks: NodeTask) -> NodeTasks:
        """Return a list of these tasks."""
        return cls(*(np.array(values, np.int64) for values in zip(*tasks, strict=True)))

    def __len__(self) -> int:
        return len(self.node)

    def __iter__(self) -> Iterator[NodeTask]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: Any) -> Any:
        """Return one task, or the tasks at the positions of a slice or an array."""
        parts = [getattr(self, item.name)[i] for item in fields(self)]
        return NodeTask(*map(int, parts)) if np.ndim(parts[0]) == 0 else NodeTasks(*parts)

    def edges(self) -> Int64s:
        """Return the positions in ``tree.children`` of all classifiers, task by task."""
        ends = np.cumsum(self.n_edges)
        starts = np.repeat(self.first_edge - (ends - self.n_edges), self.n_edges)
        return starts + np.arange(len(starts))


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """All that training needs: the data and the tree in native form, settings and a seed."""

    native: _core.LinearProblem
    tree: LabelTree
    settings: LinearSettings
    seed: int


class TaskWeights(NamedTuple):
    """The trained classifiers of some tasks: one row per edge, in the order of the tasks."""

    tasks: NodeTasks
    weights: Weights


class Executor(Protocol):
    """Runs tasks somewhere."""

    def run(self, problem: TrainingProblem, tasks: NodeTasks, advance: Advance = None) -> Iterable[TaskWeights]:
        """Train the tasks, in any partition and order; `advance` is called with the number of classifiers done."""


@dataclass(frozen=True)
class ThreadExecutor:
    """Runs all tasks in one native call, on threads of this process."""

    n_threads: int = 1

    def run(self, problem: TrainingProblem, tasks: NodeTasks, advance: Advance = None) -> Iterable[TaskWeights]:
        """Train the tasks."""
        costs = np.take(costs_of_nodes(problem.tree, problem.settings.C), tasks.node, mode="clip")
        weights = train_tasks(problem.native, tasks, problem.settings, problem.seed, self.n_threads, advance, costs)
        return [TaskWeights(tasks, weights)]


def plan_tasks(problem: TrainingProblem, max_edges: int | None = None) -> NodeTasks:
    """Return the tasks of a tree in the order of its nodes.

    Parameters
    ----------
    max_edges : int, optional
        Split nodes with more children than this; a task has at least `LANES` of them. By default a task is a node.
    """
    child_ptr = problem.tree.child_ptr
    n_pairs, n_points, n_values, n_bytes = problem.native.node_sizes(bool(problem.settings.balanced))
    n_edges = np.diff(child_ptr)
    if max_edges is None:
        node, first, n_of_task = np.arange(len(n_edges)), child_ptr[:-1], n_edges
    else:
        n_groups = -(-n_edges // LANES)
        groups_per_task = max(max_edges // LANES, 1)
        n_tasks = -(-n_groups // groups_per_task)
        node = np.repeat(np.arange(len(n_edges)), n_tasks)
        place = np.arange(len(node)) - np.repeat(np.cumsum(n_tasks) - n_tasks, n_tasks)
        from_group = np.minimum(place * groups_per_task, n_groups[node])
        to_group = np.minimum((place + 1) * groups_per_task, n_groups[node])
        start, end = (n_edges[node] * group // n_groups[node] for group in (from_group, to_group))
        first, n_of_task = child_ptr[node] + start, end - start
    return NodeTasks(
        np.ascontiguousarray(node, np.int64),
        np.ascontiguousarray(first, np.int64),
        np.ascontiguousarray(n_of_task, np.int64),
        n_pairs[node],
        n_points[node],
        n_bytes[node],
        n_values[node] * n_of_task,
    )


def assemble(results: Iterable[TaskWeights], n_edges: int) -> Weights:
    """Return the weights of all `n_edges` classifiers in the order of the tree, from any partition of the tasks."""
    parts = list(results)
    edges = np.concatenate([part.tasks.edges() for part in parts])
    if len(edges) != n_edges or not np.array_equal(np.bincount(edges, minlength=n_edges), np.ones(n_edges)):
        message = f"the tasks must cover each of the {n_edges} classifiers exactly once"
        raise InputError(message)
    if len(parts) == 1 and np.array_equal(edges, np.arange(n_edges)):
        return parts[0].weights
    order = np.argsort(edges)
    bias = np.concatenate([part.weights.bias for part in parts])[order]
    dense = [part.weights.matrix for part in parts if isinstance(part.weights, DenseWeights)]
    if dense:
        return DenseWeights(np.concatenate(dense)[order], bias)
    sparse = [part.weights for part in parts if isinstance(part.weights, LinearWeights)]
    lengths = np.concatenate([np.diff(part.indptr) for part in sparse])
    starts = np.cumsum(lengths) - lengths
    indptr = np.concatenate([[0], np.cumsum(lengths[order])])
    entries = np.repeat(starts[order] - indptr[:-1], lengths[order]) + np.arange(indptr[-1])
    features, values = (np.concatenate([getattr(part, name) for part in sparse]) for name in ("features", "values"))
    return LinearWeights(indptr, features[entries], values[entries], bias)


@dataclass(frozen=True, eq=False)
class ExtractedTask:
    """The input of one task without the rest of the data: to train it elsewhere, or to see whether it has changed.

    Parameters
    ----------
    task : NodeTask
    n_children, first_edge : int
        Of the task's node.
    n_rows, n_columns : int
    x_indptr, x_columns, x_values : arrays
        The rows of the node's points: CSR, or dense rows (`x_indptr` and `x_columns` are empty).
    features : array (n_columns,)
        The features that the columns are; empty if they are all features.
    y_indptr, y_columns, y_values : arrays
        The children that each row is a positive of, and its costs (empty if all are 1).
    row_weight : array (n_rows,), or empty
    extra_rows : array
        The rows that are not positives of any child.
    settings : LinearSettings
    seed : int
    """

    task: NodeTask
    n_children: int
    first_edge: int
    n_rows: int
    n_columns: int
    x_indptr: Int64s
    x_columns: Int32s
    x_values: Float32s
    features: Int32s
    y_indptr: Int64s
    y_columns: Int32s
    y_values: Float32s
    row_weight: Float32s
    extra_rows: Int32s
    settings: LinearSettings
    seed: int

    def digest(self) -> str:
        """Return a hash of everything that the weights depend on, as 16 hexadecimal digits."""
        settings = {
            name: value for name, value in vars(self.settings).items() if name not in ("label_cost", "max_memory")
        }
        described: list[Any] = [self.task[:3], self.seed, sorted((name, repr(v)) for name, v in settings.items())]
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                described.append([item.name, value.shape, _core.xxh64(value.view(np.uint8))])
            elif isinstance(value, int):
                described.append([item.name, value])
        return f"{_core.xxh64(np.frombuffer(json.dumps(described).encode(), np.uint8)):016x}"

    def train(self, n_threads: int = 1) -> TaskWeights:
        """Train the task; the weights are the same to the last bit as in a training of the whole tree."""
        is_sparse = len(self.x_indptr) > 0
        native = _core.LinearProblem(
            n_points=self.n_rows,
            n_features=self.n_columns,
            n_labels=self.n_children,
            x_indptr=self.x_indptr if is_sparse else None,
            x_columns=self.x_columns if is_sparse else None,
            x_values=self.x_values,
            y_indptr=self.y_indptr,
            y_columns=self.y_columns,
            y_values=self.y_values if len(self.y_values) > 0 else None,
            child_ptr=np.array([0, self.n_children], np.int64),
            children=~np.arange(self.n_children, dtype=np.int32),
            point_weight=self.row_weight if len(self.row_weight) > 0 else None,
            label_cost=None,
            extra_indptr=np.array([0, len(self.extra_rows)], np.int64),
            extra_points=self.extra_rows,
            stream_offset=self.first_edge,
        )
        local = self.task._replace(node=0, first_edge=self.task.first_edge - self.first_edge)
        weights = train_tasks(native, NodeTasks.of(local), self.settings, self.seed, n_threads)
        if isinstance(weights, LinearWeights) and len(self.features) > 0:
            weights = LinearWeights(weights.indptr, self.features[weights.features], weights.values, weights.bias)
        return TaskWeights(NodeTasks.of(self.task), weights)


def extract_task(problem: TrainingProblem, task: NodeTask) -> ExtractedTask:
    """Return the input of a task without the rest of the data."""
    first_edge, end = (int(place) for place in problem.tree.child_ptr[task.node : task.node + 2])
    arrays = problem.native.extract(task.node)
    cost = float(costs_of_nodes(problem.tree, problem.settings.C)[task.node])
    settings = problem.settings if problem.settings.C == cost else replace(problem.settings, C=cost)
    return ExtractedTask(task, end - first_edge, first_edge, *arrays, settings=settings, seed=problem.seed)


def train_tasks(
    native: _core.LinearProblem,
    tasks: NodeTasks,
    settings: LinearSettings,
    seed: int,
    n_threads: int,
    advance: Advance = None,
    costs: Float32s | None = None,
) -> Weights:
    """Train some tasks of a problem in one native call; one row per edge, in the order of the tasks.

    `costs` has C for each task; by default all have that of the settings.
    """
    if costs is None:
        costs = np.full(len(tasks.node), settings.C, np.float32)
    try:
        indptr, features, values, bias = native.train(
            nodes=tasks.node,
            first_edges=tasks.first_edge,
            n_edges=tasks.n_edges,
            costs=costs,
            loss=settings.loss,
            eps=float(settings.eps),
            max_iter=int(settings.max_iter),
            bias_value=float(settings.bias),
            prune_below=float(settings.prune_below),
            balanced=bool(settings.balanced),
            seed=seed,
            max_memory=settings.max_memory or 0,
            n_threads=n_threads,
            progress=advance,
        )
    except ValueError as error:
        limit = settings.max_memory
        message = str(error) if limit is None else f"max_memory of {limit} bytes is not enough: {error}"
        raise InputError(message) from None
    if len(indptr) == 0:
        return DenseWeights(values.reshape(len(bias), -1), bias)
    return LinearWeights(indptr, features, values, bias)
