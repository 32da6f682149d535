"""Training the classifiers of a tree: a whole tree in one native call, or bundles of nodes as tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._losses import LOSSES
from labeltrees._matrices import Float32s
from labeltrees._progress import ProgressArgument, watch
from labeltrees._settings import check_settings
from labeltrees._validation import check_n_jobs, check_seed, refuse
from labeltrees.errors import InputError, Parameter
from labeltrees.models.common.error_costs import check_finite
from labeltrees.models.linear.cost import costs_of_nodes
from labeltrees.models.linear.pieces import Bundle, NodeTasks, cut_children, cut_subtrees, plan_bundles
from labeltrees.models.linear.problem import RoutedTree, TrainingInputs, make_problem, piece_problem, whole_problem
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.trees import read_tree
from labeltrees.storage import LinearWeights
from labeltrees.storage.chunks import positive_norms
from labeltrees.tasks import Outcome, Results, Runner, Task
from labeltrees.tree.label_tree import LabelTree

_logger = logging.getLogger("labeltrees.training")


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


@dataclass(frozen=True)
class MemoryEstimate:
    """Upper bounds of the bytes that training needs in addition to X and Y.

    Parameters
    ----------
    fixed : int
        Throughout training.
    working : int
        While the `n_jobs` largest nodes are trained at once.
    least : int
        While the largest node is trained alone.
    result : int
        The classifiers, if no weight is dropped; usually they are much smaller.
    """

    fixed: int
    working: int
    least: int
    result: int


def train_linear(
    X: Any,
    Y: Any,
    tree: LabelTree,
    settings: LinearSettings,
    *,
    sample_weight: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> Weights:
    """Train a classifier for every child of every node of `tree`, on the points of the node.

    Parameters
    ----------
    X : sparse or dense matrix (N, d)
        Usually with rows of unit length.
    Y : sparse matrix (N, L)
        A value is the weight of the point as a positive of the label. A point without labels is a negative at the root.
    tree : LabelTree
    settings : LinearSettings
        ``settings.max_memory`` limits the memory for training: fewer nodes are then trained at once, and `InputError`
        is raised if the limit is too low.
    sample_weight : array (N,), optional
    random_state : int
    n_jobs : int, optional
        Number of threads. The weights do not depend on it.
    progress : bool or callable(done, total), optional

    Returns
    -------
    LinearWeights, or DenseWeights for dense X
        One row for every entry of ``tree.children``.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> X, Y = np.eye(3, dtype=np.float32), np.eye(3)
    >>> train_linear(X, Y, lt.flat_tree(3), LinearSettings(eps=1e-4)).matrix.round(1)
    array([[ 0.8, -0.5, -0.5],
           [-0.5,  0.8, -0.5],
           [-0.5, -0.5,  0.8]], dtype=float32)
    """
    check_settings(settings)
    problem = make_problem(X, Y, tree, settings.label_cost, sample_weight)
    return _train_whole(problem, tree, settings, check_seed(random_state), check_n_jobs(n_jobs), progress)


def _train_whole(
    problem: _core.LinearProblem,
    tree: LabelTree,
    settings: LinearSettings,
    seed: int,
    n_threads: int,
    progress: ProgressArgument,
) -> Weights:
    if settings.max_memory is not None or _logger.isEnabledFor(logging.INFO):
        need = _estimate(problem, settings, n_threads)
        _logger.info(
            "Training the classifiers: up to %.0f MiB while training, and %.0f MiB of weights if none are dropped",
            (need.fixed + need.working) / 2**20,
            need.result / 2**20,
        )
        if settings.max_memory is not None and settings.max_memory < need.fixed + need.least:
            allowed = f"at least {need.fixed + need.least} bytes for these points and this tree"
            refuse("max_memory", allowed, settings.max_memory)
    with watch("Training the classifiers", len(tree.children), progress, unit="classifiers") as advance:
        costs = costs_of_nodes(tree, settings.C)
        return train_tasks(problem, NodeTasks.of_tree(tree), settings, seed, n_threads, costs, advance)


def estimate_memory(
    X: Any, Y: Any, tree: LabelTree, settings: LinearSettings, *, sample_weight: Any = None, n_jobs: int | None = None
) -> MemoryEstimate:
    """Return how much memory `train_linear` would need for these arguments.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> estimate_memory(np.eye(3), np.eye(3), lt.flat_tree(3), LinearSettings()).result
    72
    """
    check_settings(settings)
    problem = make_problem(X, Y, tree, settings.label_cost, sample_weight)
    return _estimate(problem, settings, check_n_jobs(n_jobs))


def _estimate(problem: _core.LinearProblem, settings: LinearSettings, n_threads: int) -> MemoryEstimate:
    fixed, least, working, result = problem.memory(bool(settings.balanced), n_threads)
    return MemoryEstimate(fixed, working, least, result)


def train_tasks(
    native: _core.LinearProblem,
    tasks: NodeTasks,
    settings: LinearSettings,
    seed: int,
    n_threads: int,
    costs: Float32s,
    advance: Callable[[int], object] | None = None,
) -> Weights:
    """Train node tasks of a problem; `costs` has C of each. Return one row per edge, in the order of the tasks."""
    try:
        indptr, features, values, bias = native.train(
            nodes=tasks.node,
            first_edges=tasks.first_edge,
            n_edges=tasks.n_edges,
            costs=costs,
            settings=settings,
            seed=seed,
            n_threads=n_threads,
            progress=advance,
        )
    except ValueError as error:
        limit = settings.max_memory
        if limit is None:
            raise InputError(str(error)) from None
        message = "{} of {} bytes is not enough: {}"
        raise InputError(message, Parameter("max_memory"), limit, error) from None
    if len(indptr) == 0:
        return DenseWeights(values.reshape(len(bias), -1), bias)
    return LinearWeights(indptr, features, values, bias)


def train_bundle(
    results: Results,
    *,
    inputs: TrainingInputs,
    roots: list[int],
    edges: list[int] | None,
    n_jobs: int | None = None,
    spill_above: int | None = None,
    progress: ProgressArgument = None,
) -> Outcome:
    """Return the classifiers of a bundle: weights and biases, and edge numbers unless it is the whole tree."""
    grown = read_tree(results, inputs.tree, inputs.points.n_labels)
    tree = grown.tree
    settings, seed, n_threads = inputs.settings, inputs.seed, check_n_jobs(n_jobs)
    if inputs.points.in_memory:
        weights = _train_whole(whole_problem(results, inputs, tree), tree, settings, seed, n_threads, progress)
        arrays: dict[str, Any] = {}
    else:
        piece = cut_subtrees(grown, roots) if edges is None else cut_children(grown, roots[0], *edges)
        problem, features, _ = piece_problem(results, inputs, piece, grown.layout, spill_above=spill_above)
        nodes = np.searchsorted(tree.child_ptr, piece.edge_ids[piece.tasks.first_edge], side="right") - 1
        costs = np.ascontiguousarray(costs_of_nodes(tree, settings.C)[nodes])
        weights = train_tasks(problem, piece.tasks, settings, seed, n_threads, costs)
        assert isinstance(weights, LinearWeights)
        weights = replace(weights, features=features[weights.features])
        arrays = {"edges": piece.edge_ids[piece.tasks.edges()]}
    check_finite(weights)
    arrays |= {"bias": weights.bias, "values": weights.values}
    if isinstance(weights, DenseWeights):
        return arrays, {}
    arrays |= {"indptr": weights.indptr, "features": weights.features}
    if LOSSES[settings.loss].ceilings is not None:
        arrays["norms"] = positive_norms(weights)
    return arrays, {}


def train_tree(
    routed: RoutedTree, C: Any, runner: Runner, progress: ProgressArgument = None
) -> list[tuple[Bundle, str]]:
    """Train all classifiers of a tree; return the bundles, and the names of the results with their classifiers."""
    bundles = plan_bundles(routed.sizes, routed.inputs.points, runner.task_bytes, check_n_jobs(runner.n_jobs))
    how = {"n_jobs": runner.n_jobs, "spill_above": runner.task_bytes // 2, "progress": progress}
    inputs = routed.inputs.with_cost(C)
    tasks = [Task(train_bundle, {"inputs": inputs, **bundle.to_json()}, how) for bundle in bundles]
    runner.run("Training the classifiers", tasks)
    return [(bundle, task.name) for bundle, task in zip(bundles, tasks, strict=True)]
