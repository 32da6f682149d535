"""Training the linear classifiers of a tree: checks, memory, and the plan of node tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labeltrees import _core
from labeltrees._progress import watch
from labeltrees._settings import check_settings
from labeltrees._validation import check_n_jobs, check_seed, refuse
from labeltrees.models.linear.auto_cost import costs_of_nodes
from labeltrees.models.linear.node_tasks import NodeTasks, Weights, train_tasks
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.training_data import make_problem
from labeltrees.tree.label_tree import LabelTree

_logger = logging.getLogger("labeltrees.training")


@dataclass(frozen=True)
class MemoryEstimate:
    """Upper bounds of the bytes that training needs in addition to X and Y.

    Parameters
    ----------
    fixed : int
        During the whole training.
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
    negatives: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
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
    negatives : sparse (N, n_nodes), optional
        Additional points that are negatives for all children of a node.
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
    native = make_problem(X, Y, tree, settings.label_cost, sample_weight, negatives)
    seed = check_seed(random_state)
    n_threads = check_n_jobs(n_jobs)
    if settings.max_memory is not None or _logger.isEnabledFor(logging.INFO):
        estimate = _estimate(native, settings, n_threads)
        _logger.info(
            "Training the classifiers: up to %.0f MiB while training, and %.0f MiB of weights if none are dropped",
            (estimate.fixed + estimate.working) / 2**20,
            estimate.result / 2**20,
        )
        _check_memory(settings, estimate.fixed + estimate.least)
    with watch("Training the classifiers", len(tree.children), progress, unit="classifiers") as advance:
        tasks, costs = NodeTasks.of_tree(tree), costs_of_nodes(tree, settings.C)
        return train_tasks(native, tasks, settings, seed, n_threads, advance, costs)


def estimate_memory(
    X: Any,
    Y: Any,
    tree: LabelTree,
    settings: LinearSettings,
    *,
    sample_weight: Any = None,
    negatives: Any = None,
    n_jobs: int | None = None,
) -> MemoryEstimate:
    """Return how much memory `train_linear` would need for these arguments.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> estimate_memory(np.eye(3), np.eye(3), lt.flat_tree(3), LinearSettings()).result
    72
    """
    check_settings(settings)
    problem = make_problem(X, Y, tree, settings.label_cost, sample_weight, negatives)
    return _estimate(problem, settings, check_n_jobs(n_jobs))


def _estimate(problem: _core.LinearProblem, settings: LinearSettings, n_threads: int) -> MemoryEstimate:
    fixed, least, working, result = problem.memory(bool(settings.balanced), n_threads)
    return MemoryEstimate(fixed, working, least, result)


def _check_memory(settings: LinearSettings, least: int) -> None:
    if settings.max_memory is not None and settings.max_memory < least:
        refuse("max_memory", f"at least {least} bytes for these points and this tree", settings.max_memory)
