"""Reading classifiers back from chunks, for inspection and updates; searches do not need this.

`src/core/chunk/format.hpp` describes the format. A damaged chunk raises `FileFormatError`: every read is a NumPy
operation, which checks its bounds.
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

    _Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

_HEADER = np.dtype(
    [
        ("lines", "<u4"),
        ("n_children", "<u2"),
        ("kind", "u1"),
        ("more", "u1"),
        ("first_child", "<u4"),
        ("n_features", "<u4"),
        ("n_rows", "<u4"),
        ("n_units", "<u4"),
        ("n_dense", "<u4"),
        ("n_levels", "<u4"),
        ("n_words", "<u4", 3),
        ("reserved", "<u4", 5),
    ]
)
_MASKS, _MASKS_WIDE, _PAIRS, _MATRIX_HALF, _MATRIX_FLOAT = range(5)
_MOST_PAIRS, _FULL_ROW, _MASK_ROW = 0x7F, 0x80, 0x81


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


def unpack_node(store: ChunkStore, node: int) -> NodeClassifiers:
    """Return the classifiers of one node's children, in the precision in which they are stored.

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
        if not 1 <= self.n_children <= (16 if self.kind <= _MASKS_WIDE else 256):
            _damaged("it claims an impossible number of children")
        self.children: Int32s = self._section(LINE, self.n_children, "<i4")
        self.bias: Float32s = self._section(LINE + 4 * self.n_children, self.n_children, "<f4")
        self._header = header
        self._rank = store.feature_rank
        self._index_at = _round_up(LINE + 8 * self.n_children, LINE)
        self._padded = _round_up(self.n_children, 16)

    def _section(self, start: int, count: int, dtype: Any) -> NDArray[Any]:
        n_bytes = count * np.dtype(dtype).itemsize
        if start + n_bytes > len(self._bytes):
            _damaged("its sections are longer than the chunk")
        return self._bytes[start : start + n_bytes].view(dtype)

    def weights(self) -> Any:
        if self.kind >= _MATRIX_HALF:
            padded = _round_up(self.n_features, 16)
            dtype = "<f2" if self.kind == _MATRIX_HALF else "<f4"
            values = self._section(self._index_at, self.n_children * padded, dtype)
            full = values.reshape(self.n_children, padded)[:, : self.n_features]
            return sparse.csr_array(full.astype(np.float32))
        n_rows, n_units, n_dense = (int(self._header[name]) for name in ("n_rows", "n_units", "n_dense"))
        slot = np.dtype("<u8" if self.kind == _MASKS_WIDE else "<u4")
        slots_at = self._index_at + 8 * int(self._header["n_words"].astype(np.int64).sum())
        entries_at = slots_at + slot.itemsize * n_rows
        dense_at = _round_up(entries_at + 2 * n_units, LINE) if n_dense > 0 else 0
        slots = self._section(slots_at, n_rows, slot).astype(np.int64)
        self._units: NDArray[np.uint16] = self._section(entries_at, n_units, "<u2")
        self._dense = self._section(dense_at, n_dense * self._padded, "<f2").reshape(n_dense, self._padded)
        row, child, value = self._pairs(slots) if self.kind == _PAIRS else self._masks(slots)
        feature = self._features(n_rows)[row]
        return sparse.coo_array((value, (child, feature)), shape=(self.n_children, self.n_features)).tocsr()

    def _features(self, n_rows: int) -> Int64s:
        """Return the feature of every row, decoded from the bits of the index level by level."""
        n_levels = int(self._header["n_levels"])
        if not 1 <= n_levels <= 3:
            _damaged("its index is wrong")
        groups, at = np.arange(int(self._header["n_words"][0])), self._index_at
        for n_words in self._header["n_words"][:n_levels].astype(np.int64):
            if len(groups) != n_words:
                _damaged("its index is wrong")
            words = self._section(at, 8 * int(n_words), "u1").reshape(-1, 8)
            bits = np.flatnonzero(np.unpackbits(words[:, :4], axis=1, bitorder="little"))
            groups = 32 * groups[bits // 32] + bits % 32
            at += 8 * int(n_words)
        if len(groups) != n_rows:
            _damaged("its index does not count its rows")
        feature_of_rank = np.zeros(self.n_features, dtype=np.int64)
        feature_of_rank[self._rank] = np.arange(self.n_features)
        return feature_of_rank[groups]

    def _masks(self, slots: Int64s) -> _Entries:
        """Return row, child and value of every weight in a chunk of masks: each row has one mask."""
        half = 32 if self.kind == _MASKS_WIDE else 16
        mask, first = slots & 0xFFFF, slots >> half
        return self._masked(np.arange(len(slots)), mask[:, np.newaxis], first, np.bitwise_count(mask) == 1)

    def _pairs(self, slots: Int64s) -> _Entries:
        """Return row, child and value of every weight in a chunk of pairs: rows have one of four forms."""
        count, first = slots & 0xFF, slots >> 8
        if np.any((count > _MOST_PAIRS) & (count != _FULL_ROW) & (count != _MASK_ROW)):
            _damaged("a row's count is wrong")
        single = np.flatnonzero(count == 1)
        full = np.flatnonzero(count == _FULL_ROW)
        masked = np.flatnonzero(count == _MASK_ROW)
        listed = np.flatnonzero((count <= _MOST_PAIRS) & (count != 1))
        matrix = self._dense[first[full], : self.n_children].astype(np.float32)
        full_row, full_child = np.nonzero(matrix)
        n_masks = self._padded // 16
        masks = self._units[first[masked, np.newaxis] + np.arange(n_masks)].astype(np.int64)
        n = count[listed]
        children = self._units.view("u1")[_ranges(2 * (first[listed] + n), n)].astype(np.int64)
        parts = [
            (single, first[single] & 0xFF, _halves(slots[single] >> 16)),
            (full[full_row], full_child, matrix[full_row, full_child]),
            self._masked(masked, masks, first[masked] + n_masks, np.zeros(len(masked), dtype=bool)),
            (np.repeat(listed, n), children, _halves(self._units[_ranges(first[listed], n)])),
        ]
        row, child, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        return row, child, value

    def _masked(self, row: Int64s, masks: Int64s, first: Int64s, in_slot: NDArray[np.bool_]) -> _Entries:
        """Decode masks (n, n_masks); the weights start at unit `first`, or a single weight is `first` itself."""
        present = (masks[:, :, np.newaxis] >> np.arange(16) & 1).reshape(len(masks), 16 * masks.shape[1])
        at, child = np.nonzero(present)
        value = np.zeros(len(at), dtype=np.float32)
        alone = in_slot[at]
        value[alone] = _halves(first[at[alone]])
        count = np.where(in_slot, 0, present.sum(axis=1))
        value[~alone] = _halves(self._units[_ranges(first, count)])
        return row[at], child, value


def _halves(bits: NDArray[Any]) -> Float32s:
    return bits.astype("<u2").view("<f2").astype(np.float32)


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def _ranges(first: Int64s, count: Int64s) -> Int64s:
    """Return first[0], first[0] + 1, ... (count[0] of them), first[1], ..."""
    ends = np.cumsum(count)
    return np.asarray(np.repeat(first - ends + count, count) + np.arange(count.sum()))
