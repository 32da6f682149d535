"""Count the cache lines that a search touches in a chunk store, by section, from the layout (docs/format.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees.search.result import SearchTrace
from labeltrees.storage import ChunkStore

LINE = 64
SECTIONS = ("header", "index", "slots", "pairs", "masks", "full rows")


@dataclass(frozen=True)
class Part:
    """Where the rows of one part of a chunk are, in bytes from its start."""

    n_header: int
    n_padded: int
    ranks: NDArray[np.int64]
    words: list[tuple[int, int, NDArray[np.int64]]]  # per level: start, log2 of features per bit, groups with a word
    slots_at: int
    slot_bytes: int
    first: NDArray[np.int64]  # first byte of each row's weights
    n_bytes: NDArray[np.int64]  # of each row's weights; 0 if they are in the slot
    form: NDArray[np.int64]  # of each row: index in SECTIONS, 0 if the row is in its slot

    @classmethod
    def read(cls, chunks: NDArray[np.uint8], offset: int) -> tuple[Part, int]:
        """Return a part and the offset of the node's next part, or 0 after the last one."""
        head = chunks[offset : offset + LINE].view("<u4")
        lines, n_children, n_rows, n_units = int(head[0]), int(head[1] & 0xFFFF), int(head[4]), int(head[5])
        kind, more = int(chunks[offset + 6]), int(chunks[offset + 7])
        part = chunks[offset : offset + LINE * lines]
        at = -(-(LINE + 8 * n_children) // LINE) * LINE
        n_header = at // LINE
        words, groups = [], np.arange(int(head[8]))
        for level in range(int(head[7])):
            n_words = int(head[8 + level])
            words.append((at, 5 * (int(head[7]) - level), groups))
            bits = np.flatnonzero(
                np.unpackbits(part[at : at + 8 * n_words].reshape(-1, 8)[:, :4], axis=1, bitorder="little")
            )
            groups = 32 * groups[bits // 32] + bits % 32
            at += 8 * n_words
        slot_bytes = 8 if kind == 1 else 4
        slots = part[at : at + slot_bytes * n_rows].view(f"<u{slot_bytes}").astype(np.int64)
        entries = at + slot_bytes * n_rows
        dense = -(-(entries + 2 * n_units) // LINE) * LINE
        padded = -(-n_children // 16) * 16
        if kind < 2:
            count = np.bitwise_count(slots & 0xFFFF).astype(np.int64)
            first = entries + 2 * (slots >> (4 * slot_bytes))
            n_bytes, form = np.where(count > 1, 2 * count, 0), np.full(n_rows, 4)
        else:
            count, unit = slots & 0xFF, slots >> 8
            masked = np.flatnonzero(count == 0x81)
            units = part[entries : entries + 2 * n_units].view("<u2")
            n_masks = padded // 16
            in_masks = np.bitwise_count(units[unit[masked, np.newaxis] + np.arange(n_masks)]).sum(
                axis=1, dtype=np.int64
            )
            n_bytes = np.where(count > 1, 3 * count, 0)
            n_bytes[masked] = 2 * (n_masks + in_masks)
            n_bytes[count == 0x80] = 2 * padded
            first = np.where(count == 0x80, dense + 2 * padded * unit, entries + 2 * unit)
            form = np.where(count == 0x80, 5, np.where(count == 0x81, 4, 3))
        form = np.where(n_bytes == 0, 0, form)
        made = cls(n_header, padded, groups, words, at, slot_bytes, first, n_bytes, form)
        return made, offset + LINE * lines if more else 0

    def rows_of(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the features that have one."""
        if len(self.ranks) == 0:
            return np.zeros(0, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self.ranks, ranks), len(self.ranks) - 1)
        return np.asarray(rows[self.ranks[rows] == ranks])

    def n_weights(self) -> NDArray[np.int64]:
        """Return the number of weights of each row that has entries."""
        in_masks = self.n_bytes // 2 - (self.n_padded // 16 if self.n_padded > 16 else 0)
        return np.select(
            [self.form == 5, self.form == 4, self.form == 3], [self.n_padded, in_masks, self.n_bytes // 3], 1
        )

    def touched(self, ranks: NDArray[np.int64]) -> list[int]:
        """Return the lines of each section that a query with features of these ranks touches."""
        n_lines = [self.n_header]
        index, left = 0, ranks
        for level, (start, below, groups) in enumerate(self.words):
            group = left >> below
            place = np.searchsorted(groups, group)
            index += len(np.unique((start + 8 * place) // LINE))
            if level + 1 < len(self.words):
                left = left[np.isin(left >> (below - 5), self.words[level + 1][2])]
        rows = self.rows_of(left)
        n_lines += [index, len(np.unique((self.slots_at + self.slot_bytes * rows) // LINE))]
        for section in (3, 4, 5):
            here = rows[self.form[rows] == section]
            from_line, to_line = self.first[here] // LINE, (self.first[here] + self.n_bytes[here] - 1) // LINE
            count = to_line - from_line + 1
            every = np.repeat(from_line - np.cumsum(count) + count, count) + np.arange(count.sum())
            n_lines.append(len(np.unique(every)))
        return n_lines

    def sizes(self) -> list[int]:
        """Return the bytes of each section."""
        index = sum(8 * len(groups) for _, _, groups in self.words)
        rows = [int(self.n_bytes[self.form == section].sum()) for section in (3, 4, 5)]
        return [LINE * self.n_header, index, self.slot_bytes * len(self.ranks), *rows]


class ChunkLines:
    """The parts of a store's chunks, read when they are needed."""

    def __init__(self, store: ChunkStore) -> None:
        self.store = store
        self._parts: dict[int, list[Part]] = {}

    def ranks(self, node: int) -> NDArray[np.int64]:
        """Return the ranks of the features that have a row in a node's chunk."""
        return np.unique(np.concatenate([part.ranks for part in self.parts(node)]))

    def parts(self, node: int) -> list[Part]:
        """Return the parts of a node's chunk."""
        if node not in self._parts:
            parts, offset = [], int(self.store.offsets[node])
            while True:
                part, offset = Part.read(self.store.chunks, offset)
                parts.append(part)
                if offset == 0:
                    break
            self._parts[node] = parts
        return self._parts[node]

    def count(self, X: Any, trace: SearchTrace) -> dict[str, int]:
        """Return the lines that the searches for all rows of X touch, by section; a line counts once per visit."""
        total = np.zeros(len(SECTIONS), dtype=np.int64)
        for query in range(X.shape[0]):
            features = X.indices[X.indptr[query] : X.indptr[query + 1]]
            ranks = np.sort(self.store.feature_rank[features].astype(np.int64))
            for node in trace.nodes[trace.ends[query] : trace.ends[query + 1]]:
                for part in self.parts(int(node)):
                    total += part.touched(ranks)
        return dict(zip(SECTIONS, total.tolist(), strict=True))

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each section."""
        parts = (part for node in range(self.store.n_nodes) for part in self.parts(node))
        return dict(zip(SECTIONS, np.sum([part.sizes() for part in parts], axis=0).tolist(), strict=True))
