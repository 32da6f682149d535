"""Pieces of a tree that one task trains: bundles of node tasks, large enough for the overhead and within memory.

A bundle is some subtrees below one node, whose points are gathered once, or some children of one node that is too large
for that. The weights do not depend on the bundles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees.models.linear.blocks import Blocks, Survey
from labeltrees.models.linear.trees import GrownTree
from labeltrees.tree.label_tree import LabelTree

LANES = 16  # children that are trained together; a task never cuts such a group
BUNDLES = 48  # aim at this many or more, to keep all workers of a small cluster busy
LEAST_COST = 100_000_000  # multiplications per pass over the points: about 0.1 s of training
MOST_COST = 10_000_000_000  # about 10 s: large datasets have more bundles, for more workers


class Bundle(NamedTuple):
    """Subtrees with these roots; or, if there are edges, the edges [first, last) of one node."""

    roots: tuple[int, ...]
    edges: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the bundle in the form of task inputs."""
        return {"roots": list(self.roots), "edges": None if self.edges is None else list(self.edges)}


@dataclass(frozen=True, eq=False)
class NodeSizes:
    """Upper bounds for every node, from counts: points with several labels below a node are counted more than once.

    The `n_without` points without a label in the tree count at the root.
    """

    grown: GrownTree
    found: Survey
    n_without: int

    @cached_property
    def pairs(self) -> Int64s:
        """Pairs of a point and a label below the node (n_nodes,)."""
        pairs = self._sums(self.found.label_pairs)
        pairs[0] += self.n_without
        return pairs

    @cached_property
    def values(self) -> Int64s:
        """Values in the rows of these points (n_nodes,)."""
        values = np.minimum(self._sums(self.found.label_values), self.found.n_values)
        if self.n_without:
            values[0] = self.found.n_values
        return values

    @cached_property
    def cost(self) -> Float64s:
        """Multiplications in a pass over the points of the node (n_nodes,)."""
        return self.values.astype(np.float64) * np.diff(self.grown.tree.child_ptr)

    @cached_property
    def cost_below(self) -> Float64s:
        """Multiplications in a pass over the points, for the subtree of the node (n_nodes,)."""
        below = self.cost.copy()
        parents = self.grown.tree.parent
        for node in range(len(below) - 1, 0, -1):  # a child's id is larger than its parent's
            below[parents[node]] += below[node]
        return below

    def _sums(self, of_labels: Int64s) -> Int64s:
        layout = self.grown.layout
        ends = np.concatenate([[0], np.cumsum(of_labels[layout.label_at])])
        sums: Int64s = ends[layout.node_end] - ends[layout.node_start]
        return sums


def bundle_bytes(sizes: NodeSizes, node: int, n_points: int, n_features: int, n_threads: int) -> int:
    """Return an upper bound of the bytes for training the subtree of a node."""
    values, pairs = int(sizes.values[node]), int(sizes.pairs[node])
    rows, columns = min(pairs, n_points), min(values, n_features)
    gathered = values * 8 + rows * 16 + pairs * 24 + n_features * 5
    # A group of lanes; nodes with less than half of the values copy theirs.
    training = columns * (LANES * 4 + 10) + rows * (LANES * 8 + 40) + values * 4
    return gathered + n_threads * training


def target_cost(total: float) -> float:
    """Return the maximum cost that a task should have; it does not depend on the number of workers."""
    return min(max(total / BUNDLES, LEAST_COST), MOST_COST)


def plan_bundles(sizes: NodeSizes, points: Blocks, max_bytes: int, n_threads: int = 1) -> list[Bundle]:
    """Return bundles that cover all edges of the tree, the largest nodes first."""
    if points.in_memory:
        return [Bundle((0,))]
    tree = sizes.grown.tree
    target = target_cost(float(sizes.cost_below[0]))

    def fits(cost: float, n_bytes: int) -> bool:
        return cost <= target and n_bytes <= max_bytes

    def need(node: int) -> int:
        return bundle_bytes(sizes, node, points.n_points, points.n_features, n_threads)

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
    """Yield the bundles of one node: ranges of its children if it is expensive. A range never cuts a group of lanes."""
    first, last = (int(place) for place in tree.child_ptr[node : node + 2])
    n_edges = last - first
    n_groups = -(-n_edges // LANES)
    n_ranges = int(min(max(cost // target, 1), n_groups))
    bounds = [n_edges * (n_groups * i // n_ranges) // n_groups for i in range(n_ranges + 1)]
    for begin, end in itertools.pairwise(bounds):
        yield Bundle((node,), (first + begin, first + end))


class NodeTasks(NamedTuple):
    """Task i trains the children ``first_edge[i]`` to ``first_edge[i] + n_edges[i]`` of a node.

    Edges are positions in ``tree.children``. The weights of a task depend only on its own input, so tasks can be
    trained in any combination, on any machine.
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


class TreePiece(NamedTuple):
    """A piece of a tree, as a tree.

    Parameters
    ----------
    child_ptr, children : arrays
        Labels are numbered in the order of their positions.
    edge_ids : int64 (n_edges,)
        Number of each edge in the whole tree.
    tasks : NodeTasks
        What to train. The first node is not trained if it only joins several subtrees.
    ranges : list of (int, int)
        The positions of the labels.
    root : int
        The node that is the root of the whole tree, or -1.
    roots : int64
        The nodes that the piece was cut for, in the order of their numbers in the whole tree.
    """

    child_ptr: Int64s
    children: Int32s
    edge_ids: Int64s
    tasks: NodeTasks
    ranges: list[tuple[int, int]]
    root: int
    roots: Int64s


def cut_subtrees(grown: GrownTree, roots: list[int]) -> TreePiece:
    """Return the subtrees with these roots, joined by an extra node if there are several."""
    tree, layout = grown.tree, grown.layout
    nodes = [np.array(roots, np.int64)]
    child_ptr, children = tree.child_ptr, tree.children.astype(np.int64)
    while len(nodes[-1]) > 0:
        below = children[_edges(child_ptr, nodes[-1])]
        nodes.append(below[below >= 0])
    inside = np.sort(np.concatenate(nodes))
    edges = _edges(child_ptr, inside)
    n_children = child_ptr[inside + 1] - child_ptr[inside]
    ranges = _merge([(int(layout.node_start[root]), int(layout.node_end[root])) for root in roots])
    extra = 0 if len(roots) == 1 else 1  # the node that joins them
    targets = children[edges]
    is_node = targets >= 0
    local = np.empty(len(edges), np.int64)
    local[is_node] = np.searchsorted(inside, targets[is_node]) + extra
    local[~is_node] = ~local_labels(layout.position[~targets[~is_node]], ranges)
    edge_ids = edges
    if extra:
        held = np.searchsorted(inside, roots) + extra
        local = np.concatenate([held, local])
        n_children = np.concatenate([[len(roots)], n_children])
        edge_ids = np.concatenate([np.zeros(len(roots), np.int64), edges])
    local_ptr = np.concatenate([[0], np.cumsum(n_children)]).astype(np.int64)
    trained = np.arange(extra, len(n_children))
    root = int(np.searchsorted(inside, 0)) + extra if inside[0] == 0 else -1
    tasks = _tasks(trained, local_ptr[trained], n_children[trained])
    held_nodes = np.searchsorted(inside, np.sort(roots)) + extra
    return TreePiece(local_ptr, local.astype(np.int32), edge_ids, tasks, ranges, root, held_nodes)


def cut_children(grown: GrownTree, node: int, first: int, last: int) -> TreePiece:
    """Return a node whose children have all their labels as direct children, and the edges [first, last) to train.

    The other children are kept: their points are negatives.
    """
    tree, layout = grown.tree, grown.layout
    begin, end = (int(place) for place in tree.child_ptr[node : node + 2])
    edges = np.arange(begin, end)
    start, stop = layout.edge_start[edges], layout.edge_end[edges]
    is_node = tree.children[edges] >= 0
    origin = int(layout.node_start[node])
    own = np.where(is_node, np.cumsum(is_node), ~(start - origin))
    n_below = (stop - start)[is_node]
    ends = np.cumsum(n_below)
    positions = np.repeat(start[is_node] - (ends - n_below), n_below) + np.arange(int(n_below.sum()))
    below = ~(positions - origin)
    local_ptr = np.concatenate([[0, len(edges)], len(edges) + np.cumsum(n_below)]).astype(np.int64)
    children = np.concatenate([own, below]).astype(np.int32)
    edge_ids = np.concatenate([edges, np.zeros(len(below), np.int64)]).astype(np.int64)
    tasks = _tasks(np.zeros(1, np.int64), np.array([first - begin]), np.array([last - first]))
    ranges = [(origin, int(layout.node_end[node]))]
    return TreePiece(local_ptr, children, edge_ids, tasks, ranges, 0 if node == 0 else -1, np.zeros(1, np.int64))


def local_labels(positions: Any, ranges: list[tuple[int, int]]) -> Int64s:
    """Return the index of each position among the positions of all ranges."""
    starts = np.array([begin for begin, _ in ranges])
    before = np.cumsum([0, *(end - begin for begin, end in ranges)])
    number = np.searchsorted(starts, positions, side="right") - 1
    return np.asarray(positions - starts[number] + before[number], np.int64)


def _merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and merged[-1][1] == begin:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged


def _edges(child_ptr: Int64s, nodes: Int64s) -> Int64s:
    counts = child_ptr[nodes + 1] - child_ptr[nodes]
    ends = np.cumsum(counts)
    return np.repeat(child_ptr[nodes] - (ends - counts), counts) + np.arange(int(counts.sum()))


def _tasks(nodes: Any, first: Any, n_edges: Any) -> NodeTasks:
    return NodeTasks(*(np.ascontiguousarray(values, np.int64) for values in (nodes, first, n_edges)))
