"""The arrays of a trained text model: its vocabulary, its vectors and its tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from labeltrees import _core
from labeltrees.errors import FileFormatError, InputError
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s, UInt8s, UInt64s

LANES = 16  # rows are padded with zeros to a multiple of this length


def padded(dim: int) -> int:
    """Return the padded length of a row of `dim` values."""
    return -(-dim // LANES) * LANES


@dataclass(frozen=True, eq=False)
class TextStore:
    """The arrays of a trained text model, checked once so that native code can trust them.

    Parameters
    ----------
    words : uint8
        The bytes of all words, then of label tokens that do not start with ``__label__``, if any.
    word_ends : int64 (n_entries + 1,)
    word_counts : int64 (n_entries,)
    word_slots : int64, a power of two long
        The hash table from words to ids: id << 32 | hash, -1 if empty.
    buckets : uint64 (n_buckets // 32 + 1,)
        One entry per 32 buckets: presence bits for their rows in `input` (lower half), and the number of rows of all
        buckets before them (upper half).
    input : float32 (n_words + rows of buckets, padded(dim))
    output : float32 (n_nodes, padded(dim))
    child_ptr, children : the tree's arrays
        The tree is binary: a node has two children or one.
    """

    words: UInt8s
    word_ends: Int64s
    word_counts: Int64s
    word_slots: Int64s
    buckets: UInt64s
    input: Float32s
    output: Float32s
    child_ptr: Int64s
    children: Int32s
    n_words: int
    n_labels: int
    n_tokens: int
    dim: int
    word_ngrams: int
    min_n: int
    max_n: int
    n_buckets: int
    source: str = "model"
    tree: LabelTree = field(init=False)

    ARRAYS = (
        ("words", np.uint8),
        ("word_ends", np.int64),
        ("word_counts", np.int64),
        ("word_slots", np.int64),
        ("buckets", np.uint64),
        ("input", np.float32),
        ("output", np.float32),
        ("child_ptr", np.int64),
        ("children", np.int32),
    )
    NUMBERS = ("n_words", "n_labels", "n_tokens", "dim", "word_ngrams", "min_n", "max_n", "n_buckets")

    def __post_init__(self) -> None:
        for name, dtype in self.ARRAYS:
            array = getattr(self, name)
            n_dimensions = 2 if name in ("input", "output") else 1
            if array.dtype != dtype or array.ndim != n_dimensions or not array.flags.c_contiguous:
                self.fail(f"{name} must be a contiguous {np.dtype(dtype).name} array of {n_dimensions} dimensions")
        self._check_numbers()
        self._check_words()
        self._check_buckets()
        object.__setattr__(self, "tree", self._check_tree())
        for name in ("input", "output"):
            if getattr(self, name).ctypes.data % 64 != 0:  # for example, after unpickling
                object.__setattr__(self, name, aligned(getattr(self, name)))

    def fail(self, fault: str) -> NoReturn:
        """Raise `FileFormatError` for damaged arrays."""
        message = f"{self.source}: {fault}"
        raise FileFormatError(message)

    def _check_numbers(self) -> None:
        for name in self.NUMBERS:
            value = getattr(self, name)
            low = 1 if name in ("n_labels", "dim", "word_ngrams") else 0
            high = 2**62 if name == "n_tokens" else 2**31 - 1
            if type(value) is not int or not low <= value <= high:
                self.fail(f"{name} must be an integer in [{low}, {high}], got {value!r}"[:200])
        for name in ("input", "output"):
            if getattr(self, name).shape[1] != padded(self.dim):
                self.fail(f"{name} must have {padded(self.dim)} columns for dim {self.dim}")

    def _check_words(self) -> None:
        n_entries = len(self.word_ends) - 1
        if not self.n_words <= n_entries < 2**31 or len(self.word_counts) != n_entries:
            self.fail("the places of the words are damaged")
        n_slots = len(self.word_slots)
        if n_slots == 0 or n_slots & (n_slots - 1) != 0:
            self.fail("the table of the words is damaged")

    def _check_buckets(self) -> None:
        if len(self.buckets) != self.n_buckets // 32 + 1:
            self.fail(f"buckets must have {self.n_buckets // 32 + 1} entries")
        here = np.bitwise_count(self.buckets & np.uint64(0xFFFFFFFF)).astype(np.int64)
        before = (self.buckets >> np.uint64(32)).astype(np.int64)
        total = int(here.sum())
        if not np.array_equal(before, np.cumsum(here) - here) or len(self.input) != self.n_words + total:
            self.fail("the rows of the buckets are damaged")

    def _check_tree(self) -> LabelTree:
        try:
            tree = LabelTree._adopt(TreeArrays(self.child_ptr, self.children, self.n_labels))
        except InputError as error:
            self.fail(f"the tree is damaged: {error}")
        if np.diff(self.child_ptr).max() > 2 or len(self.output) != tree.n_nodes:
            self.fail("the tree must be binary and have a row of output for every node")
        return tree

    def check_all(self) -> None:
        """Also check every word and every vector, as ``load(..., verify=True)`` does."""
        ends = self.word_ends
        if ends[0] != 0 or ends[-1] != len(self.words) or np.any(np.diff(ends) < 0):
            self.fail("the places of the words are damaged")
        if not np.array_equal(_core.word_slots(self.words, ends), self.word_slots):
            self.fail("the table of the words is damaged")
        if not (all_finite(self.input) and all_finite(self.output)):
            self.fail("a vector is not finite")

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(int(getattr(self, name).nbytes) for name, _ in self.ARRAYS)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "tree"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


def zero_rows(n_rows: int, dim: int) -> Float32s:
    """Return `n_rows` rows of zeros, padded and aligned."""
    return _core.zero_floats(n_rows * padded(dim)).reshape(n_rows, padded(dim))


def aligned(matrix: Float32s) -> Float32s:
    """Return a copy whose rows start at multiples of 64 bytes."""
    copy = _core.zero_floats(matrix.size).reshape(matrix.shape)
    copy[:] = matrix
    return copy


def all_finite(matrix: Float32s) -> bool:
    """Return whether all values are finite; reads the matrix in blocks to save memory."""
    step = 2**16
    return all(bool(np.isfinite(matrix[first : first + step]).all()) for first in range(0, len(matrix), step))
