"""Removing labels from a linear model: their classifiers, nodes without other labels, and entries in arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Int64s
from labeltrees.models.common.error_costs import label_costs
from labeltrees.models.common.given import keep_labels
from labeltrees.models.common.label_names import LabelNames
from labeltrees.search import Searcher
from labeltrees.storage import ChunkStore, LinearWeights
from labeltrees.storage.chunks import ceilings_of_norms, edges_of, positive_norms
from labeltrees.storage.splice import splice_chunks, unpack_nodes
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier

Flags = NDArray[np.bool_]


class KeptTree(NamedTuple):
    """A tree without some labels, and its chunks."""

    tree: LabelTree
    store: ChunkStore


def compact_model(model: LabelTreeClassifier, kept: Flags) -> None:
    """Remove all labels but the kept ones. Labels without names keep their ids."""
    searcher, has_names = model.searcher_, model._label_names is not None
    new_ids: Any = np.cumsum(kept) - 1 if has_names else np.arange(len(kept))
    n_labels = int(kept.sum()) if has_names else len(kept)
    stays = kept if has_names else np.ones(len(kept), dtype=bool)
    trees = [
        _keep(tree, store, kept, new_ids, n_labels, model.n_jobs)
        for tree, store in zip(model.trees_, searcher.stores, strict=True)
    ]
    evidence = None if searcher.evidence is None else searcher.evidence.keep_labels(kept, new_ids, n_labels)
    counts, trend, retired = model.label_counts_.copy(), searcher.trend, searcher.retired
    counts[~kept] = 0
    if not isinstance(model.class_weight, str | None):
        costs: Any = label_costs(model.class_weight, len(kept), model._label_names)
        model.class_weight = costs[stays]
    if model.label_texts_ is not None:
        model.label_texts_ = model.label_texts_.keep_labels(kept, stays)
    if has_names:
        assert model._label_names is not None
        model._label_names = LabelNames(model._label_names.array[kept], model._label_names.kind)
    if model.tree is model.trees_[0]:  # a given tree
        model.tree = trees[0].tree
    model.trees_ = [own.tree for own in trees]
    model.label_counts_ = counts[stays]
    model.searcher_ = Searcher(
        [own.store for own in trees],
        loss=searcher.loss,
        score_power=searcher.score_power,
        normalize=searcher.normalize,
        evidence=evidence,
    )
    model.searcher_.set_prior(model.label_counts_, model.n_points_)
    model.searcher_.set_trend(None if trend is None else trend[stays])
    if not has_names:
        model.searcher_.set_retired(retired)
    # Classifiers were trained on points of removed labels, so an exact update trains all of them.
    history = {**model.stats_.get("updates", {}), "exact": False}
    model.stats_ = {**model.stats_, "bytes": sum(own.store.nbytes for own in trees), "updates": history}


def _keep(
    tree: LabelTree, store: ChunkStore, kept: Flags, new_ids: Int64s, n_labels: int, n_jobs: int | None
) -> KeptTree:
    smaller = keep_labels(tree, kept)
    weights = tree.label_weights
    if weights is not None and n_labels < len(kept):
        weights = weights[kept]
    is_label = smaller.children < 0
    children = smaller.children.copy()
    children[is_label] = ~new_ids[~smaller.children[is_label]].astype(np.int32)
    renumbered = LabelTree._adopt(TreeArrays(smaller.child_ptr, children, n_labels, None, weights))
    n_kept = tree.mass(kept.astype(np.float64))
    old_nodes = np.flatnonzero(n_kept > 0)  # keep_labels keeps their order
    stays = np.empty(len(tree.children), dtype=bool)
    leaf = tree.children < 0
    stays[leaf] = kept[~tree.children[leaf]]
    stays[~leaf] = n_kept[tree.children[~leaf]] > 0
    whole = np.add.reduceat(stays, tree.child_ptr[:-1], dtype=np.int64) == np.diff(tree.child_ptr)
    copied = np.where(whole[old_nodes], old_nodes, -1)
    changed = old_nodes[copied < 0]
    found = unpack_nodes(store, changed, n_jobs)
    edges, _ = edges_of(tree.child_ptr, changed)
    rows = keep_rows(found, stays[edges])
    matrix: Any = rows
    if store.matrices:
        matrix = np.zeros((len(rows.bias), store.n_features), np.float32)
        matrix[np.repeat(np.arange(len(rows.bias)), np.diff(rows.indptr)), rows.features] = rows.values
    arrays = (renumbered.child_ptr, renumbered.children, n_labels, copied, matrix, rows.bias)
    made = splice_chunks(store, *arrays, tree.mass()[old_nodes], n_jobs)
    if store.ceilings is not None:
        made = replace(made, ceilings=ceilings_of(renumbered, made, n_jobs))
    return KeptTree(renumbered, made)


def keep_rows(weights: LinearWeights, kept: Flags) -> LinearWeights:
    """Return some of the classifiers."""
    lengths = np.diff(weights.indptr)
    entries = np.repeat(kept, lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)
    return LinearWeights(indptr, weights.features[entries], weights.values[entries], weights.bias[kept])


def ceilings_of(tree: LabelTree, store: ChunkStore, n_jobs: int | None = None) -> Any:
    """Return upper bounds of the scores below each node, from the stored classifiers."""
    whole = unpack_nodes(store, np.arange(store.n_nodes), n_jobs)
    return ceilings_of_norms(tree, whole.bias, positive_norms(whole))
