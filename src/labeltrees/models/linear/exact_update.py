"""Exact updates: the bytes of a fit on the updated tree; classifiers whose input did not change are reused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._losses import LOSSES
from labeltrees._validation import check_n_jobs
from labeltrees.models.common.error_costs import check_finite
from labeltrees.models.common.given import place_labels
from labeltrees.models.linear.blocks import survey_points
from labeltrees.models.linear.cost import costs_of_nodes, settle_cost
from labeltrees.models.linear.embeddings import embed_labels
from labeltrees.models.linear.pack import pack_tree
from labeltrees.models.linear.pieces import NodeTasks
from labeltrees.models.linear.points import TrainingPoints
from labeltrees.models.linear.problem import RoutedTree, route_points, whole_problem
from labeltrees.models.linear.retrain import Retrained
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.train import train_tasks, train_tree
from labeltrees.models.linear.trees import store_tree
from labeltrees.storage import ChunkStore, LinearWeights
from labeltrees.storage.chunks import ceilings_of_norms, edges_of, pack_ranked, positive_norms, rank_of_counts
from labeltrees.storage.splice import take_rows, unpack_nodes
from labeltrees.tasks import LocalRunner
from labeltrees.tree.placement import PlacedTree

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

SMALLEST_HALF = 1e-7  # smaller weights may be 0 in half precision


def train_exactly(
    model: LabelTreeClassifier,
    points: TrainingPoints,
    trees: list[PlacedTree],
    settings: LinearSettings,
    seed: int,
    changed: tuple[NDArray[np.bool_], bool],
    before: Any,
) -> tuple[list[Retrained], dict[str, Any]]:
    """Return the trained trees, and the entries of `stats_` about C.

    Parameters
    ----------
    model : LabelTreeClassifier
        As it was before the update.
    points : TrainingPoints
        All points.
    trees : list of PlacedTree
        The updated trees. A tree with labels that have lost their last point is replaced in the list.
    settings : LinearSettings
    seed : int
    changed : (bool (L,), bool)
        Labels of added or removed points, and whether any point was added or removed.
    before : object with n_points, label_counts and n_values, or None
        Sizes of the points that the model was trained on; None if no classifier can be reused.
    """
    blocks, runner = points.blocks, LocalRunner(n_jobs=model.n_jobs)
    found = survey_points(blocks, runner, normalize=bool(model.normalize))
    counted = embed_labels(blocks, found, runner, cover=None)
    frequencies = runner.results[counted.counts]["frequencies"]
    routed, trained = [], []
    for number, placed in enumerate(trees):
        grown = store_tree(place_labels(placed.tree, blocks.n_labels, frequencies), runner.results)
        if grown.tree is not placed.tree:  # labels have lost their last point
            trees[number] = placed = without_labels(placed, grown.tree)
        routed.append(route_points(blocks, found, grown, settings, seed, runner))
    C, costs = settle_cost(routed[0], points.groups, runner)
    can_reuse = before is not None and blocks.n_features == model.searcher_.n_features
    can_reuse = can_reuse and isinstance(model.random_state, int | np.integer) and not settings.balanced
    can_reuse = can_reuse and settings.prune_below >= SMALLEST_HALF and not model.searcher_.stores[0].matrices
    for placed, own, store, tree in zip(trees, routed, model.searcher_.stores, model.trees_, strict=True):
        reused = np.zeros(placed.tree.n_nodes, dtype=bool)
        if can_reuse:
            old_costs = costs_of_nodes(tree, model.stats_.get("C", C))
            reused = _same_input(
                placed, own, changed, before, store, old_costs, costs_of_nodes(placed.tree, costs["C"])
            )
        if reused.any():
            made = _train_rest(placed, own, store, reused, C, seed, runner, model.n_jobs)
        else:
            made = pack_tree(own, train_tree(own, C, runner), runner, in_memory=True).store
        n_kept = int(np.diff(placed.tree.child_ptr)[reused].sum())
        trained.append(Retrained(made, n_kept, 0, len(placed.tree.children) - n_kept))
    return trained, {name: value for name, value in costs.items() if not name.endswith("seconds")}


def without_labels(placed: PlacedTree, smaller: Any) -> PlacedTree:
    """Return `placed` for the `smaller` tree without some labels, with the old number of each node and edge left."""
    tree = placed.tree
    kept = smaller.label_parent >= 0
    n_kept = tree.mass(kept.astype(np.float64))
    nodes = np.flatnonzero(n_kept > 0)
    stays = np.empty(len(tree.children), dtype=bool)
    is_label = tree.children < 0
    stays[is_label] = kept[~tree.children[is_label]]
    stays[~is_label] = n_kept[tree.children[~is_label]] > 0
    return replace(placed, tree=smaller, old_node=placed.old_node[nodes], old_edge=placed.old_edge[stays])


def _same_input(
    placed: PlacedTree,
    routed: RoutedTree,
    changed: tuple[NDArray[np.bool_], bool],
    before: Any,
    store: ChunkStore,
    old_costs: Any,
    new_costs: Any,
) -> NDArray[np.bool_]:
    """Return which nodes have classifiers with the same input as before: points, children, edge numbers and C."""
    tree, sizes = placed.tree, routed.sizes
    touched = tree.mass(changed[0].astype(np.float64)) > 0
    touched[0] |= changed[1]
    same = ~touched & (placed.old_node >= 0)
    nodes = np.maximum(placed.old_node, 0)
    same &= tree.child_ptr[:-1] == store.child_ptr[nodes]
    same &= np.diff(tree.child_ptr) == np.diff(store.child_ptr)[nodes]
    own_edges = placed.old_edge == np.arange(len(placed.old_edge))
    same &= np.logical_and.reduceat(own_edges, tree.child_ptr[:-1])
    same &= old_costs[nodes] == new_costs
    # A node's share of all values decides on which columns it is trained, and the total can change: reuse up to half.
    n_values = min(before.n_values, routed.inputs.points.n_values)
    return np.asarray(same & (2 * sizes.values <= n_values))


def _train_rest(
    placed: PlacedTree,
    routed: RoutedTree,
    store: ChunkStore,
    reused: NDArray[np.bool_],
    C: Any,
    seed: int,
    runner: LocalRunner,
    n_jobs: int | None,
) -> ChunkStore:
    tree, settings = placed.tree, routed.inputs.settings
    problem = whole_problem(runner.results, routed.inputs, tree)
    rest = np.flatnonzero(~reused)
    tasks = NodeTasks(
        rest, np.ascontiguousarray(tree.child_ptr[rest]), np.ascontiguousarray(np.diff(tree.child_ptr)[rest])
    )
    costs = np.ascontiguousarray(costs_of_nodes(tree, C)[rest])
    trained = train_tasks(problem, tasks, settings, seed, check_n_jobs(n_jobs), costs)
    assert isinstance(trained, LinearWeights)
    check_finite(trained)
    same = np.flatnonzero(reused)
    old = unpack_nodes(store, placed.old_node[same], n_jobs)
    place = np.empty(len(tree.children), np.int64)
    place[edges_of(tree.child_ptr, same)[0]] = np.arange(len(old.bias))
    place[edges_of(tree.child_ptr, rest)[0]] = len(old.bias) + np.arange(len(trained.bias))
    whole = take_rows([old, trained], place)
    n_features = routed.inputs.points.n_features
    rank = rank_of_counts(np.bincount(whole.features, minlength=n_features))
    chunks, offsets = pack_ranked(tree.child_ptr, tree.children, whole, n_features, rank, tree.mass(), n_jobs=n_jobs)
    made = ChunkStore(chunks, offsets, rank, tree.child_ptr, tree.children, tree.n_labels, n_features, checked=True)
    ceilings = LOSSES[settings.loss].ceilings
    if ceilings is None:
        return made
    return replace(made, ceilings=ceilings_of_norms(tree, whole.bias, positive_norms(whole)))
