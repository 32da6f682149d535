"""DATA with texts: read with their labels, or streamed without them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labeltrees.cli.data_files import find_file, find_parts, has_test_file
from labeltrees.cli.output import plural
from labeltrees.data import Dataset
from labeltrees.data.text_dataset import default_vectorizer, no_features, text_dataset
from labeltrees.data.text_files import TextTable, read_blocks, read_table, split_rows, warn_about_gaps
from labeltrees.data.text_formats import TextFields, format_of
from labeltrees.errors import InputError

_logger = logging.getLogger("labeltrees")


@dataclass(frozen=True)
class TextOptions:
    """The options of a command for DATA: fields and format of texts, and how one file is split.

    Parameters
    ----------
    fields : TextFields
    format : str
        "auto", or the format of the texts in DATA.
    test_share : float or None
        The share of one file that is its test part; None: the file is not split.
    seed : int
        Seed of the split.
    """

    fields: TextFields = field(default_factory=TextFields)
    format: str = "auto"
    test_share: float | None = None
    seed: int = 0


NO_OPTIONS = TextOptions()
NO_TEXTS = (
    "{data}: contains texts, but the model was trained on features and cannot read texts: train a model on texts, or "
    "on a folder of `labeltrees logs prepare`, whose encoder the model keeps"
)


@dataclass(frozen=True)
class TextFile:
    """A file of texts: its path, the fields to read, and its format."""

    path: Path
    fields: TextFields
    format: str


@contextmanager
def open_text_file(data: str, part: str, texts: TextOptions) -> Iterator[TextFile | None]:
    """Open the file of texts that DATA names; None if DATA has no texts."""
    if find_parts(data, part) is not None:
        yield None
        return
    path = find_file(data, part, texts.format)
    if path is None:
        from labeltrees.datasets import debian_folder  # only when needed

        with debian_folder() as folder:
            yield TextFile(folder / f"debian-{part}.jsonl.xz", TextFields(), "jsonl")
        return
    format = format_of(path, texts.format)
    yield None if format is None else TextFile(path, texts.fields, format)


def load_texts(data: str, part: str, texts: TextOptions = NO_OPTIONS) -> TextTable | None:
    """Return the texts of DATA with their labels; None if DATA has no texts."""
    with open_text_file(data, part, texts) as file:
        if file is None:
            return None
        table = read_table(file.path, file.fields, file.format)
    if texts.test_share is None:
        return table
    return table.take(rows_of_part(data, len(table.texts), part, texts).tolist())


def text_blocks(data: str, file: TextFile, part: str, texts: TextOptions) -> Iterator[list[str]]:
    """Yield the texts of a file in blocks, without labels; only a file that is split is read whole."""
    fields = file.fields.without_labels()
    if texts.test_share is not None:
        whole = read_table(file.path, fields, file.format)
        yield whole.take(rows_of_part(data, len(whole.texts), part, texts).tolist()).texts
        return
    n_texts = n_empty = 0
    for block in read_blocks(file.path, fields, file.format):
        n_texts += len(block.texts)
        n_empty += sum(not text.strip() for text in block.texts)
        yield block.texts
    warn_about_gaps(file.path, n_texts, n_empty)


def rows_of_part(data: str, n: int, part: str, texts: TextOptions) -> Any:
    """Return the rows of a part of one file that is split."""
    if has_test_file(data, texts.format):
        message = f"{data}: already has a test part; --test-share is for a single file"
        raise InputError(message)
    assert texts.test_share is not None
    train, test = split_rows(n, texts.test_share, texts.seed)
    if len(train) == 0 or len(test) == 0:
        missing = "test" if len(test) == 0 else "train"
        message = f"{data}: --test-share {texts.test_share:g} leaves no {missing} part of {plural(n, 'point')}"
        raise InputError(message)
    return train if part == "train" else test


def table_dataset(data: str, table: TextTable, part: str, texts: TextOptions, features: bool) -> Dataset:
    """Return texts as a Dataset with the labels of the train part, and features by a vectorizer fitted on it."""
    is_other_part = part != "train" and (texts.test_share is not None or has_test_file(data, texts.format))
    train = load_texts(data, "train", texts) if is_other_part else table
    assert train is not None
    names = train.label_names()
    labels = table.labels if train is table else _known_labels(data, table, set(names))
    X = vectorizer = None
    if features:
        vectorizer = default_vectorizer().fit(train.texts)
    else:
        X = no_features(table.texts)
    return text_dataset(table.texts, labels, vectorizer, names, X=X, sample_weight=table.weights)


def dataset_like(data: str, table: TextTable, train: Dataset) -> Dataset:
    """Return texts as a Dataset with the features and labels of the training data."""
    assert train.label_names is not None
    names = train.label_names.tolist()
    labels = _known_labels(data, table, set(names))
    return text_dataset(table.texts, labels, train.vectorizer, names, sample_weight=table.weights)


def model_dataset(
    data: str, table: TextTable, label_names: Any, features: Callable[[list[str]], Any] | None
) -> Dataset:
    """Return texts as a Dataset with the labels of a model, and the features that `features` returns for them.

    Labels that the model does not know are added after its own labels, so that they count as missed.
    """
    if features is None:
        raise InputError(NO_TEXTS.format(data=data))
    if label_names is None:
        message = f"{data}: has labels with names, but the labels of the model have no names"
        raise InputError(message)
    names = label_names.tolist()
    unknown = sorted(set(table.label_names()) - set(names))
    if unknown:
        text = "%s: the model does not know %s, such as %r"
        _logger.warning(text, data, plural(len(unknown), "label"), unknown[0])
    names += unknown
    X = features(table.texts)
    return text_dataset(table.texts, table.labels, label_names=names, X=X, sample_weight=table.weights)


def _known_labels(data: str, table: TextTable, known: set[str]) -> list[list[str]]:
    labels = [[name for name in names if name in known] for names in table.labels]
    n_unknown = sum(map(len, table.labels)) - sum(map(len, labels))
    if n_unknown:
        _logger.warning("%s: left out %s that the training part does not have", data, plural(n_unknown, "label"))
    return labels
