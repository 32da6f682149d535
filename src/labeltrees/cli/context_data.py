"""DATA with contexts: lists of items or of names, for models whose encoder takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scipy import sparse

from labeltrees.cli.data_files import find_file, find_parts
from labeltrees.cli.text_data import TextOptions
from labeltrees.data import Dataset, TextEncoder
from labeltrees.data.encoders import Encoder
from labeltrees.data.files import open_any
from labeltrees.data.text_files import read_blocks
from labeltrees.data.text_formats import format_of
from labeltrees.data.text_parquet_reader import ParquetReader
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.common.label_sets import known_labels
from labeltrees.models.common.protocol import Model

_BLOCK_SIZE = 8192
_FORMATS = ("jsonl", "csv", "tsv", "parquet")
ITEMS = "items"  # the key of the context in a line that is an object, besides the names given with --text


class ContextFile(NamedTuple):
    """A file of contexts: its path, its format, and the options for its fields."""

    path: Path
    format: str
    texts: TextOptions


class ContextBlock(NamedTuple):
    """Some contexts of a file, how many are before them, and their labels (None where there are none)."""

    contexts: list[Any]
    start: int
    labels: list[Any]


def context_file(data: str, part: str, texts: TextOptions, model: Model) -> ContextFile | None:
    """Return the file of contexts that DATA names; None if it has none or the model does not take them."""
    if model.encoder_ is None or isinstance(model.encoder_, TextEncoder) or find_parts(data, part) is not None:
        return None
    path = find_file(data, part)
    format = None if path is None else format_of(path, texts.format)
    return ContextFile(path, format, texts) if path is not None and format in _FORMATS else None


def read_contexts(file: ContextFile, encoder: Encoder, labels: bool = False) -> Iterator[ContextBlock]:
    """Yield the contexts of a file in blocks, with their labels if they are asked for.

    A line of a .jsonl file is a context (a list of items, a list of [item, count] pairs, or an object from items to
    counts), or an object with a context under "items" or the name given with --text, and optionally a list of names
    under "labels". A column of Parquet has lists or texts, one of CSV texts: names with the encoder's separator.
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


def encode_block(file: ContextFile, encoder: Encoder, block: ContextBlock, n_jobs: int) -> Any:
    """Return the rows of a block; an error names the file and the point."""
    try:
        return encoder.transform(block.contexts, n_jobs)
    except InputError as error:
        fault = re.sub(r"contexts\[(\d+)\]", lambda found: f"point {block.start + int(found[1])}", str(error))
        message = f"{file.path}: {fault.removesuffix('; for one context, pass a list with it')}"
        raise InputError(message) from None


def context_dataset(file: ContextFile, model: Model, n_jobs: int) -> Dataset:
    """Return contexts with labels as a Dataset with the features and labels of a model."""
    encoder = model.encoder_
    assert encoder is not None
    rows: list[Any] = []
    labels: list[Any] = []
    for block in read_contexts(file, encoder, labels=True):
        rows.append(encode_block(file, encoder, block, n_jobs))
        labels += block.labels
    without = next((row for row, own in enumerate(labels) if not isinstance(own, list)), None)
    if without is not None or not labels:
        message = f'{file.path}: point {without or 0} has no labels; a line must be {{"items": [...], "labels": [...]}}'
        raise InputError(message)
    names = getattr(model, "_label_names", None)
    Y = known_labels(labels, (len(labels), model.searcher_.n_labels), names)
    return Dataset(sparse.vstack(rows, format="csr"), Y, label_names=model.label_names_)


def parse_context(text: str, encoder: Encoder | None) -> Any:
    """Return the context that somebody typed: a text, a JSON list or object, or a single item.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.ItemEncoder(["milk", "bread"])
    >>> parse_context("milk", encoder), parse_context('["milk", ["bread", 2]]', encoder)
    (['milk'], ['milk', ['bread', 2]])
    """
    if encoder is None or isinstance(encoder, TextEncoder):
        return text
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            message = f'--ask {text}: not JSON; a list of items must be written as ["bread", "milk"]'
            raise InputError(message) from None
    return text if getattr(encoder, "separator", None) is not None else [text]


def _json_blocks(file: ContextFile) -> Iterator[tuple[list[Any], list[Any]]]:
    keys = (*file.texts.fields.text, ITEMS)
    label_key = file.texts.fields.labels or "labels"
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
            # An object from items to counts has numbers where an object with a context has the context.
            is_object = isinstance(record, dict)
            key = next((key for key in keys if is_object and isinstance(record.get(key), list | dict | str)), None)
            contexts.append(record if key is None else record[key])
            labels.append(None if key is None else record.get(label_key))
            if len(contexts) == _BLOCK_SIZE:
                yield contexts, labels
                contexts, labels = [], []
    if contexts:
        yield contexts, labels


def _column_blocks(file: ContextFile, with_labels: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    fields = file.texts.fields if with_labels else file.texts.fields.without_labels()
    if file.format == "parquet":
        blocks = ParquetReader(file.path, fields, _BLOCK_SIZE, lists=True).blocks()
    else:
        blocks = read_blocks(file.path, fields, file.format, _BLOCK_SIZE)
    for block in blocks:
        yield block.texts, block.labels if with_labels else [None] * len(block.texts)
