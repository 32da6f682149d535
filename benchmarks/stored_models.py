"""Trained models for experiments with their storage: unpack their weights, and pack them in another layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import labeltrees as lt
from benchmarks.shared_data import CACHE, load
from labeltrees import _core
from labeltrees.search import Searcher
from labeltrees.storage import ChunkStore, LinearWeights
from labeltrees.storage.unpack import unpack_node


def trained(name: str, folder: Path | None, **settings: Any) -> tuple[lt.LabelTreeClassifier, lt.Dataset]:
    """Return a classifier with these settings, trained on the set `name`, and the test points of the set.

    With a folder, the model is saved there under a name made of the settings, and loaded by the next run.
    """
    train, test = load(name)
    path = None
    if folder is not None:
        path = folder / "-".join([name, *(f"{key}={value}" for key, value in sorted(settings.items()))])
        if (path / "manifest.json").exists():
            return lt.load(path, in_memory=True), test
    model = lt.LabelTreeClassifier(**settings).fit(train.X, train.Y)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        model.save(path)
    return model, test


def model_folder(given: str | None) -> Path | None:
    """Return the folder for saved models: a given folder, the benchmark cache for "cache", or None."""
    return CACHE / "models" if given == "cache" else Path(given) if given else None


def weights_of(store: ChunkStore) -> LinearWeights:
    """Return the classifiers of a store, one row per entry of the tree's children."""
    nodes = [unpack_node(store, node) for node in range(store.n_nodes)]
    indptr = np.zeros(len(store.children) + 1, dtype=np.int64)
    np.cumsum(np.concatenate([np.diff(node.weights.indptr) for node in nodes]), out=indptr[1:])
    return LinearWeights(
        indptr,
        np.concatenate([node.weights.indices for node in nodes]).astype(np.int32),
        np.concatenate([node.weights.data for node in nodes]).astype(np.float32),
        np.concatenate([node.bias for node in nodes]),
    )


def repack(
    store: ChunkStore,
    weights: LinearWeights,
    *,
    rank: NDArray[np.int32] | None = None,
    priority: NDArray[np.float64],
) -> ChunkStore:
    """Return the same classifiers with features numbered by `rank` and nodes in falling order of `priority`."""
    rank = store.feature_rank if rank is None else rank
    chunks, offsets = _core.pack_chunks(
        store.child_ptr,
        store.children,
        weights.indptr,
        weights.features,
        weights.values,
        weights.bias,
        store.n_features,
        rank,
        priority,
        1,
        None,
    )
    return ChunkStore(
        chunks, offsets, rank, store.child_ptr, store.children, store.n_labels, store.n_features, checked=True
    )


def searcher_like(searcher: Searcher, store: ChunkStore) -> Searcher:
    """Return a searcher of another store that scores as `searcher` does."""
    return Searcher(store, loss=searcher.loss, score_power=searcher.score_power, normalize=searcher.normalize)


def row_arguments(X: Any) -> list[tuple[Any, Any]]:
    """Return the features and values of each row of X, as a `Predictor` takes them."""
    rows = float_rows(X)
    return [(rows.indices[a:b], rows.data[a:b]) for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]


def float_rows(X: Any) -> Any:
    """Return X in the form that searches read without a copy: CSR with float32 values and 32-bit ids."""
    rows = sparse.csr_array(X).astype(np.float32)
    rows.indices = rows.indices.astype(np.int32)
    return rows
