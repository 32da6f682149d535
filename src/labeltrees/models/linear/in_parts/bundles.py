"""Bundles: node tasks put together so that each is worth its overhead and fits into memory.

A bundle is some subtrees below one node, trained from one gathering of their points, or some children of one node that
is too large for that. Which bundles there are changes no weight.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees.models.linear.in_parts.scan import Survey
from labeltrees.models.linear.in_parts.trees import Layout
from labeltrees.models.linear.node_tasks import LANES
from labeltrees.tree.label_tree import LabelTree

BUNDLES = 48  # aim at this many or more, to keep the workers of a small cluster equally busy
LEAST_COST = 100_000_000  # multiplications per pass over the points: about 0.1 s of training
MOST_COST = 10_000_000_000  # about 10 s: large data have more bundles, for more workers


class Bundle(NamedTuple):
    """Subtrees with these roots; or, if there are edges, the edges [first, last) of one node."""

    roots: tuple[int, ...]
    edges: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the bundle as the inputs of a task."""
        return {"roots": list(self.roots), "edges": None if self.edges is None else list(self.edges)}


@dataclass(frozen=True, eq=False)
class NodeSizes:
    """Upper bounds for every node, from counts: points with several labels below a node are counted more than once.

    Parameters
    ----------
    pairs, values : int64 (n_nodes,)
        Pairs of a point and a label below the node, and values in the rows of these points.
    cost, cost_below : float64 (n_nodes,)
        Multiplications in a pass over the points: for the node, and for its subtree.
    """

    pairs: Int64s
    values: Int64s
    cost: Any
    cost_below: Any


def node_sizes(tree: LabelTree, layout: Layout, found: Survey, n_without: int) -> NodeSizes:
    """Return the sizes of all nodes; `n_without` points without labels train the root too."""
    ends_of_pairs = np.concatenate([[0], np.cumsum(found.label_pairs[layout.label_at])])
    ends_of_values = np.concatenate([[0], np.cumsum(found.label_values[layout.label_at])])
    pairs = ends_of_pairs[layout.node_end] - ends_of_pairs[layout.node_start]
    values = np.minimum(ends_of_values[layout.node_end] - ends_of_values[layout.node_start], found.n_values)
    pairs[0] += n_without
    if n_without:
        values[0] = found.n_values
    cost = values.astype(np.float64) * np.diff(tree.child_ptr)
    below = cost.copy()
    parents = tree.parent
    for node in range(tree.n_nodes - 1, 0, -1):  # a child's id is larger than its parent's
        below[parents[node]] += below[node]
    return NodeSizes(pairs, values, cost, below)


def bundle_bytes(sizes: NodeSizes, node: int, n_points: int, n_features: int, n_threads: int) -> int:
    """Return the bytes that training a subtree needs at most, at this node or below it."""
    values, pairs = int(sizes.values[node]), int(sizes.pairs[node])
    rows, columns = min(pairs, n_points), min(values, n_features)
    gathered = values * 8 + rows * 16 + pairs * 24 + n_features * 5
    # A group of lanes; nodes with less than half of the values copy theirs.
    training = columns * (LANES * 4 + 10) + rows * (LANES * 8 + 40) + values * 4
    return gathered + n_threads * training


def target_cost(total: float) -> float:
    """Return the cost that a task should have at most; it does not depend on the number of workers."""
    return min(max(total / BUNDLES, LEAST_COST), MOST_COST)


def plan_bundles(
    tree: LabelTree, sizes: NodeSizes, max_bytes: int, n_points: int, n_features: int, n_threads: int = 1
) -> list[Bundle]:
    """Return bundles that cover all edges of the tree, the largest nodes first."""
    target = target_cost(float(sizes.cost_below[0]))

    def fits(cost: float, n_bytes: int) -> bool:
        return cost <= target and n_bytes <= max_bytes

    def need(node: int) -> int:
        return bundle_bytes(sizes, node, n_points, n_features, n_threads)

    if fits(float(sizes.cost_below[0]), need(0)):
        return [Bundle((0,))]
    bundles: list[Bundle] = []
    open_nodes = [0]
    while open_nodes:
        node = open_nodes.pop(0)
        bundles += _node_bundles(tree, node, float(sizes.cost[node]), target)
        waiting: list[int] = []
        cost, n_bytes = 0.0, 0
        for child in tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist():
            if child < 0:
                continue
            own_cost, own_bytes = float(sizes.cost_below[child]), need(child)
            if not fits(own_cost, own_bytes) and tree.n_nodes > 1:
                open_nodes.append(child)
                continue
            if waiting and not fits(cost + own_cost, n_bytes + own_bytes):
                bundles.append(Bundle(tuple(waiting)))
                waiting, cost, n_bytes = [], 0.0, 0
            waiting.append(child)
            cost, n_bytes = cost + own_cost, n_bytes + own_bytes
        if waiting:
            bundles.append(Bundle(tuple(waiting)))
    return bundles


def _node_bundles(tree: LabelTree, node: int, cost: float, target: float) -> Iterator[Bundle]:
    """Yield one node, in ranges of its children if it costs much; a range never cuts a group of lanes."""
    first, last = (int(place) for place in tree.child_ptr[node : node + 2])
    n_edges = last - first
    n_groups = -(-n_edges // LANES)
    n_ranges = int(min(max(cost // target, 1), n_groups))
    bounds = [n_edges * (n_groups * i // n_ranges) // n_groups for i in range(n_ranges + 1)]
    for begin, end in itertools.pairwise(bounds):
        yield Bundle((node,), (first + begin, first + end))
