"""Ceilings: upper bounds of the scores of all labels below a node, so that a search can skip the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labeltrees.storage.chunks import LinearWeights, TreeLike

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Float64s, Int64s


def logistic_ceilings(tree: TreeLike, weights: LinearWeights) -> Float32s:
    """Return for each node the log of the highest score that a label below it can have relative to the node.

    This is for the logistic loss. For a query of length 1 without negative values a margin is at most the bias plus the
    norm of the positive weights; the score of a label is the product of the sigmoids along its path.

    Parameters
    ----------
    tree : LabelTree
    weights : LinearWeights
        One row for every entry of ``tree.children``.

    Returns
    -------
    float32 (n_nodes,), none above 0

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> tree = SimpleNamespace(child_ptr=np.array([0, 2]), children=np.array([~0, ~1], np.int32), n_labels=2)
    >>> weights = LinearWeights(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([3, 4, -9], np.float32),
    ...                         np.array([-5, -2], np.float32))
    >>> np.exp(logistic_ceilings(tree, weights)).round(2)  # the sigmoid of 5 - 5
    array([0.5], dtype=float32)
    """
    return ceilings_of_norms(tree, weights.bias, positive_norms(weights))


def ceilings_of_norms(tree: TreeLike, bias: Float32s, norms: Float64s) -> Float32s:
    """Return what `logistic_ceilings` returns, from the biases (n_edges,) and the `positive_norms` (n_edges,)."""
    child_ptr, children = np.asarray(tree.child_ptr, np.int64), np.asarray(tree.children, np.int64)
    # A little higher, because margins and scores are computed in single precision.
    margins = np.asarray(bias, np.float64) + 1.0001 * norms + 1e-5
    scores = -np.logaddexp(0.0, -margins)
    ceilings = np.zeros(len(child_ptr) - 1)
    for nodes in reversed(tree_levels(child_ptr, children)):
        edges, starts = edges_of(child_ptr, nodes)
        below = np.where(children[edges] >= 0, ceilings[np.maximum(children[edges], 0)], 0.0)
        ceilings[nodes] = np.maximum.reduceat(scores[edges] + below, starts)
    rounded = ceilings.astype(np.float32)
    return np.minimum(np.nextafter(rounded, np.float32(np.inf)), np.float32(0.0))


def positive_norms(weights: LinearWeights) -> Float64s:
    """Return the norm of each row's positive weights, as stored, in half precision."""
    stored = np.clip(np.asarray(weights.values), 0.0, 65504.0).astype(np.float16)
    starts, ends = np.asarray(weights.indptr[:-1], np.int64), np.asarray(weights.indptr[1:], np.int64)
    squares = np.zeros(len(starts))
    filled = np.flatnonzero(ends > starts)
    if len(filled):
        squares[filled] = np.add.reduceat(stored.astype(np.float64) ** 2, starts[filled])
    return np.asarray(np.sqrt(squares))


def tree_levels(child_ptr: Int64s, children: Int64s) -> list[Int64s]:
    """Return the nodes of each depth, from the root."""
    levels = [np.zeros(1, np.int64)]
    while len(levels[-1]):
        below = children[edges_of(child_ptr, levels[-1])[0]]
        levels.append(below[below >= 0])
    return levels[:-1]


def edges_of(child_ptr: Int64s, nodes: Int64s) -> tuple[Int64s, NDArray[np.int64]]:
    """Return the edges below some nodes, and where each node's start among them."""
    counts = child_ptr[nodes + 1] - child_ptr[nodes]
    ends = np.cumsum(counts)
    return np.repeat(child_ptr[nodes] - ends + counts, counts) + np.arange(counts.sum()), ends - counts
