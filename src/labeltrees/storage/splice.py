"""Chunks of a changed tree: chunks of unchanged nodes are copied, the others are unpacked, changed and packed again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._validation import check_n_jobs
from labeltrees.errors import FileFormatError
from labeltrees.storage.chunks import LINE, TAIL, ChunkStore, LinearWeights, edges_of, pack_ranked
from labeltrees.storage.unpack import _HEADER, _MATRIX_FLOAT, unpack_node

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s, UInt8s


def unpack_nodes(store: ChunkStore, nodes: Any, n_jobs: int | None = None) -> LinearWeights:
    """Return the classifiers of some nodes, one sparse row per child, in the precision in which they are stored.

    Examples
    --------
    >>> from labeltrees import LabelTree
    >>> from labeltrees.storage import pack_chunks
    >>> weights = LinearWeights(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([1.5, -2], np.float32),
    ...                         np.zeros(2, np.float32))
    >>> store = pack_chunks(LabelTree([0, 2], [~0, ~1], 2), weights, n_features=3, node_mass=[1.0])
    >>> unpack_nodes(store, [0]).values.tolist()
    [1.5, -2.0]
    """
    wanted = np.ascontiguousarray(nodes, np.int32)
    if not store.checked:
        check_store(store)
    if store.matrices:
        found = [unpack_node(store, node) for node in wanted.tolist()]
        rows = [own.weights for own in found]
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(own.indptr) for own in rows)])
        return LinearWeights(
            np.cumsum(lengths),
            np.concatenate([np.zeros(0, np.int32), *(own.indices for own in rows)]).astype(np.int32),
            np.concatenate([np.zeros(0, np.float32), *(own.data for own in rows)]),
            np.concatenate([np.zeros(0, np.float32), *(own.bias for own in found)]),
        )
    arrays = (store.chunks, store.offsets, store.child_ptr, store.feature_rank)
    return LinearWeights(*_core.unpack_chunks(*arrays, wanted, check_n_jobs(n_jobs)))


def check_store(store: ChunkStore) -> None:
    """Raise `FileFormatError` if a chunk of the store is damaged."""
    engine = _core.SearchEngine(store.n_features, store.n_labels, store.matrices, False, "squared_hinge", 3.0)
    tree = (store.child_ptr, store.children)
    engine.add_tree(store.chunks, store.offsets, store.feature_rank, *tree, False, str(store.source), None)
    engine.check_all()
    sizes = np.diff(store.child_ptr)
    at, counts = store.offsets.copy(), np.zeros(store.n_nodes, np.int64)
    open_nodes = np.arange(store.n_nodes)
    while len(open_nodes):  # the parts of a node must have the tree's children
        headers = _headers(store.chunks, at[open_nodes])
        counts[open_nodes] += headers["n_children"]
        at[open_nodes] += headers["lines"].astype(np.int64) * LINE
        open_nodes = open_nodes[headers["more"] != 0]
    if not np.array_equal(counts, sizes):
        message = f"{store.source}: the chunks do not have the children of the tree"
        raise FileFormatError(message)


def is_single_precision(store: ChunkStore) -> bool:
    """Return whether the full matrices of a store are in single precision."""
    return bool(_headers(store.chunks, store.offsets[:1])["kind"][0] == _MATRIX_FLOAT)


def splice_chunks(
    old: ChunkStore,
    child_ptr: Int64s,
    children: Int32s,
    n_labels: int,
    copied: Int64s,
    weights: LinearWeights | Float32s,
    bias: Float32s,
    mass: NDArray[np.float64],
    n_jobs: int | None = None,
) -> ChunkStore:
    """Return the chunks of a changed tree; features and their ranks are those of the `old` chunks.

    Parameters
    ----------
    old : ChunkStore
    child_ptr, children : arrays of the new tree
    n_labels : int
        Number of labels of the new tree.
    copied : int64 (n_nodes,)
        The old node whose chunk each node reuses, with renumbered children; -1 for nodes with new classifiers.
    weights : LinearWeights, or float32 (n, n_features) for full matrices
        The new classifiers, node after node.
    bias : float32 (n,)
        Biases of the new classifiers. They replace ``weights.bias``.
    mass : float64 (n_nodes,)
        Chunks are stored in descending order of mass.
    n_jobs : int, optional
    """
    new_nodes = np.flatnonzero(copied < 0)
    edges, _ = edges_of(child_ptr, new_nodes)
    local_ptr = np.concatenate([[0], np.cumsum(np.diff(child_ptr)[new_nodes])]).astype(np.int64)
    local = np.ascontiguousarray(children[edges])
    packed, places = np.zeros(TAIL, np.uint8), np.zeros(0, np.int64)
    if len(new_nodes) and old.matrices:
        half = not is_single_precision(old)
        matrix = np.ascontiguousarray(weights, np.float32).reshape(-1)
        zeros = np.zeros(len(new_nodes))
        packed, places = _core.pack_matrix_chunks(
            local_ptr, local, matrix, bias, old.n_features, zeros, half, check_n_jobs(n_jobs), None
        )
    elif len(new_nodes):
        assert isinstance(weights, LinearWeights)
        packed, places = pack_ranked(
            local_ptr, local, replace(weights, bias=bias), old.n_features, old.feature_rank, n_jobs=n_jobs
        )
    starts, sizes = np.empty(len(copied), np.int64), np.empty(len(copied), np.int64)
    starts[new_nodes], sizes[new_nodes] = places, chunk_sizes(packed, places)
    same = np.flatnonzero(copied >= 0)
    starts[same], sizes[same] = old.offsets[copied[same]], chunk_sizes(old.chunks, old.offsets)[copied[same]]
    order = np.argsort(-mass, kind="stable")
    offsets = np.empty(len(copied), np.int64)
    offsets[order] = np.cumsum(sizes[order]) - sizes[order]
    chunks = np.zeros(int(sizes.sum()) + TAIL, np.uint8)
    is_new, begin = (copied < 0)[order], starts[order]
    ends = begin + sizes[order]
    breaks = np.flatnonzero((is_new[1:] != is_new[:-1]) | (begin[1:] != ends[:-1])) + 1  # of runs of chunks
    first, last = np.append(0, breaks), np.append(breaks, len(order)) - 1
    runs = (is_new[first], offsets[order[first]], begin[first], ends[last])
    for from_new, to, start, end in zip(*(own.tolist() for own in runs), strict=True):
        chunks[to : to + end - start] = (packed if from_new else old.chunks)[start:end]
    _number_children(chunks, offsets, same, child_ptr, children)
    return ChunkStore(
        chunks, offsets, old.feature_rank, child_ptr, children, n_labels, old.n_features, old.matrices, True
    )


def chunk_sizes(chunks: UInt8s, offsets: Int64s) -> Int64s:
    """Return the size of each node's chunk in bytes."""
    ends = np.sort(np.append(offsets, len(chunks) - TAIL))
    sizes: Int64s = ends[np.searchsorted(ends, offsets, side="right")] - offsets
    return sizes


def _headers(chunks: UInt8s, offsets: Int64s) -> NDArray[Any]:
    rows = np.lib.stride_tricks.sliding_window_view(chunks, LINE)[offsets]
    return np.ascontiguousarray(rows).view(_HEADER).reshape(-1)


def _number_children(chunks: UInt8s, offsets: Int64s, nodes: Any, child_ptr: Int64s, children: Int32s) -> None:
    """Write the children of some nodes into their chunks, part by part."""
    words = chunks[: len(chunks) // 4 * 4].view("<i4")
    at, first = offsets[nodes].copy(), child_ptr[nodes].copy()
    while len(at):
        headers = _headers(chunks, at)
        n = headers["n_children"].astype(np.int64)
        ends = np.cumsum(n)
        place = np.arange(int(n.sum())) - np.repeat(ends - n, n)
        words[np.repeat((at + LINE) // 4, n) + place] = children[np.repeat(first, n) + place]
        more = headers["more"] != 0
        at, first = (at + headers["lines"].astype(np.int64) * LINE)[more], (first + n)[more]


def index_ranges(starts: Int64s, ends: Int64s) -> Int64s:
    """Return starts[0], starts[0] + 1, ..., ends[0] - 1, starts[1], ..."""
    counts = ends - starts
    total = np.cumsum(counts)
    return np.repeat(starts - (total - counts), counts) + np.arange(int(counts.sum()))


def take_rows(parts: list[LinearWeights], rows: Int64s) -> LinearWeights:
    """Return some of the classifiers of all parts, in the order of `rows`, which number them part after part.

    Runs of neighbours are copied as a whole, and once: an update keeps most rows of a node.
    """
    starts = np.cumsum([0, *(len(part.bias) for part in parts)])
    part_of = np.searchsorted(starts, rows, side="right") - 1
    own = rows - starts[part_of]
    breaks = np.flatnonzero((np.diff(rows) != 1) | (np.diff(part_of) != 0)) + 1
    first, last = np.append(0, breaks)[: len(rows)], np.append(breaks, len(rows))[: len(rows)] - 1
    features, values = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for number, begin, end in zip(part_of[first].tolist(), own[first].tolist(), own[last].tolist(), strict=True):
        part = parts[number]
        entries = slice(int(part.indptr[begin]), int(part.indptr[end + 1]))
        features.append(part.features[entries])
        values.append(part.values[entries])
    lengths, bias = (np.concatenate(own) for own in zip(*((np.diff(p.indptr), p.bias) for p in parts), strict=True))
    indptr = np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64)
    return LinearWeights(indptr, np.concatenate(features), np.concatenate(values), bias[rows])
