"""Fitting a model on points in memory: the trees, C, the classifiers, and evidence."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from labeltrees._validation import refuse
from labeltrees.models.common.error_costs import check_finite
from labeltrees.models.common.given_tree import given_tree
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.auto_cost import settle_cost
from labeltrees.models.linear.evidence import learn_evidence
from labeltrees.models.linear.fitted import Fitted, linear_settings
from labeltrees.models.linear.node_tasks import Weights
from labeltrees.models.linear.packing import pack
from labeltrees.models.linear.settings import LinearSettings, solver_of
from labeltrees.models.linear.training import train_linear
from labeltrees.models.linear.training_points import TrainingPoints, read_training_points
from labeltrees.storage import ChunkStore
from labeltrees.tree.builder import grow_tree
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import tree_settings

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier


def fit_in_memory(model: LabelTreeClassifier, *arguments: Any, **others: Any) -> None:
    """Fit a model with checked settings; the other arguments are those of `read_training_points`."""
    started = time.perf_counter()
    points = read_training_points(model, *arguments, **others)
    settings = linear_settings(model, points.Y.n_labels, points.names)
    seed = seed_of(model.random_state)
    trees = _make_trees(model, points, seed)
    built = time.perf_counter()
    settings, costs = settle_cost(
        points.X,
        points.Y,
        trees[0],
        settings,
        sample_weight=points.weights,
        groups=points.groups,
        random_state=seed,
        n_jobs=model.n_jobs,
    )
    stores = []
    n_weights = 0
    for tree in trees:
        trained = _train(model, points, tree, settings, seed)
        n_weights += len(trained.values)
        stores.append(_pack(model, points, tree, trained))
    learned = None if model.evidence is None else learn_evidence(model, points, settings, seed)
    stats = {
        "tree_seconds": built - started,
        "seconds": time.perf_counter() - started,
        "n_weights": n_weights,
        "bytes": sum(store.nbytes for store in stores),
        **costs,
    }
    if learned is not None:
        stats |= {"evidence": learned.stats, "evidence_seconds": learned.seconds}
    Fitted(
        trees,
        stores,
        points.n_points,
        points.label_counts,
        points.names,
        points.encoder,
        points.trend,
        stats,
        None if learned is None else learned.evidence,
        points.label_texts,
    ).give_to(model)


def _make_trees(model: LabelTreeClassifier, points: TrainingPoints, seed: int) -> list[LabelTree]:
    if isinstance(model.tree, LabelTree | str):
        if model.n_trees > 1:
            refuse("n_trees", "1 if the tree is given", model.n_trees)
        return [given_tree(model.tree, points.Y, points.weights)]
    settings = tree_settings(model.tree, tradeoff=model.tradeoff, fanout=model.fanout, leaf_size=model.leaf_size)
    return [
        grow_tree(
            points.X,
            points.Y,
            settings,
            sample_weight=points.weights,
            embeddings=points.embeddings,
            random_state=seed + number,
            n_jobs=model.n_jobs,
            progress=bool(model.verbose),
        )
        for number in range(model.n_trees)
    ]


def _train(
    model: LabelTreeClassifier, points: TrainingPoints, tree: LabelTree, settings: LinearSettings, seed: int
) -> Weights:
    trained = train_linear(
        points.X,
        points.Y,
        tree,
        settings,
        sample_weight=points.weights,
        random_state=seed,
        n_jobs=model.n_jobs,
        progress=bool(model.verbose),
    )
    check_finite(trained)
    return trained


def _pack(model: LabelTreeClassifier, points: TrainingPoints, tree: LabelTree, weights: Weights) -> ChunkStore:
    return pack(tree, weights, points.X.n_features, solver_of(model.loss).loss, n_jobs=model.n_jobs)
