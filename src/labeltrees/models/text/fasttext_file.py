"""fastText's ``.bin`` files of supervised models with hierarchical softmax: reads versions 11 and 12, writes 12.

The little-endian parts are: magic and version; the arguments; the dictionary (words, then labels); a flag and the input
matrix; a flag and the output matrix. The file does not contain the tree: fastText builds it from the label counts.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from labeltrees import _core
from labeltrees._files import refuse_file
from labeltrees.data.files import open_any
from labeltrees.errors import FileFormatError

MAGIC, VERSION = 793712314, 12
_HEAD = struct.Struct("<2i12id")  # magic, version, arguments, t
_SIZES = struct.Struct("<3i2q")  # entries, words, labels, tokens, pruned
_SHAPE = struct.Struct("<Bqq")  # quantised, rows, columns
_HIERARCHICAL_SOFTMAX, _SUPERVISED = 1, 3
_BUCKETS_AT_ONCE = 2**14


class FastTextArguments(NamedTuple):
    """The training arguments in the file, in the order of the file."""

    dim: int
    window: int = 5
    epochs: int = 5
    min_count: int = 1
    negatives: int = 5
    word_ngrams: int = 1
    loss: int = _HIERARCHICAL_SOFTMAX
    model: int = _SUPERVISED
    buckets: int = 0
    min_n: int = 0
    max_n: int = 0
    update_rate: int = 100


class FastTextModel(NamedTuple):
    """The contents of a file.

    Parameters
    ----------
    words, word_ends, counts
        The bytes of all words, then of all labels with their prefix; the offset of each entry, and a last one for the
        end; the count of each entry.
    input : float32 (n_words + buckets, dim)
    output : float32 (n_labels, dim)
    """

    arguments: FastTextArguments
    words: Any
    word_ends: Any
    counts: Any
    n_words: int
    n_tokens: int
    input: Any
    output: Any


def read_fasttext(path: str | os.PathLike[str]) -> FastTextModel:
    """Return the contents of a file; its matrices are memory-mapped."""
    with open_any(path) as stream:
        if os.fstat(stream.fileno()).st_size == 0:
            refuse_file(path, "the file is empty")
        mapped = np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    return _Reader(path, mapped).read()


class _Reader:
    def __init__(self, path: str | os.PathLike[str], mapped: Any) -> None:
        self.path, self.mapped, self.at = path, mapped, 0

    def fail(self, fault: str) -> NoReturn:
        refuse_file(self.path, fault)

    def take(self, form: struct.Struct) -> tuple[Any, ...]:
        if self.at + form.size > len(self.mapped):
            self.fail("the file ends too soon")
        values = form.unpack_from(self.mapped, self.at)
        self.at += form.size
        return values

    def read(self) -> FastTextModel:
        if len(self.mapped) < _HEAD.size:
            self.fail("not a fastText model")
        magic, version, *arguments, _ = self.take(_HEAD)
        if magic != MAGIC:
            self.fail("not a fastText model")
        if version not in (11, 12):
            self.fail(f"a fastText model of version {version}, not 11 or 12")
        parsed = FastTextArguments(*arguments)
        if version == 11:  # version 11 has no character n-grams, even if the field is not 0
            parsed = parsed._replace(max_n=0)
        self.check_arguments(parsed)
        n_entries, n_words, n_labels, n_tokens, pruned = self.take(_SIZES)
        if pruned != -1:
            self.fail("a pruned model; only unpruned models can be read")
        if n_words < 0 or n_labels < 1 or n_entries != n_words + n_labels or n_tokens < 0:
            self.fail(f"a dictionary of {n_words} words, {n_labels} labels and {n_entries} entries")
        try:
            words, ends, counts, types, n_read = _core.fasttext_entries(self.mapped[self.at :], n_entries)
        except FileFormatError as error:
            self.fail(str(error))
        self.at += n_read
        if types[:n_words].any() or (types[n_words:] != 1).any():
            self.fail("the dictionary is damaged: words must come first, then labels")
        if (counts < 0).any():
            entry = int(np.argmax(counts < 0))
            self.fail(f"the dictionary is damaged: entry {entry} occurs {counts[entry]} times")
        inputs = self.matrix("input", n_words + parsed.buckets, parsed.dim)
        outputs = self.matrix("output", n_labels, parsed.dim)
        return FastTextModel(parsed, words, ends, counts, n_words, n_tokens, inputs, outputs)

    def check_arguments(self, arguments: FastTextArguments) -> None:
        if arguments.model != _SUPERVISED:
            self.fail("not a supervised model")
        if arguments.loss != _HIERARCHICAL_SOFTMAX:
            self.fail("not trained with hierarchical softmax (-loss hs)")
        limits = {"dim": (1, 2**16), "word_ngrams": (1, 1000), "buckets": (0, 2**31 - 1)}
        limits |= {"min_n": (0, 1000), "max_n": (0, 1000), "epochs": (0, 2**31 - 1), "min_count": (0, 2**31 - 1)}
        for name, (low, high) in limits.items():
            if not low <= getattr(arguments, name) <= high:
                self.fail(f"{name} is {getattr(arguments, name)}, not in [{low}, {high}]")
        if arguments.buckets == 0 and (arguments.word_ngrams > 1 or arguments.max_n > 0):
            self.fail("n-grams, but no buckets for them")

    def matrix(self, name: str, n_rows: int, dim: int) -> Any:
        quantised, *shape = self.take(_SHAPE)
        if quantised:
            self.fail("a quantised model; only models that are not quantised can be read")
        if shape != [n_rows, dim]:
            self.fail(f"the {name} matrix is {shape[0]} x {shape[1]}, not {n_rows} x {dim}")
        size = 4 * n_rows * dim
        if len(self.mapped) - self.at < size:
            self.fail(f"the file ends inside the {name} matrix")
        values = self.mapped[self.at : self.at + size]
        self.at += size
        # The dictionary before the matrix can have any length, so the floats may be unaligned.
        return np.ndarray((n_rows, dim), "<f4", buffer=values.data) if size else np.zeros((n_rows, dim), np.float32)


def fasttext_bytes(
    arguments: FastTextArguments,
    words: list[bytes],
    counts: Any,
    n_words: int,
    n_tokens: int,
    word_rows: Any,
    bucket_rows: Any,
    used_buckets: Any,
    output: Any,
) -> Iterator[bytes]:
    """Yield the file piece by piece.

    Parameters
    ----------
    words : list of bytes
        Words, then labels with their prefix.
    word_rows : float32 (n_words, dim)
    bucket_rows : float32 (n, dim)
        Rows of the `used_buckets` (n,), which are ascending; rows of other buckets are zero.
    output : float32 (n_labels, dim)
    """
    yield _HEAD.pack(MAGIC, VERSION, *arguments, 1e-4)
    yield _SIZES.pack(len(words), n_words, len(words) - n_words, n_tokens, -1)
    yield b"".join(
        word + b"\0" + struct.pack("<qb", count, number >= n_words)
        for number, (word, count) in enumerate(zip(words, counts.tolist(), strict=True))
    )
    yield _SHAPE.pack(0, n_words + arguments.buckets, arguments.dim)
    yield from _rows(word_rows)
    for first in range(0, arguments.buckets, _BUCKETS_AT_ONCE):
        block = np.zeros((min(_BUCKETS_AT_ONCE, arguments.buckets - first), arguments.dim), "<f4")
        low, high = np.searchsorted(used_buckets, [first, first + len(block)])
        block[used_buckets[low:high] - first] = bucket_rows[low:high]
        yield block.tobytes()
    yield _SHAPE.pack(0, len(output), arguments.dim)
    yield from _rows(output)


def _rows(matrix: Any) -> Iterator[bytes]:
    for first in range(0, len(matrix), _BUCKETS_AT_ONCE):
        yield np.ascontiguousarray(matrix[first : first + _BUCKETS_AT_ONCE], "<f4").tobytes()
