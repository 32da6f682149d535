"""Trained classifiers laid out as chunks: sparse ones for sparse points, full matrices for dense points."""

from __future__ import annotations

from dataclasses import replace

from labeltrees._losses import LOSSES
from labeltrees.models.linear.node_tasks import DenseWeights, Weights
from labeltrees.storage import ChunkStore, pack_chunks, pack_dense_chunks
from labeltrees.storage.chunks import positive_norms
from labeltrees.tree.label_tree import LabelTree


def pack(tree: LabelTree, weights: Weights, n_features: int, loss: str, *, n_jobs: int | None = None) -> ChunkStore:
    """Return the chunks of a tree with its classifiers, trained with this loss."""
    if isinstance(weights, DenseWeights):
        return pack_dense_chunks(tree, weights.matrix, weights.bias, tree.mass(), n_jobs=n_jobs)
    store = pack_chunks(tree, weights, n_features, tree.mass(), n_jobs=n_jobs)
    ceilings = LOSSES[loss].ceilings
    return store if ceilings is None else replace(store, ceilings=ceilings(tree, weights.bias, positive_norms(weights)))
