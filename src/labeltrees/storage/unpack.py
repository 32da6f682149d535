"""Reading classifiers back from their chunk, to look at them; searches never need this.

`src/core/chunk_format.hpp` tells the form. A damaged chunk gives a `FileFormatError`: every read is one of NumPy's,
which check their bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees._validation import check_integer
from labeltrees.errors import FileFormatError
from labeltrees.storage.chunks import LINE, ChunkStore

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s

_HEADER = np.dtype(
    [
        ("lines", "<u4"),
        ("n_children", "<u2"),
        ("kind", "u1"),
        ("more", "u1"),
        ("n_rows", "<u4"),
        ("n_index", "<u4"),
        ("n_units", "<u4"),
        ("n_dense", "<u4"),
        ("first_child", "<u4"),
        ("n_features", "<u4"),
        ("reserved", "<u4", 8),
    ]
)
_BITMAP_MASK, _BITMAP_MASK_WIDE, _BITMAP_PAIRS, _HASH_MASK, _HASH_PAIRS, _MATRIX_HALF, _MATRIX_FLOAT = range(7)
_MASKS = (_BITMAP_MASK, _BITMAP_MASK_WIDE, _HASH_MASK)
_FULL_ROW = 0x80
_SPREADER = 0x9E3779B1


@dataclass(frozen=True)
class NodeClassifiers:
    """The classifiers of a node's children.

    Parameters
    ----------
    children : int32 (n,)
        As in `LabelTree`: a node id, or ``~label``.
    bias : float32 (n,)
    weights : csr_array (n, n_features), float32
    """

    children: Int32s
    bias: Float32s
    weights: sparse.csr_array[np.float32]


@dataclass(frozen=True)
class _Rows:
    """Features that have a row in a part. A full row has count 0 and its number, others the number -1."""

    feature: Int64s
    first: Int64s  # unit of the first weight
    count: Int64s
    full: Int64s
    children: Int64s  # which children have a weight: a mask, or the byte from which their numbers stand


def unpack_node(store: ChunkStore, node: int) -> NodeClassifiers:
    """Return the classifiers of one node's children, as exact as they are stored.

    Parameters
    ----------
    store : ChunkStore
    node : int

    Examples
    --------
    >>> from labeltrees import LabelTree
    >>> from labeltrees.storage import LinearWeights, pack_chunks
    >>> weights = LinearWeights(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([1.5, -2], np.float32),
    ...                         np.zeros(2, np.float32))
    >>> store = pack_chunks(LabelTree([0, 2], [~0, ~1], 2), weights, n_features=3, node_mass=[1.0])
    >>> unpack_node(store, 0).weights.toarray()
    array([[ 1.5,  0. ,  0. ],
           [ 0. , -2. ,  0. ]], dtype=float32)
    """
    node = check_integer("node", node, 0, store.n_nodes - 1)
    parts, more, offset = [], True, int(store.offsets[node])
    try:
        while more:
            part = _Part(store, offset)
            parts.append(NodeClassifiers(part.children, part.bias, part.weights()))
            more, offset = part.more, offset + part.n_bytes
        children = np.concatenate([part.children for part in parts])
        if not np.array_equal(children, store.children[store.child_ptr[node] : store.child_ptr[node + 1]]):
            _damaged("its children are not the tree's")
    except (ValueError, IndexError, OverflowError) as fault:
        message = f"{store.source}: the chunk of node {node} is damaged: {fault}"
        raise FileFormatError(message) from None
    stacked: Any = sparse.vstack([part.weights for part in parts], format="csr")
    return NodeClassifiers(children, np.concatenate([part.bias for part in parts]), stacked)


def _damaged(fault: str) -> None:
    raise ValueError(fault)


class _Part:
    """One part of a node's chunk."""

    def __init__(self, store: ChunkStore, offset: int) -> None:
        if offset < 0 or offset % LINE != 0:
            _damaged("it lies outside the file")
        self._bytes = store.chunks[offset:]
        header = self._section(0, 1, _HEADER)[0]
        self.kind, self.more, self.n_bytes = int(header["kind"]), bool(header["more"]), LINE * int(header["lines"])
        if self.kind > _MATRIX_FLOAT or self.n_bytes == 0 or header["n_features"] != store.n_features:
            _damaged("its header is wrong")
        self._bytes = self._bytes[: self.n_bytes]
        self.n_features, self.n_children = store.n_features, int(header["n_children"])
        if not 1 <= self.n_children <= (16 if self.kind in _MASKS else 256):
            _damaged("it claims an impossible number of children")
        self.n_rows, self.n_index = int(header["n_rows"]), int(header["n_index"])
        self.n_units, self.n_dense = int(header["n_units"]), int(header["n_dense"])
        self.children: Int32s = self._section(LINE, self.n_children, "<i4")
        self.bias: Float32s = self._section(LINE + 4 * self.n_children, self.n_children, "<f4")
        self.index_at = _round_up(LINE + 8 * self.n_children, LINE)

    def _section(self, start: int, count: int, dtype: Any) -> NDArray[Any]:
        n_bytes = count * np.dtype(dtype).itemsize
        if start + n_bytes > len(self._bytes):
            _damaged("its sections are longer than the chunk")
        return self._bytes[start : start + n_bytes].view(dtype)

    def weights(self) -> Any:
        shape = self.n_children, self.n_features
        if self.kind >= _MATRIX_HALF:
            padded = _round_up(self.n_features, 16)
            values = self._section(
                self.index_at, self.n_children * padded, "<f2" if self.kind == _MATRIX_HALF else "<f4"
            )
            full = values.reshape(self.n_children, padded)[:, : self.n_features]
            return sparse.csr_array(full.astype(np.float32))
        if self.kind in (_HASH_MASK, _HASH_PAIRS):
            entries_at = self.index_at + 4 * self.n_index
            self._find_entries(entries_at)
            rows = self._bucket_rows()
        else:
            slot = np.dtype("<u8" if self.kind == _BITMAP_MASK_WIDE else "<u4")
            slots_at = self.index_at + 8 * self.n_index
            self._find_entries(slots_at + slot.itemsize * self.n_rows)
            rows = self._bitmap_rows(self._section(slots_at, self.n_rows, slot).astype(np.uint64))
        row, child, value = self._entries(rows)
        return sparse.coo_array((value, (child, rows.feature[row])), shape=shape).tocsr()

    def _find_entries(self, at: int) -> None:
        self.units = self._section(at, self.n_units, "<u2")
        self.bytes = self._section(at, 2 * self.n_units, "u1")
        padded = _round_up(self.n_children, 16)
        dense_at = _round_up(at + 2 * self.n_units, LINE) if self.n_dense > 0 else 0
        self.dense = self._section(dense_at, self.n_dense * padded, "<f2").reshape(self.n_dense, padded)

    def _bitmap_rows(self, slots: NDArray[np.uint64]) -> _Rows:
        words = self._section(self.index_at, 8 * self.n_index, "u1").reshape(self.n_index, 8)
        feature = np.flatnonzero(np.unpackbits(words[:, :4], axis=1, bitorder="little"))
        if len(feature) != self.n_rows:
            _damaged("its bitmap does not count its rows")
        if self.kind == _BITMAP_PAIRS:
            first, tell = (slots >> 8).astype(np.int64), (slots & 0xFF).astype(np.int64)
            full = np.where(tell & _FULL_ROW, first, -1)
            count = np.where(full < 0, tell, 0)
            return _Rows(feature, first, count, full, 2 * (first + count))
        bits = 32 if self.kind == _BITMAP_MASK_WIDE else 16
        mask, first = (slots & (2**bits - 1)).astype(np.int64), (slots >> bits).astype(np.int64)
        return _Rows(feature, first, np.bitwise_count(mask).astype(np.int64), np.full(self.n_rows, -1), mask)

    def _bucket_rows(self) -> _Rows:
        index = self._section(self.index_at, self.n_index, "<u4").astype(np.int64)
        first, count = index >> 5, index & 31  # of each bucket
        bucket = np.repeat(np.arange(self.n_index), count)
        feature = self._feature(bucket, self.units[_ranges(first, count)].astype(np.int64))
        if self.kind == _HASH_MASK:
            mask = self.units[_ranges(first + count, count)].astype(np.int64)
            pairs = np.bitwise_count(mask).astype(np.int64)
            weights_at = (first + 2 * count)[bucket] + _before_in_group(pairs, bucket)
            return _Rows(feature, weights_at, pairs, np.full(len(feature), -1), mask)
        tell = self.bytes[_ranges(2 * (first + count), count)].astype(np.int64)
        listed = tell & 0x7F  # a full row is listed as two pairs, which hold its number
        before = _before_in_group(listed, bucket)
        bucket_at = first + count + (count + 1) // 2
        weights_at = bucket_at[bucket] + before
        in_bucket = np.bincount(bucket, listed, self.n_index).astype(np.int64)
        child_at = 2 * (bucket_at + in_bucket)[bucket] + before
        full = np.full(len(feature), -1)
        is_full = (tell & _FULL_ROW) > 0
        low, high = (self.units[weights_at[is_full] + place].astype(np.int64) for place in (0, 1))
        full[is_full] = low | high << 16
        return _Rows(feature, weights_at, np.where(is_full, 0, listed), full, child_at)

    def _feature(self, bucket: Int64s, key: Int64s) -> Int64s:
        """Return the features of buckets and keys: the product p with the spreader is in the bucket and ends in key."""
        bits = max(1, (self.n_features - 1).bit_length())
        shift = 32 - bits
        least = -((-bucket << 32) // max(self.n_index, 1))  # rounded up
        least = -(-least >> shift)
        product = least + ((key - least) & 0xFFFF)
        inverse = pow(_SPREADER, -1, 1 << bits)
        return np.asarray((product.astype(np.uint64) * np.uint64(inverse)) & np.uint64((1 << bits) - 1), dtype=np.int64)

    def _entries(self, rows: _Rows) -> tuple[Any, Any, Any]:
        """Return row, child and value of every weight."""
        row = np.repeat(np.arange(len(rows.feature)), rows.count)
        value = self.units[_ranges(rows.first, rows.count)].view("<f2").astype(np.float32)
        if self.kind in _MASKS:
            present = rows.children[:, np.newaxis] >> np.arange(self.n_children) & 1
            return row, np.nonzero(present)[1], value
        child = self.bytes[_ranges(rows.children, rows.count)].astype(np.int64)
        full = np.flatnonzero(rows.full >= 0)
        matrix = self.dense[rows.full[full], : self.n_children].astype(np.float32)
        full_row, full_child = np.nonzero(matrix)
        return (
            np.concatenate([row, full[full_row]]),
            np.concatenate([child, full_child]),
            np.concatenate([value, matrix[full_row, full_child]]),
        )


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def _ranges(first: Int64s, count: Int64s) -> Int64s:
    """Return first[0], first[0] + 1, ... (count[0] of them), first[1], ..."""
    ends = np.cumsum(count)
    return np.asarray(np.repeat(first - ends + count, count) + np.arange(count.sum()))


def _before_in_group(sizes: Int64s, group: Int64s) -> Int64s:
    """Return the sum of the sizes before each entry within its group; groups rise."""
    before = np.cumsum(sizes) - sizes
    starts = np.searchsorted(group, group)
    return np.asarray(before - before[starts])
