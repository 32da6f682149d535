"""Training the linear classifiers of a tree: settings, checks, and the call into the core."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labeltrees import _core
from labeltrees._matrices import Float32s
from labeltrees._progress import watch
from labeltrees._settings import check_settings
from labeltrees._validation import check_n_jobs, check_seed, refuse
from labeltrees.errors import InputError
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.training_data import make_problem
from labeltrees.storage import LinearWeights
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
        """All weights in one row."""
        return self.matrix.reshape(-1)


@dataclass(frozen=True)
class MemoryEstimate:
    """What training takes besides X and Y, in bytes.

    Parameters
    ----------
    fixed : int
        From beginning to end.
    working : int
        At most, while `n_jobs` of the largest nodes are worked on.
    least : int
        At most, while the largest node is worked on alone.
    result : int
        The classifiers, if no weight were dropped; usually a small part of it.
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
) -> LinearWeights | DenseWeights:
    """Train a classifier for every child of every node of `tree`, on the points of the node.

    Parameters
    ----------
    X : sparse or dense matrix (N, d)
        Rows of unit length, as a rule.
    Y : sparse matrix (N, L)
        Values other than 1 weigh a point as a positive of the label. A point without labels is a negative at the root.
    tree : LabelTree
    settings : LinearSettings
    sample_weight : array (N,), optional
    negatives : sparse (N, n_nodes), optional
        Further points on which the children of a node are trained as negatives.
    random_state : int
    n_jobs : int, optional
        Threads; the weights do not depend on it.
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
    seed = check_seed(random_state)
    n_threads = check_n_jobs(n_jobs)
    problem = make_problem(X, Y, tree, settings.label_cost, sample_weight, negatives)
    if settings.max_memory is not None or _logger.isEnabledFor(logging.INFO):
        estimate = _estimate(problem, settings, n_threads)
        _logger.info(
            "Training the classifiers: up to %.0f MiB of work, and %.0f MiB of weights if none were dropped",
            (estimate.fixed + estimate.working) / 2**20,
            estimate.result / 2**20,
        )
        _check_memory(settings, estimate.fixed + estimate.least)
    with watch("Training the classifiers", len(tree.children), progress) as advance:
        try:
            indptr, features, values, bias = problem.train(
                loss=settings.loss,
                cost=float(settings.C),
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
            message = f"max_memory of {settings.max_memory} bytes is not enough: {error}"
            raise InputError(message) from None
    if len(indptr) == 0:
        return DenseWeights(values.reshape(len(bias), -1), bias)
    return LinearWeights(indptr, features, values, bias)


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
    """Return what `train_linear` would take besides its arguments, at most; takes them as it does.

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
