"""Ways to round weights to 8 bits; each function returns the rounded values of all weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from labeltrees.storage import ChunkStore, LinearWeights

Values = NDArray[np.float32]


def _scaled(values: Values, group: NDArray[np.int64]) -> Values:
    """Return the weights as multiples of 1/127 of the largest of their group."""
    largest = np.zeros(int(group.max()) + 1 if len(group) else 0, dtype=np.float32)
    np.maximum.at(largest, group, np.abs(values))
    step = largest[group] / np.float32(127)
    return np.asarray(np.rint(values / step) * step, dtype=np.float32)


def _edges(weights: LinearWeights) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(weights.bias)), np.diff(weights.indptr))


def _nodes(store: ChunkStore, weights: LinearWeights) -> NDArray[np.int64]:
    node_of_edge = np.repeat(np.arange(store.n_nodes), np.diff(store.child_ptr))
    return np.asarray(node_of_edge[_edges(weights)])


def by_chunk(store: ChunkStore, weights: LinearWeights) -> Values:
    """One scale per chunk."""
    return _scaled(weights.values, _nodes(store, weights))


def by_classifier(store: ChunkStore, weights: LinearWeights) -> Values:
    """One scale per classifier, which is one per child."""
    return _scaled(weights.values, _edges(weights))


def by_row(store: ChunkStore, weights: LinearWeights) -> Values:
    """One scale per row: per feature of a chunk."""
    row = _nodes(store, weights) * store.n_features + weights.features
    return _scaled(weights.values, np.unique(row, return_inverse=True)[1].astype(np.int64))


def _float(values: Values, mantissa: int) -> Values:
    fraction, exponent = np.frexp(values)
    steps = np.float32(2 ** (mantissa + 1))
    return np.asarray(np.ldexp(np.rint(fraction * steps) / steps, exponent), dtype=np.float32)


def small_float(store: ChunkStore, weights: LinearWeights) -> Values:
    """Round to a sign, 3 bits of exponent and 4 of mantissa; the largest weight has the largest exponent."""
    top = np.exp2(np.ceil(np.log2(np.abs(weights.values).max()))) if len(weights.values) else 1.0
    rounded = _float(weights.values, 4)
    lowest = np.float32(top / 2**7)  # below it, steps no longer get finer
    step = lowest / np.float32(16)
    return np.where(np.abs(rounded) < lowest, np.rint(weights.values / step) * step, rounded).astype(np.float32)


ROUNDINGS: dict[str, Callable[[ChunkStore, LinearWeights], Values]] = {
    "8 bits, one scale per chunk": by_chunk,
    "8 bits, one scale per classifier": by_classifier,
    "8 bits, one scale per row": by_row,
    "8-bit floats (3 bits of exponent, 4 of mantissa)": small_float,
}
