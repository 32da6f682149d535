"""Training only what changed: the classifiers of a tree with new labels or new points.

A classifier whose positives are the same, and whose negatives have hardly changed, keeps its weights. New classifiers,
and those with many new positives, are trained from scratch on all points of their node. The others are trained further
from their old weights, on the new points of their node and a sample of the old ones: dual coordinate descent continues
with the dual variables that follow from the old weights. A sampled point has the weight of all points it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._matrices import CheckedX, Float32s, Int32s, Int64s, SparseRows
from labeltrees._validation import check_n_jobs
from labeltrees.models.common.error_costs import check_finite
from labeltrees.models.linear.compact import ceilings_of
from labeltrees.models.linear.cost import costs_of_nodes
from labeltrees.models.linear.features import unit_rows
from labeltrees.models.linear.pieces import NodeTasks
from labeltrees.models.linear.problem import points_without
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.train import DenseWeights
from labeltrees.models.linear.trees import Layout, lay_out
from labeltrees.storage import ChunkStore, LinearWeights
from labeltrees.storage.chunks import edges_of
from labeltrees.storage.splice import index_ranges, splice_chunks, take_rows, unpack_nodes
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.placement import PlacedTree

NEGATIVES_SHARE = 0.1  # a classifier without new positives is trained again if its negatives grow by more than this
COLD_SHARE = 1.0  # a classifier whose positives grow by at least this share is trained on all points of its node
SAMPLED = 4.0  # least number of old points per new point of a node, if classifiers start from their old weights
WARM_PASSES = 4  # over these points; larger values of both are more precise and slower
KEEP, WARM, COLD = 0, 1, 2
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class UpdatePoints:
    """The points of an update.

    Parameters
    ----------
    X : csr_array or dense array (n, d)
        Scaled as the model scales points.
    Y : csr_array (n, L)
    weights : float64 (n,), optional
    is_new : bool (n,)
        Points that the model has not been trained on.
    """

    X: Any
    Y: Any
    weights: Any
    is_new: Flags


class Retrained(NamedTuple):
    """The chunks of an updated tree, and how many classifiers were kept, trained further or trained from scratch."""

    store: ChunkStore
    n_kept: int
    n_warm: int
    n_cold: int


class _Pairs(NamedTuple):
    """Pairs of a point and a label in the order of the tree's labels, with the range of each edge and node."""

    points: Int32s
    costs: Any  # of each pair, or None
    edge_start: Int64s
    edge_end: Int64s
    node_start: Int64s
    node_end: Int64s


def _sorted_pairs(layout: Layout, Y: Any, costs: Any) -> _Pairs:
    rows = np.repeat(np.arange(Y.shape[0], dtype=np.int32), np.diff(Y.indptr))
    positions = layout.position[Y.indices]
    used = positions >= 0
    positions, rows = positions[used], rows[used]
    order = np.argsort(positions, kind="stable")
    ranges = (layout.edge_start, layout.edge_end, layout.node_start, layout.node_end)
    ends = np.concatenate([[0], np.cumsum(np.bincount(positions, minlength=len(layout.label_at)))])
    starts = [ends[bounds] for bounds in ranges]
    return _Pairs(rows[order], None if costs is None else costs[used][order], *starts)


def _pairs_of(pairs: _Pairs, wanted: Flags) -> _Pairs:
    """Return the pairs of some points, without their costs."""
    used = wanted[pairs.points]
    before = np.concatenate([[0], np.cumsum(used)])
    return _Pairs(pairs.points[used], None, *(before[bounds] for bounds in pairs[2:]))


def plan_edges(placed: PlacedTree, layout: Layout, points: UpdatePoints) -> NDArray[np.int8]:
    """Return for each edge of a tree whether its classifier is kept, trained further, or trained from scratch."""
    tree = placed.tree
    n_labels = tree.n_labels
    label_of_pair, is_new = points.Y.indices, np.repeat(points.is_new, np.diff(points.Y.indptr))
    sums = []
    for some in (~is_new, is_new):
        counts = np.bincount(label_of_pair[some], minlength=n_labels)
        ends = np.concatenate([[0], np.cumsum(counts[layout.label_at])])
        sums.append((ends[layout.edge_end] - ends[layout.edge_start], ends[layout.node_end] - ends[layout.node_start]))
    (old_edges, old_nodes), (new_edges, new_nodes) = sums
    without = points_without(points.Y, tree.label_parent >= 0)
    old_nodes[0] += (~points.is_new[without]).sum()
    new_nodes[0] += points.is_new[without].sum()
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr))
    states = np.full(len(tree.children), KEEP, np.int8)
    more_negatives = (new_nodes[node] - new_edges) > NEGATIVES_SHARE * (old_nodes[node] - old_edges)
    states[(new_edges > 0) | more_negatives] = WARM
    states[(new_edges > 0) & (new_edges >= COLD_SHARE * old_edges)] = COLD
    states[placed.old_edge < 0] = COLD
    return states


class _Problem(NamedTuple):
    """Some classifiers of a tree as a separate tree, with one node for each node that has any of them.

    Parameters
    ----------
    edges : int64
        The edges of the classifiers in the whole tree, node by node.
    node_of_edge : int64
        The node of each edge.
    nodes : int64
        The nodes, ascending.
    pairs : (labels, points, costs)
        Positive pairs: a label is an index into `edges`.
    extra_ptr, extra : arrays
        The points of each node; those without a positive pair are negatives.
    """

    edges: Int64s
    node_of_edge: Int64s
    nodes: Int64s
    pairs: tuple[Any, Any, Any]
    extra_ptr: Int64s
    extra: Int32s


def cold_problem(tree: LabelTree, edges: Int64s, pairs: _Pairs, without: Int32s) -> _Problem:
    """Return classifiers to be trained on all points of their node."""
    of_node = np.searchsorted(tree.child_ptr, edges, side="right") - 1
    nodes = np.unique(of_node)
    own = index_ranges(pairs.edge_start[edges], pairs.edge_end[edges])
    labels = np.repeat(np.arange(len(edges)), pairs.edge_end[edges] - pairs.edge_start[edges])
    extra = pairs.points[index_ranges(pairs.node_start[nodes], pairs.node_end[nodes])]
    counts = pairs.node_end[nodes] - pairs.node_start[nodes]
    extra_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if len(nodes) and nodes[0] == 0 and len(without):
        extra = np.concatenate([extra[: extra_ptr[1]], without, extra[extra_ptr[1] :]])
        extra_ptr[1:] += len(without)
    costs = None if pairs.costs is None else pairs.costs[own]
    return _Problem(edges, of_node, nodes, (labels, pairs.points[own], costs), extra_ptr, extra.astype(np.int32))


def warm_problems(
    tree: LabelTree,
    layout: Layout,
    edges: Int64s,
    points: UpdatePoints,
    pairs: _Pairs,
    costs: Any,
    without: Int32s,
    seed: int,
) -> Iterator[tuple[int, _Problem]]:
    """Yield classifiers to be trained on the new points of their node and a sample of the old ones.

    A node takes every old point, or a random half, a quarter, ... of them. Nodes with the same sample are one problem;
    it comes with how many old points each sampled one stands for.
    """
    of_node = np.searchsorted(tree.child_ptr, edges, side="right") - 1
    nodes = np.unique(of_node)
    new, old = (_pairs_of(pairs, wanted) for wanted in (points.is_new, ~points.is_new))
    total = int(points.is_new.sum())
    # At most all points: one with several labels below a node counts once.
    n_new = np.minimum(new.node_end[nodes] - new.node_start[nodes], total)
    n_old = np.minimum(old.node_end[nodes] - old.node_start[nodes], len(points.is_new) - total)
    n_for_one = np.maximum(n_old / (SAMPLED * np.maximum(n_new, 1)), 1)
    strides = (1 << np.log2(n_for_one).astype(np.int64)).astype(np.int64)
    draw = np.random.default_rng([seed, len(points.is_new)]).random(len(points.is_new))
    for stride in np.unique(strides).tolist():
        own = nodes[strides == stride]
        is_used = points.is_new | (draw * stride < 1)
        rows = [some.points[index_ranges(some.node_start[own], some.node_end[own])] for some in (new, old)]
        node_of_row = [np.repeat(own, some.node_end[own] - some.node_start[own]) for some in (new, old)]
        if own[0] == 0:
            rows.append(without)
            node_of_row.append(np.zeros(len(without), np.int64))
        row, node = np.concatenate(rows), np.concatenate(node_of_row)
        key = np.unique((node * points.Y.shape[0] + row)[is_used[row]])
        node, row = key // points.Y.shape[0], (key % points.Y.shape[0]).astype(np.int32)
        yield stride, _problem_of_rows(tree, layout, edges[np.isin(of_node, own)], node, row, points.Y, costs)


def _problem_of_rows(
    tree: LabelTree, layout: Layout, edges: Int64s, node_of_row: Int64s, row: Int32s, Y: Any, costs: Any
) -> _Problem:
    """Return classifiers to be trained on given points of their nodes, sorted by node."""
    of_node = np.searchsorted(tree.child_ptr, edges, side="right") - 1
    nodes = np.unique(of_node)
    lengths = np.diff(Y.indptr)[row].astype(np.int64)
    entries = index_ranges(Y.indptr[row].astype(np.int64), Y.indptr[row].astype(np.int64) + lengths)
    node = np.repeat(node_of_row, lengths)
    position = layout.position[Y.indices[entries]].astype(np.int64)
    inside = (position >= layout.node_start[node]) & (position < layout.node_end[node])
    n_positions = len(layout.label_at) + 1
    all_nodes = np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr))
    keys = all_nodes * n_positions + layout.edge_start
    edge = np.searchsorted(keys, node[inside] * n_positions + position[inside], side="right") - 1
    number = np.full(len(tree.children), -1, np.int64)
    number[edges] = np.arange(len(edges))
    chosen = number[edge] >= 0
    pair_points = np.repeat(row, lengths)[inside][chosen]
    pair_costs = None if costs is None else costs[entries[inside][chosen]]
    counts = np.bincount(np.searchsorted(nodes, node_of_row), minlength=len(nodes))
    extra_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _Problem(edges, of_node, nodes, (number[edge][chosen], pair_points, pair_costs), extra_ptr, row)


def train_problem(
    problem: _Problem,
    X: Any,
    weights: Any,
    settings: LinearSettings,
    node_costs: Float32s,
    seed: int,
    n_jobs: int | None,
    start: LinearWeights | None = None,
    is_new: Any = None,
) -> LinearWeights:
    """Train the classifiers of a problem, from the weights `start` if given; `is_new` marks new points then."""
    tree_nodes, n_edges = len(problem.nodes), len(problem.edges)
    labels, points, costs = problem.pairs
    order = np.argsort(points, kind="stable")
    n_points = X.shape[0]
    y_indptr = np.concatenate([[0], np.cumsum(np.bincount(points, minlength=n_points))]).astype(np.int64)
    counts = np.bincount(np.searchsorted(problem.nodes, problem.node_of_edge), minlength=tree_nodes)
    child_ptr = np.concatenate([[0, tree_nodes], tree_nodes + np.cumsum(counts)]).astype(np.int64)
    children = np.concatenate([np.arange(1, tree_nodes + 1), ~np.arange(n_edges)]).astype(np.int32)
    rows: Any = CheckedX(X).rows
    sparse = isinstance(rows, SparseRows)
    native = _core.LinearProblem(
        n_points=n_points,
        n_features=X.shape[1],
        n_labels=n_edges,
        x_indptr=rows.indptr if sparse else None,
        x_columns=rows.indices if sparse else None,
        x_values=rows.values if sparse else rows.reshape(-1),
        y_indptr=y_indptr,
        y_columns=labels[order].astype(np.int32),
        y_values=None if costs is None else costs[order].astype(np.float32),
        child_ptr=child_ptr,
        children=children,
        point_weight=None if weights is None else np.ascontiguousarray(weights, np.float32),
        label_cost=None,
        extra_indptr=np.concatenate([[0], problem.extra_ptr]).astype(np.int64),
        extra_points=np.ascontiguousarray(problem.extra, np.int32),
        edge_ids=np.concatenate([np.zeros(tree_nodes, np.int64), problem.edges]),
        n_whole=len(rows.values) if sparse else rows.size,
    )
    tasks = NodeTasks(np.arange(1, tree_nodes + 1), child_ptr[1:-1], np.diff(child_ptr)[1:])
    warm: dict[str, Any] = {}
    if start is not None:
        warm = {
            "start_indptr": start.indptr,
            "start_features": start.features,
            "start_values": start.values,
            "start_bias": start.bias,
            "is_new": np.ascontiguousarray(is_new, np.uint8),
        }
    found = native.train(
        nodes=tasks.node,
        first_edges=np.ascontiguousarray(tasks.first_edge),
        n_edges=np.ascontiguousarray(tasks.n_edges),
        costs=np.ascontiguousarray(node_costs[problem.nodes]),
        settings=settings,
        seed=seed,
        n_threads=check_n_jobs(n_jobs),
        progress=None,
        **warm,
    )
    trained = (
        LinearWeights(*found) if len(found[0]) else _as_sparse(DenseWeights(found[2].reshape(n_edges, -1), found[3]))
    )
    check_finite(trained)
    return trained


def _as_sparse(weights: DenseWeights) -> LinearWeights:
    n, d = weights.matrix.shape
    columns = np.tile(np.arange(d, dtype=np.int32), n)
    return LinearWeights(np.arange(n + 1) * d, columns, weights.matrix.reshape(-1), weights.bias)


def retrain(
    placed: PlacedTree,
    store: ChunkStore,
    points: UpdatePoints,
    settings: LinearSettings,
    C: Any,
    seed: int,
    columns: Int64s,
    n_jobs: int | None = None,
    states: NDArray[np.int8] | None = None,
) -> Retrained:
    """Return the chunks of a tree with new labels or points.

    Parameters
    ----------
    placed : PlacedTree
    store : ChunkStore
        The chunks of the old tree.
    points : UpdatePoints
        Old and new points.
    settings : LinearSettings
    C : float or sequence of float
        For all nodes, or by depth.
    columns : int64 (store.n_features,)
        The column of each feature of the store, ascending; the other columns of the points are new features.
    states : int8 (n_edges,), optional
        As returned by `plan_edges`, the default.
    """
    tree = placed.tree
    layout = lay_out(tree)
    if states is None:
        states = plan_edges(placed, layout, points)
    if settings.balanced:
        states = np.where(states == WARM, COLD, states)  # balancing needs all points of a node
    costs = _pair_costs(points.Y, settings.label_cost)
    without = points_without(points.Y, tree.label_parent >= 0)
    node_costs = costs_of_nodes(tree, C)
    plain = replace(settings, label_cost=None)
    how = (node_costs, seed, n_jobs)
    cold, warm = np.flatnonzero(states == COLD), np.flatnonzero(states == WARM)
    node_of_edge = np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr))
    changed = np.zeros(tree.n_nodes, dtype=bool)
    changed[node_of_edge[states != KEEP]] = True
    changed |= ~_same_children(placed, store)
    if points.X.shape[1] > store.n_features:
        changed[:] = True
    old, place = _old_classifiers(placed, store, changed, columns, n_jobs)
    parts, n_rows = [old], len(old.bias)
    pairs = _sorted_pairs(layout, points.Y, costs)
    if len(cold):
        parts.append(train_problem(cold_problem(tree, cold, pairs, without), points.X, points.weights, plain, *how))
        place[cold] = n_rows + np.arange(len(cold))
        n_rows += len(cold)
    few = replace(plain, max_iter=min(plain.max_iter, WARM_PASSES))
    for stride, problem in warm_problems(tree, layout, warm, points, pairs, costs, without, seed):
        weights = points.weights
        if stride > 1:
            weights = np.where(points.is_new, 1.0, stride) * (1.0 if weights is None else weights)
        start = take_rows([old], place[problem.edges])
        parts.append(train_problem(problem, points.X, weights, few, *how, start=start, is_new=points.is_new))
        place[problem.edges] = n_rows + np.arange(len(problem.edges))
        n_rows += len(problem.edges)
    edges = np.flatnonzero(changed[node_of_edge])
    rows = take_rows(parts, place[edges])
    made = pack_changed(placed, store, changed, rows, points.X.shape[1], columns, n_jobs)
    return Retrained(made, int((states == KEEP).sum()), len(warm), len(cold))


def retrain_alone(
    placed: PlacedTree,
    store: ChunkStore,
    points: UpdatePoints,
    settings: LinearSettings,
    C: Any,
    seed: int,
    columns: Int64s,
    n_jobs: int | None = None,
) -> Retrained:
    """Return the chunks of a tree with new labels, trained without old points.

    Old classifiers keep their weights. A new one is trained on the new points of its node, with one point for each old
    child of the node as a negative: the positive weights of the child's classifier, scaled to unit length. The model
    needs to store nothing else for this.
    """
    tree = placed.tree
    layout = lay_out(tree)
    states = np.where(placed.old_edge < 0, COLD, KEEP)
    cold = np.flatnonzero(states == COLD)
    node_of_edge = np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr))
    changed = np.zeros(tree.n_nodes, dtype=bool)
    changed[node_of_edge[cold]] = True
    if points.X.shape[1] > store.n_features:
        changed[:] = True
    old, place = _old_classifiers(placed, store, changed, columns, n_jobs)
    edges = np.flatnonzero(changed[node_of_edge])
    kept = edges[states[edges] == KEEP]
    parts = [old]
    if len(cold):
        pairs = _sorted_pairs(layout, points.Y, _pair_costs(points.Y, settings.label_cost))
        problem = cold_problem(tree, cold, pairs, np.zeros(0, np.int32))
        siblings = [kept[node_of_edge[kept] == node] for node in problem.nodes.tolist()]
        rows = take_rows([old], place[np.concatenate([np.zeros(0, np.int64), *siblings])])
        X, weights = _with_rows(points, positive_unit_rows(rows, points.X.shape[1]))
        first = points.X.shape[0]
        extra, extra_ptr = [], [0]
        for number, own in enumerate(siblings):
            extra.append(problem.extra[problem.extra_ptr[number] : problem.extra_ptr[number + 1]])
            extra.append(first + np.arange(len(own), dtype=np.int32))
            first += len(own)
            extra_ptr.append(extra_ptr[-1] + len(extra[-2]) + len(extra[-1]))
        problem = problem._replace(extra=np.concatenate(extra), extra_ptr=np.array(extra_ptr, np.int64))
        plain = replace(settings, label_cost=None)
        parts.append(train_problem(problem, X, weights, plain, costs_of_nodes(tree, C), seed, n_jobs))
        place[cold] = len(old.bias) + np.arange(len(cold))
    rows = take_rows(parts, place[edges])
    made = pack_changed(placed, store, changed, rows, points.X.shape[1], columns, n_jobs)
    return Retrained(made, int((states == KEEP).sum()), 0, len(cold))


def _old_classifiers(
    placed: PlacedTree, store: ChunkStore, changed: Flags, columns: Int64s, n_jobs: int | None
) -> tuple[LinearWeights, Int64s]:
    """Return the old classifiers of changed nodes, and the row of each edge of the tree among them (-1: none)."""
    nodes = placed.old_node[changed & (placed.old_node >= 0)]
    old_edges, _ = edges_of(store.child_ptr, nodes)
    row_of_old = np.full(len(store.children) + 1, -1, np.int64)  # the last is that of new edges, -1
    row_of_old[old_edges] = np.arange(len(old_edges))
    return move_columns(unpack_nodes(store, nodes, n_jobs), columns), row_of_old[placed.old_edge]


def move_columns(weights: LinearWeights, columns: Int64s) -> LinearWeights:
    """Return classifiers whose features have new numbers."""
    if np.array_equal(columns, np.arange(len(columns))):
        return weights
    return replace(weights, features=columns[weights.features].astype(np.int32))


def positive_unit_rows(weights: LinearWeights, n_features: int) -> Any:
    """Return the positive weights of classifiers as rows of unit length."""
    rows = sp.csr_array(
        (np.maximum(weights.values, 0), weights.features, weights.indptr), shape=(len(weights.bias), n_features)
    )
    rows.eliminate_zeros()
    return unit_rows(rows)


def _with_rows(points: UpdatePoints, rows: Any) -> tuple[Any, Any]:
    """Return points and weights with more points of weight 1."""
    weights = None if points.weights is None else np.concatenate([points.weights, np.ones(rows.shape[0])])
    if isinstance(points.X, np.ndarray):
        return np.concatenate([points.X, rows.toarray()]), weights
    X = sp.csr_array(sp.vstack([points.X, rows], "csr"), dtype=np.float32)
    X.sort_indices()
    return X, weights


def pack_changed(
    placed: PlacedTree,
    store: ChunkStore,
    changed: Flags,
    rows: LinearWeights,
    n_features: int,
    columns: Int64s,
    n_jobs: int | None,
) -> ChunkStore:
    """Return the chunks of a changed tree; those of unchanged nodes are copied."""
    tree = placed.tree
    if n_features > store.n_features:  # new features have the last ranks
        rank = np.zeros(0 if store.matrices else n_features, np.int32)
        if not store.matrices:
            is_new = np.ones(n_features, dtype=bool)
            is_new[columns] = False
            rank[columns], rank[is_new] = store.feature_rank, np.arange(store.n_features, n_features)
        store = replace(store, n_features=n_features, feature_rank=rank)
    matrix: Any = rows
    if store.matrices:
        matrix = np.zeros((len(rows.bias), n_features), np.float32)
        matrix[np.repeat(np.arange(len(rows.bias)), np.diff(rows.indptr)), rows.features] = rows.values
    copied = np.where(changed, -1, placed.old_node)
    arrays = (tree.child_ptr, tree.children, tree.n_labels, copied, matrix, rows.bias)
    made = splice_chunks(store, *arrays, tree.mass(), n_jobs)
    if store.ceilings is not None:
        made = replace(made, ceilings=ceilings_of(tree, made, n_jobs))
    return made


def _same_children(placed: PlacedTree, store: ChunkStore) -> Flags:
    """Return which nodes have exactly the children of their old node, in the same order."""
    tree = placed.tree
    first = placed.old_edge[tree.child_ptr[:-1]]
    sizes = np.diff(tree.child_ptr)
    is_old = placed.old_node >= 0
    same = is_old & (sizes == np.diff(store.child_ptr)[np.maximum(placed.old_node, 0)])
    same &= first == store.child_ptr[np.maximum(placed.old_node, 0)]
    follows = placed.old_edge == np.repeat(first, sizes) + np.arange(len(placed.old_edge)) - np.repeat(
        tree.child_ptr[:-1], sizes
    )
    return np.asarray(same & np.logical_and.reduceat(follows, tree.child_ptr[:-1]))


def _pair_costs(Y: Any, label_cost: Any) -> Any:
    """Return the cost of each pair, or None if all are 1."""
    if label_cost is None:
        return None if (Y.data == 1).all() else Y.data
    return Y.data * label_cost[Y.indices]
