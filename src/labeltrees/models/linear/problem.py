"""Training problems: points, labels, costs and a tree, or a piece of it, in the form that the trainer reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._matrices import (
    Bools,
    CheckedX,
    CheckedY,
    Float32s,
    Float64s,
    Int32s,
    Int64s,
    SparseRows,
    check_same_points,
    check_sample_weight,
    check_X,
    check_Y,
    is_sparse,
)
from labeltrees._validation import refuse
from labeltrees.models.common.error_costs import refuse_large
from labeltrees.models.linear.blocks import Blocks, OneBlock, Survey
from labeltrees.models.linear.pieces import NodeSizes, TreePiece, local_labels
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.trees import GrownTree, Layout, read_tree
from labeltrees.tasks import Outcome, Result, Results, Runner, Task
from labeltrees.tree.label_tree import LabelTree


@dataclass(frozen=True)
class TrainingInputs:
    """Inputs of all tasks that train the classifiers of a tree.

    Parameters
    ----------
    points : Blocks
    routes : list of str
        By block, the name of the result with its pairs of point and label, sorted by the tree.
    tree : str
        The name of the result with the tree.
    settings : LinearSettings
        Without `label_cost`, which is stored as a separate result.
    label_cost : str, optional
        The name of the result with the costs of labels.
    scale : bool
        Whether the rows must be scaled to unit length.
    all_ones : bool
        Whether all relevance values are 1.
    seed : int
    """

    points: Blocks
    routes: list[str]
    tree: str
    settings: LinearSettings
    label_cost: str | None
    scale: bool
    all_ones: bool
    seed: int

    def with_cost(self, C: Any) -> TrainingInputs:
        """Return the inputs with other values of C."""
        return replace(self, settings=replace(self.settings, C=C))

    def label_costs(self, results: Results) -> Float32s | None:
        """Return the costs of labels."""
        return None if self.label_cost is None else results[self.label_cost]["label_cost"]


class RoutedTree(NamedTuple):
    """A tree, the inputs of its training, and the sizes of its nodes."""

    grown: GrownTree
    inputs: TrainingInputs
    sizes: NodeSizes


# Routing points to nodes.


def route_block(results: Results, *, points: Blocks, block: int, tree: str, all_ones: bool) -> Outcome:
    """Return the points without a label in the tree, and the pairs of a block sorted by the position of their label.

    Points in memory need no sorted pairs: their tree is trained as a whole.
    """
    Y = points.block(block).Y.matrix
    if points.in_memory:
        is_placed = read_tree(results, tree, points.n_labels).tree.label_parent >= 0
        return {"without": points_without(Y, is_placed)}, {}
    position = results[tree]["position"]
    places = position[Y.indices]
    placed = places >= 0
    rows = np.repeat(np.arange(Y.shape[0], dtype=np.int32), np.diff(Y.indptr))
    arrays = {"without": points_without(Y, position >= 0)}
    n_positions = int(position.max()) + 1
    pairs: Any = (Y.data[placed], (places[placed], rows[placed]))
    by_position = sp.coo_array(pairs, shape=(n_positions, Y.shape[0])).tocsr()
    arrays["positions"] = np.repeat(np.arange(n_positions, dtype=np.int32), np.diff(by_position.indptr))
    arrays["rows"] = by_position.indices.astype(np.int32)
    if not all_ones:
        arrays["values"] = by_position.data
    return arrays, {}


def points_without(Y: Any, is_placed: Any) -> Int32s:
    """Return the points of a CSR matrix none of whose labels is placed in a tree: they are negatives at the root."""
    without = np.diff(Y.indptr) == 0
    if not is_placed.all():
        without = (Y @ is_placed.astype(np.float32)) == 0
    return np.flatnonzero(without).astype(np.int32)


def route_points(
    points: Blocks, found: Survey, grown: GrownTree, settings: LinearSettings, seed: int, runner: Runner
) -> RoutedTree:
    """Find the points of each node."""
    shared = {"points": points, "tree": grown.name, "all_ones": found.all_ones}
    tasks = [Task(route_block, {**shared, "block": number}) for number in range(points.n_blocks)]
    runner.run("Routing points", tasks)
    names = [task.name for task in tasks]
    n_without = sum(len(runner.results[name]["without"]) for name in names)
    costs, label_cost = settings.label_cost, None
    if costs is not None:
        label_cost = runner.results.store("costs", {"label_cost": costs})
        settings = replace(settings, label_cost=None)
    inputs = TrainingInputs(points, names, grown.name, settings, label_cost, found.scale, found.all_ones, seed)
    return RoutedTree(grown, inputs, NodeSizes(grown, found, n_without))


# The whole tree, on points in memory.


def make_problem(
    X: Any, Y: Any, tree: LabelTree, label_cost: Any = None, sample_weight: Any = None
) -> _core.LinearProblem:
    """Check the arguments of `train_linear` and return them in native form."""
    points, labels = check_X(X), check_Y(Y, allow_empty=True)
    check_same_points(points.n_points, labels.n_points)
    if not isinstance(tree, LabelTree) or tree.n_labels != labels.n_labels:
        refuse("tree", f"a LabelTree over the {labels.n_labels} labels of Y", tree)
    weights = check_sample_weight(sample_weight, points.n_points)
    refuse_large("X", points.matrix.data if is_sparse(points.matrix) else points.matrix)
    refuse_large("Y", labels.matrix.data)
    if weights is not None:
        refuse_large("sample_weight", weights)
    costs = _check_label_cost(label_cost, labels.n_labels)
    without = points_without(labels.matrix, tree.label_parent >= 0)
    all_ones = bool((labels.matrix.data == 1).all())
    return _native(points, labels, weights, tree, costs, without, all_ones)


def _check_label_cost(label_cost: Any, n_labels: int) -> Float32s | None:
    if label_cost is None:
        return None
    costs = np.asarray(label_cost)
    if costs.shape != (n_labels,) or costs.dtype.kind not in "iuf" or not (costs > 0).all():
        refuse("label_cost", f"{n_labels} numbers above 0", label_cost)
    refuse_large("label_cost", costs)
    return np.ascontiguousarray(costs, dtype=np.float32)


def whole_problem(
    results: Results, inputs: TrainingInputs, tree: LabelTree, kept: Bools | None = None
) -> _core.LinearProblem:
    """Return the problem of a whole tree on points in memory: all of them, or those that are kept."""
    points = inputs.points
    assert isinstance(points, OneBlock)
    X, Y, weights, n_whole = points.X, points.Y, points.weights, points.n_values
    without = results[inputs.routes[0]]["without"]
    if kept is not None:
        X, Y = CheckedX(X.matrix[kept]), CheckedY(Y.matrix[kept])
        weights = None if weights is None else weights[kept]
        without = (np.cumsum(kept, dtype=np.int32) - 1)[without[kept[without]]]
    return _native(X, Y, weights, tree, inputs.label_costs(results), without, inputs.all_ones, n_whole)


def _native(
    X: CheckedX,
    Y: CheckedY,
    weights: Float64s | None,
    tree: LabelTree,
    label_cost: Float32s | None,
    without: Int32s,
    all_ones: bool,
    n_whole: int = 0,
) -> _core.LinearProblem:
    labels = Y.matrix
    rows: Any = X.rows
    sparse = isinstance(rows, SparseRows)
    extra_indptr = np.full(tree.n_nodes + 1, len(without), np.int64)
    extra_indptr[0] = 0
    has_extra = len(without) > 0
    return _core.LinearProblem(
        n_points=X.n_points,
        n_features=X.n_features,
        n_labels=Y.n_labels,
        x_indptr=rows.indptr if sparse else None,
        x_columns=rows.indices if sparse else None,
        x_values=rows.values if sparse else rows.reshape(-1),
        y_indptr=labels.indptr.astype(np.int64),
        y_columns=labels.indices.astype(np.int32, copy=False),
        y_values=None if all_ones else np.ascontiguousarray(labels.data, dtype=np.float32),
        child_ptr=tree.child_ptr,
        children=tree.children,
        point_weight=None if weights is None else np.ascontiguousarray(weights, dtype=np.float32),
        label_cost=label_cost,
        extra_indptr=extra_indptr if has_extra else None,
        extra_points=without if has_extra else None,
        n_whole=n_whole,
    )


# A piece of the tree, on points in blocks.


class PieceProblem(NamedTuple):
    """The points of a piece in the form that the trainer reads.

    Parameters
    ----------
    native : LinearProblem
    features : int32 (n_columns,)
        The feature of each column.
    points : int64 (n_points,)
        The numbers of its points in the whole dataset.
    """

    native: _core.LinearProblem
    features: Int32s
    points: Int64s


class RoutedPairs(NamedTuple):
    """Pairs of one block, and the points without a label in the tree, which train the root."""

    positions: Int64s
    rows: Int32s
    values: Float32s | None
    without: Int32s


def read_pairs(
    result: Result, ranges: list[tuple[int, int]], with_root: bool, kept: Bools | None = None
) -> RoutedPairs:
    """Return the pairs of a routed block whose positions are in some ranges, ascending; of kept points, if given."""
    positions, rows, values = result["positions"], result["rows"], result.get("values")
    # Of the same type, in one call: otherwise all positions would be converted for every range.
    bounds = np.searchsorted(positions, np.array(ranges, positions.dtype).reshape(-1))
    cuts = [slice(begin, end) for begin, end in bounds.reshape(-1, 2).tolist()]
    found = RoutedPairs(
        np.concatenate([positions[cut] for cut in cuts]).astype(np.int64),
        np.concatenate([rows[cut] for cut in cuts]),
        None if values is None else np.concatenate([values[cut] for cut in cuts]),
        np.array(result["without"]) if with_root else np.zeros(0, np.int32),
    )
    if kept is None:
        return found
    here = kept[found.rows]
    own = None if found.values is None else found.values[here]
    return RoutedPairs(found.positions[here], found.rows[here], own, found.without[kept[found.without]])


def piece_problem(
    results: Results,
    inputs: TrainingInputs,
    piece: TreePiece,
    layout: Layout,
    *,
    kept: Bools | None = None,
    spill_above: int | None = None,
) -> PieceProblem:
    """Gather the points of a piece from all blocks: all of them, or those that are kept."""
    pairs = []
    for route, first in zip(inputs.routes, inputs.points.first_points, strict=True):
        own = None if kept is None else kept[first:]
        pairs.append(read_pairs(results[route], piece.ranges, piece.root >= 0, own))
    wanted = [np.concatenate([block.rows, block.without]) for block in pairs]
    gathered = inputs.points.gather(wanted, scale=inputs.scale, spill_above=spill_above, folder=results.folder)
    rows = gathered.rows
    assert isinstance(rows, SparseRows)
    n_pairs = [len(block.rows) for block in pairs]
    points = np.concatenate([place[:n] for place, n in zip(gathered.places, n_pairs, strict=True)])
    without = np.concatenate([place[n:] for place, n in zip(gathered.places, n_pairs, strict=True)])
    labels = local_labels(np.concatenate([block.positions for block in pairs]), piece.ranges)
    values = None if pairs[0].values is None else np.concatenate([block.values for block in pairs])
    n_labels = sum(end - begin for begin, end in piece.ranges)
    y_indptr, y_columns, y_values = _by_point(points, labels, values, rows.n_points, n_labels)
    n_whole = inputs.points.n_values
    # Sums over columns depend on their number: a node with more than half of all values is trained on all features.
    features: Any = np.arange(rows.n_columns, dtype=np.int32)
    if 2 * len(rows.values) <= n_whole:
        rows, features = renumber_columns(rows)
    at = np.concatenate([layout.label_at[begin:end] for begin, end in piece.ranges])
    costs = inputs.label_costs(results)
    extra_indptr = np.zeros(len(piece.child_ptr), np.int64)
    extra_indptr[piece.root + 1 :] = len(without)
    has_extra = piece.root >= 0 and len(without) > 0
    native = _core.LinearProblem(
        n_points=rows.n_points,
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
        point_weight=gathered.weights,
        label_cost=None if costs is None else np.ascontiguousarray(costs[at]),
        extra_indptr=extra_indptr if has_extra else None,
        extra_points=without.astype(np.int32) if has_extra else None,
        edge_ids=piece.edge_ids,
        n_whole=n_whole,
    )
    return PieceProblem(native, features, gathered.numbers)


def renumber_columns(rows: SparseRows) -> tuple[SparseRows, Int32s]:
    """Return rows with only the columns that occur, in their order, and the feature of each."""
    occurs = np.zeros(rows.n_columns, dtype=bool)
    occurs[rows.indices] = True
    features: Any = np.flatnonzero(occurs).astype(np.int32)
    if len(features) == rows.n_columns:
        return rows, features
    place: Any = np.cumsum(occurs, dtype=np.int32)
    place -= 1
    block = 1 << 22
    for start in range(0, len(rows.indices), block):  # in place, without a second copy of the columns
        rows.indices[start : start + block] = place[rows.indices[start : start + block]]
    return rows._replace(n_columns=max(len(features), 1)), features


def _by_point(
    points: Int64s, labels: Int64s, values: Float32s | None, n_points: int, n_labels: int
) -> tuple[Int64s, Int32s, Float32s | None]:
    entries: Any = np.ones(len(points), np.float32) if values is None else values
    matrix = sp.coo_array((entries, (points, labels)), shape=(n_points, n_labels)).tocsr()
    indptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    return indptr, columns, None if values is None else matrix.data
