"""Node tasks: the classifiers of one node, or of some of its children, as the unit of training.

The weights of a task depend only on its own input, so any tasks can be trained together, or somewhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float32s, Int64s
from labeltrees.errors import InputError
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


class NodeTasks(NamedTuple):
    """Task i trains the children ``first_edge[i]`` to ``first_edge[i] + n_edges[i]`` of a node.

    Edges are positions in ``tree.children``.
    """

    node: Int64s
    first_edge: Int64s
    n_edges: Int64s

    @classmethod
    def of_tree(cls, tree: LabelTree) -> NodeTasks:
        """Return one task per node."""
        return cls(np.arange(tree.n_nodes), tree.child_ptr[:-1], np.diff(tree.child_ptr))

    def edges(self) -> Int64s:
        """Return the edges of all classifiers, task by task."""
        ends = np.cumsum(self.n_edges)
        starts = np.repeat(self.first_edge - (ends - self.n_edges), self.n_edges)
        return starts + np.arange(len(starts))


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
            settings=settings,
            seed=seed,
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
