"""Trained classifiers laid out as chunks: sparse ones for sparse points, full matrices for dense points."""

from __future__ import annotations

from dataclasses import replace

from labeltrees.models.linear.training import DenseWeights
from labeltrees.storage import ChunkStore, LinearWeights, logistic_ceilings, pack_chunks, pack_dense_chunks
from labeltrees.tree.label_tree import LabelTree


def pack(
    tree: LabelTree, weights: LinearWeights | DenseWeights, n_features: int, loss: str, *, n_jobs: int | None = None
) -> ChunkStore:
    """Return the chunks of a tree with its classifiers, trained with this loss.

    With the hinge nearly every node has a label that can score 1, so ceilings would only take time.
    """
    if isinstance(weights, DenseWeights):
        return pack_dense_chunks(tree, weights.matrix, weights.bias, tree.mass(), n_jobs=n_jobs)
    store = pack_chunks(tree, weights, n_features, tree.mass(), n_jobs=n_jobs)
    return replace(store, ceilings=logistic_ceilings(tree, weights)) if loss == "logistic" else store
