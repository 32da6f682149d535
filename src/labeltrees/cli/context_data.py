"""DATA with contexts: lists of items in JSON lines, for models whose encoder takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labeltrees.cli.data_files import find_file
from labeltrees.cli.text_data import TextOptions
from labeltrees.data import Dataset, TextEncoder
from labeltrees.data.files import open_any
from labeltrees.data.text_formats import format_of
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.common.label_sets import known_labels
from labeltrees.models.common.protocol import Model

_BLOCK_SIZE = 8192
ITEMS, LABELS = "items", "labels"  # the keys of a line that is an object


def context_file(data: str, part: str, texts: TextOptions, model: Model) -> Path | None:
    """Return the file of contexts that DATA names; None if it has none or the model does not take them."""
    if model.encoder_ is None or isinstance(model.encoder_, TextEncoder):
        return None
    path = find_file(data, part)
    return path if path is not None and format_of(path, texts.format) == "jsonl" else None


def read_contexts(path: Path) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield blocks of contexts and of their labels (None where a line has none).

    A line is a context (a list of items, a list of [item, count] pairs, or an object from items to counts), or an object
    with a context under "items" and optionally a list of names under "labels".
    """
    contexts: list[Any] = []
    labels: list[Any] = []
    with open_any(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                message = f'{path}, line {number}: not JSON; a line must be a list of items, such as ["bread", "milk"]'
                raise FileFormatError(message) from None
            is_whole = isinstance(record, dict) and isinstance(record.get(ITEMS), list | dict | str)
            contexts.append(record[ITEMS] if is_whole else record)
            labels.append(record.get(LABELS) if is_whole else None)
            if len(contexts) == _BLOCK_SIZE:
                yield contexts, labels
                contexts, labels = [], []
    if contexts:
        yield contexts, labels


def context_dataset(data: str, path: Path, model: Model) -> Dataset:
    """Return contexts with labels as a Dataset with the features and labels of a model."""
    encoder = model.encoder_
    assert encoder is not None
    contexts: list[Any] = []
    labels: list[Any] = []
    for more, own in read_contexts(path):
        contexts += more
        labels += own
    without = next((row for row, own in enumerate(labels) if not isinstance(own, list)), None)
    if without is not None or not labels:
        message = f'{data}: point {without or 0} has no labels; a line must be {{"items": [...], "labels": [...]}}'
        raise InputError(message)
    names = getattr(model, "_label_names", None)
    Y = known_labels(labels, (len(contexts), model.searcher_.n_labels), names)
    return Dataset(encoder.transform(contexts), Y, label_names=model.label_names_)
