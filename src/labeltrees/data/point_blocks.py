"""The points of DATA without their labels, in blocks: matrices and texts, and contexts (lists of items or names)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from labeltrees.data.data_folder import BUNDLED, TEST, find_file, find_parts
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.files import open_any
from labeltrees.data.parquet import ParquetReader
from labeltrees.data.read_data import (
    NO_OPTIONS,
    DataOptions,
    TextFile,
    load_data,
    open_parts_of,
    open_text_file,
    rows_of_part,
)
from labeltrees.data.text_formats import format_of
from labeltrees.data.texts import read_blocks, read_table, warn_about_gaps
from labeltrees.data.xmc import open_xmc_blocks
from labeltrees.errors import FileFormatError, InputError

_BLOCK_SIZE = 8192
_CONTEXT_FORMATS = ("jsonl", "csv", "tsv", "parquet")
ITEMS = "items"  # the key of the context in a line that is an object, besides the fields of the text


@dataclass(frozen=True)
class PointBlocks:
    """Points of DATA without their labels, in blocks.

    `n_points` is None if it is not known before the last block; `n_features` is None for texts.
    """

    n_points: int | None
    n_features: int | None
    blocks: Iterator[Any]


@contextmanager
def open_points(
    data: str, options: DataOptions = NO_OPTIONS, *, read_texts: Callable[[list[str]], Any] | None = None
) -> Iterator[PointBlocks]:
    """Open the test part of DATA in blocks, so that the file is never in memory as a whole, unless it is split.

    `read_texts` turns a list of texts into points; None if the model takes no texts.
    """
    with ExitStack() as stack:
        is_bundled_matrix = data == BUNDLED and read_texts is None
        file = None if is_bundled_matrix else stack.enter_context(open_text_file(data, TEST, options))
        if file is not None:
            if read_texts is None:
                raise no_texts(data)
            yield PointBlocks(None, None, map(read_texts, _text_blocks(data, file, options)))
            return
        found = find_parts(data, TEST)
        if found is not None:
            in_parts = open_parts_of(data, found, options)
            blocks_of_parts = (block for part_of in in_parts.parts for block in _row_blocks(part_of.features()))
            yield PointBlocks(in_parts.n_points, in_parts.n_features, blocks_of_parts)
            return
        path = find_file(data, TEST)
        if path is not None and options.test_share is None:
            blocks = stack.enter_context(open_xmc_blocks(path, options.index_base))
            yield PointBlocks(blocks.n_points, blocks.n_features, (block.X for block in blocks))
            return
        X = load_data(data, TEST, replace(options, label_names=None, feature_names=None)).X
        yield PointBlocks(X.shape[0], X.shape[1], _row_blocks(X))


def no_texts(data: str) -> InputError:
    """Return the error for texts that are given to a model without a text encoder."""
    message = (
        f"{data}: contains texts, but the model was trained on features and cannot read texts: train a model on texts, "
        "or on a folder of `labeltrees logs prepare`, whose encoder the model keeps"
    )
    return InputError(message)


def _row_blocks(X: Any) -> Iterator[Any]:
    return (X[start : start + _BLOCK_SIZE] for start in range(0, X.shape[0], _BLOCK_SIZE))


def _text_blocks(data: str, file: TextFile, options: DataOptions) -> Iterator[list[str]]:
    """Yield the texts of a file in blocks, without labels; only a file that is split is read as a whole."""
    fields = file.fields.without_labels()
    if options.test_share is not None:
        whole = read_table(file.path, fields, file.format)
        yield whole.take(rows_of_part(data, len(whole.texts), TEST, options).tolist()).texts
        return
    n_texts = n_empty = 0
    for block in read_blocks(file.path, fields, file.format):
        n_texts += len(block.texts)
        n_empty += sum(not text.strip() for text in block.texts)
        yield block.texts
    warn_about_gaps(file.path, n_texts, n_empty)


# Contexts: lists of items or of names, for models whose encoder takes them.


class ContextBlock(NamedTuple):
    """Some contexts of a file, the number of contexts before them, and their labels (None where there are none)."""

    contexts: list[Any]
    start: int
    labels: list[Any]


def context_file(data: str, options: DataOptions, encoder: Encoder | None) -> TextFile | None:
    """Return the file of contexts that DATA names as its test part; None if the encoder takes no contexts from it."""
    if encoder is None or isinstance(encoder, TextEncoder) or find_parts(data, TEST) is not None:
        return None
    path = find_file(data, TEST)
    format = None if path is None else format_of(path, options.format)
    if path is None or format is None or format not in _CONTEXT_FORMATS:
        return None
    return TextFile(path, options.fields, format)


def read_contexts(file: TextFile, encoder: Encoder, labels: bool = False) -> Iterator[ContextBlock]:
    """Yield the contexts of a file in blocks, with their labels if `labels` is true.

    A line of a .jsonl file is a context (a list of items, a list of [item, count] pairs, or an object from items to
    counts), or an object with a context under "items" or the field of the text, and optionally a list of names under
    the field of the labels. A Parquet column has lists or texts, a CSV column has texts. A text is a list of
    names with the encoder's separator.
    """
    if file.format in ("csv", "tsv") and getattr(encoder, "separator", None) is None:
        message = (
            f"{file.path}: the model takes {encoder.TAKES}, and this file has texts: "
            'use a .jsonl file with one list per line, such as ["bread", "milk"]'
        )
        raise InputError(message)
    blocks = _json_blocks(file) if file.format == "jsonl" else _column_blocks(file, labels)
    start = 0
    for contexts, own in blocks:
        yield ContextBlock(contexts, start, own)
        start += len(contexts)


def encode_block(file: TextFile, encoder: Encoder, block: ContextBlock, n_jobs: int) -> Any:
    """Return the rows of a block; an error names the file and the point."""
    try:
        return encoder.transform(block.contexts, n_jobs)
    except InputError as error:
        # Native code words this error: "contexts[3] must be ...; for one context, pass a list with it".
        place, _, fault = str(error).removeprefix("contexts[").partition("]")
        fault = fault.removesuffix("; for one context, pass a list with it")
        message = f"{file.path}: point {block.start + int(place)}{fault}"
        raise InputError(message) from None


def _json_blocks(file: TextFile) -> Iterator[tuple[list[Any], list[Any]]]:
    keys = (*file.fields.text, ITEMS)
    label_key = file.fields.labels or "labels"
    contexts: list[Any] = []
    labels: list[Any] = []
    with open_any(file.path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                fault = 'not JSON; a line must be a list of items, such as ["bread", "milk"]'
                message = f"{file.path}, line {number}: {fault}"
                raise FileFormatError(message) from None
            # In an object from items to counts, the value of such a key is a number, not a context.
            is_object = isinstance(record, dict)
            key = next((key for key in keys if is_object and isinstance(record.get(key), list | dict | str)), None)
            contexts.append(record if key is None else record[key])
            labels.append(None if key is None else record.get(label_key))
            if len(contexts) == _BLOCK_SIZE:
                yield contexts, labels
                contexts, labels = [], []
    if contexts:
        yield contexts, labels


def _column_blocks(file: TextFile, with_labels: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    fields = file.fields if with_labels else file.fields.without_labels()
    if file.format == "parquet":
        blocks = ParquetReader(file.path, fields, _BLOCK_SIZE, lists=True).blocks()
    else:
        blocks = read_blocks(file.path, fields, file.format, _BLOCK_SIZE)
    for block in blocks:
        yield block.texts, block.labels if with_labels else [None] * len(block.texts)
