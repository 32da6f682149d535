"""Training one bundle: gather its points from the parts, and train a piece of the tree on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._losses import LOSSES
from labeltrees._matrices import Float32s, Int32s, Int64s
from labeltrees._validation import check_n_jobs
from labeltrees.data.parts.parts_dataset import PartsDataset, open_parts
from labeltrees.models.common.error_costs import check_finite
from labeltrees.models.linear.auto_cost import costs_of_nodes
from labeltrees.models.linear.in_parts.reading import distinct_rows, gather_rows, renumber_columns
from labeltrees.models.linear.in_parts.routing import read_pairs
from labeltrees.models.linear.in_parts.trees import Layout, read_tree
from labeltrees.models.linear.node_tasks import NodeTasks, train_tasks
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.storage import LinearWeights
from labeltrees.storage.chunks import positive_norms
from labeltrees.tasks import Outcome, Results
from labeltrees.tree.label_tree import LabelTree


class TreePiece(NamedTuple):
    """A piece of a tree as a tree of its own.

    Parameters
    ----------
    child_ptr, children : arrays
        Labels are numbered in the order of their positions.
    edge_ids : int64 (n_edges,)
        Number of each edge in the whole tree.
    tasks : NodeTasks
        What to train; the first node may only hold the subtrees together.
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


class PieceProblem(NamedTuple):
    """The points of a piece in the form that the trainer reads.

    Parameters
    ----------
    native : LinearProblem
    features : int32 (n_columns,)
        The features that its columns are.
    points : int64 (n_points,)
        The numbers of its points in the whole dataset.
    """

    native: _core.LinearProblem
    features: Int32s
    points: Int64s


def train_bundle(
    results: Results,
    *,
    data: str,
    routes: list[str],
    tree: str,
    label_cost: str | None,
    n_labels: int,
    scale: bool,
    settings: dict[str, Any],
    seed: int,
    roots: list[int],
    edges: list[int] | None,
    spill_above: int | None = None,
    n_jobs: int | None = None,
) -> Outcome:
    """Return the classifiers of a bundle: the numbers of their edges, weights and biases."""
    whole, layout = read_tree(results[tree], n_labels)
    piece = cut_subtrees(whole, layout, roots) if edges is None else cut_children(whole, layout, roots[0], *edges)
    problem = piece_problem(results, data, routes, piece, layout, label_cost, scale=scale, spill_above=spill_above)
    own = LinearSettings(**settings)
    nodes = np.searchsorted(whole.child_ptr, piece.edge_ids[piece.tasks.first_edge], side="right") - 1
    costs = np.ascontiguousarray(costs_of_nodes(whole, own.C)[nodes])
    weights = train_tasks(problem.native, piece.tasks, own, seed, check_n_jobs(n_jobs), costs=costs)
    assert isinstance(weights, LinearWeights)
    check_finite(weights)
    arrays: dict[str, Any] = {
        "edges": piece.edge_ids[piece.tasks.edges()],
        "indptr": weights.indptr,
        "features": problem.features[weights.features],
        "values": weights.values,
        "bias": weights.bias,
    }
    if LOSSES[settings["loss"]].ceilings is not None:
        arrays["norms"] = positive_norms(weights)
    return arrays, {}


def cut_subtrees(tree: LabelTree, layout: Layout, roots: list[int]) -> TreePiece:
    """Return the subtrees with these roots, below a node that holds them together if there are several."""
    nodes = [np.array(roots, np.int64)]
    child_ptr, children = tree.child_ptr, tree.children.astype(np.int64)
    while len(nodes[-1]) > 0:
        below = children[_edges(child_ptr, nodes[-1])]
        nodes.append(below[below >= 0])
    inside = np.sort(np.concatenate(nodes))
    edges = _edges(child_ptr, inside)
    n_children = child_ptr[inside + 1] - child_ptr[inside]
    ranges = _merge([(int(layout.node_start[root]), int(layout.node_end[root])) for root in roots])
    extra = 0 if len(roots) == 1 else 1  # the node that holds them together
    targets = children[edges]
    is_node = targets >= 0
    local = np.empty(len(edges), np.int64)
    local[is_node] = np.searchsorted(inside, targets[is_node]) + extra
    local[~is_node] = ~_local_labels(layout.position[~targets[~is_node]], ranges)
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


def cut_children(tree: LabelTree, layout: Layout, node: int, first: int, last: int) -> TreePiece:
    """Return a node with all labels below each child directly below it, and the edges [first, last) to train.

    The other children stay: their points are negatives.
    """
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


def piece_problem(
    results: Results,
    data: str,
    routes: list[str],
    piece: TreePiece,
    layout: Layout,
    label_cost: str | None,
    *,
    scale: bool,
    spill_above: int | None,
) -> PieceProblem:
    """Gather the points of a piece from the parts, with costs from a file."""
    dataset = open_parts(data)
    pairs = [read_pairs(results[route], piece.ranges, piece.root >= 0) for route in routes]
    wanted = [np.concatenate([part.rows, part.without]) for part in pairs]
    distinct, places = distinct_rows(wanted, [part.n_points for part in dataset.parts])
    n_points = sum(map(len, distinct))
    n_pairs = [len(part.rows) for part in pairs]
    points = np.concatenate([place[:n] for place, n in zip(places, n_pairs, strict=True)])
    without = np.concatenate([place[n:] for place, n in zip(places, n_pairs, strict=True)])
    labels = _local_labels(np.concatenate([part.positions for part in pairs]), piece.ranges)
    values = None if pairs[0].values is None else np.concatenate([part.values for part in pairs])
    n_labels = sum(end - begin for begin, end in piece.ranges)
    y_indptr, y_columns, y_values = _by_point(points, labels, values, n_points, n_labels)
    rows = gather_rows(dataset, distinct, scale=scale, spill_above=spill_above, folder=results.folder)
    n_whole = sum(part.n_values for part in dataset.manifest.parts)
    # Sums over columns depend on their number: a node with more than half of all values is trained on all features.
    if 2 * len(rows.values) > n_whole:
        features: Int32s = np.arange(rows.n_columns, dtype=np.int32)
    else:
        rows, features = renumber_columns(rows)
    at = np.concatenate([layout.label_at[begin:end] for begin, end in piece.ranges])
    n_nodes = len(piece.child_ptr) - 1
    extra_indptr = np.zeros(n_nodes + 1, np.int64)
    extra_indptr[piece.root + 1 :] = len(without)
    has_extra = piece.root >= 0 and len(without) > 0
    native = _core.LinearProblem(
        n_points=n_points,
        n_features=rows.n_columns,
        n_labels=n_labels,
        x_indptr=rows.indptr,
        x_columns=rows.indices,
        x_values=rows.values,
        y_indptr=y_indptr,
        y_columns=y_columns,
        y_values=y_values,
        child_ptr=piece.child_ptr,
        children=piece.children,
        point_weight=_point_weights(dataset, distinct),
        label_cost=_label_costs(results, label_cost, at),
        extra_indptr=extra_indptr if has_extra else None,
        extra_points=without.astype(np.int32) if has_extra else None,
        edge_ids=piece.edge_ids,
        n_whole=n_whole,
    )
    numbers = [part.first_point + rows for part, rows in zip(dataset.parts, distinct, strict=True)]
    return PieceProblem(native, features, np.concatenate(numbers))


def _label_costs(results: Results, name: str | None, labels: Any) -> Float32s | None:
    if name is None:
        return None
    return np.ascontiguousarray(results[name]["label_cost"][labels])


def _by_point(
    points: Int64s, labels: Int64s, values: Float32s | None, n_points: int, n_labels: int
) -> tuple[Int64s, Int32s, Float32s | None]:
    entries: Any = np.ones(len(points), np.float32) if values is None else values
    matrix = sp.coo_array((entries, (points, labels)), shape=(n_points, n_labels)).tocsr()
    indptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    return indptr, columns, None if values is None else matrix.data


def _point_weights(dataset: PartsDataset, distinct: list[Int32s]) -> Float32s | None:
    if "weights" not in dataset.manifest.parts[0].arrays:
        return None
    return np.concatenate([part.weights()[rows] for part, rows in zip(dataset.parts, distinct, strict=True)]).astype(
        np.float32
    )


def _local_labels(positions: Any, ranges: list[tuple[int, int]]) -> Int64s:
    """Return the place of positions among those of all ranges."""
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
