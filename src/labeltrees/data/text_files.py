"""read_texts: from a file of texts with labels to a Dataset."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeltrees._validation import check_number, check_seed, refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import FilePath, open_any
from labeltrees.data.text_fields import FORMS, TextBlock, TextFields, form_of
from labeltrees.data.text_lines import LINE_READERS
from labeltrees.data.text_parquet import ParquetTexts
from labeltrees.data.text_records import text_dataset
from labeltrees.errors import FileFormatError

TEXTS_AT_ONCE = 8192

_logger = logging.getLogger("labeltrees")


@dataclass(frozen=True)
class TextTable:
    """All records of a file of texts.

    Parameters
    ----------
    texts : list of str
    labels : list of lists of str
    weights : list of float or None
    """

    texts: list[str]
    labels: list[list[str]]
    weights: list[float] | None = None

    def label_names(self) -> list[str]:
        """Return the names that occur, sorted."""
        return sorted(set(itertools.chain.from_iterable(self.labels)))

    def take(self, rows: Sequence[int]) -> TextTable:
        """Return some of the records."""
        weights = self.weights
        return TextTable(
            [self.texts[row] for row in rows],
            [self.labels[row] for row in rows],
            None if weights is None else [weights[row] for row in rows],
        )

    def split(self, test_share: float, seed: int) -> tuple[TextTable, TextTable]:
        """Return a train and a test part at random, as `split_rows` chooses them."""
        train, test = split_rows(len(self.texts), test_share, seed)
        return self.take(train.tolist()), self.take(test.tolist())


def split_rows(n: int, test_share: float, seed: int) -> tuple[Any, Any]:
    """Return the rows of a train and a test part at random, each rising; the same for the same seed."""
    check_number("test_share", test_share, 0, 1, low_open=True)
    order = np.random.default_rng(check_seed(seed)).permutation(n)
    n_test = round(test_share * n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def open_texts(path: FilePath, fields: TextFields, form: str, block_size: int = TEXTS_AT_ONCE) -> Iterator[TextBlock]:
    """Give the records of a file of texts some at a time: it is never in memory whole."""
    if form == "parquet":
        yield from ParquetTexts(path, fields, block_size).blocks()
        return
    with open_any(path) as stream:
        yield from LINE_READERS[form](path, stream, fields, block_size).blocks()


def check_form(path: FilePath, form: str = "auto") -> str:
    """Return the form of a file of texts, or refuse it."""
    found = form_of(path, form)
    if found is None:
        message = f"{path}: no file of texts by its name; say its format, one of {', '.join(FORMS)}"
        raise FileFormatError(message)
    return found


def read_table(path: FilePath, fields: TextFields, form: str = "auto") -> TextTable:
    """Read all records of a file of texts, and log what is odd about them."""
    found = check_form(path, form)
    texts: list[str] = []
    labels: list[list[str]] = []
    weights: list[float] = []
    n_blank_labels = 0
    for block in open_texts(path, fields, found):
        texts += block.texts
        labels += block.labels
        weights += block.weights
        n_blank_labels += block.n_blank_labels
    if not texts:
        message = f"{path}: no texts in it"
        raise FileFormatError(message)
    if fields.labels is None:
        labels = [[] for _ in texts]
    elif fields.labels_required and not any(labels):
        message = f"{path}: none of the {len(texts):,} texts has a label"
        raise FileFormatError(message)
    n_empty = sum(not text.strip() for text in texts)
    n_without = 0 if fields.labels is None else sum(not names for names in labels)
    say_odd(path, len(texts), n_empty, n_without, n_blank_labels)
    return TextTable(texts, labels, weights if fields.weight is not None else None)


def say_odd(path: FilePath, n_texts: int, n_empty: int, n_without_labels: int = 0, n_blank_labels: int = 0) -> None:
    """Log what was found odd, but kept, and what was left out."""
    if n_empty:
        _logger.warning("%s: %s of %s texts are empty; they are kept", path, f"{n_empty:,}", f"{n_texts:,}")
    if n_without_labels:
        _logger.warning(
            "%s: %s of %s texts have no label; they are kept", path, f"{n_without_labels:,}", f"{n_texts:,}"
        )
    if n_blank_labels:
        _logger.warning("%s: %s labels with an empty name left out", path, f"{n_blank_labels:,}")


def read_texts(
    path: FilePath,
    text: str | Sequence[str] = "text",
    labels: str = "labels",
    format: str = "auto",
    *,
    label_separator: str = ",",
    weight: str | None = None,
    vectorizer: Any = None,
) -> Dataset:
    r"""Read texts and the names of their labels.

    Parameters
    ----------
    path : path
        A file in one of these forms; the first four plain or compressed (.gz, .xz, .zst):

        - jsonl: an object a line, labels a list of strings;
        - csv, tsv: with a header; labels a string;
        - fasttext: words, those that start with ``__label__`` are labels;
        - parquet: labels lists of strings, or strings.
    text : str or sequence of str
        The field of the text; the texts of several fields are joined by a blank.
    labels : str
        The field of the labels.
    format : {"auto", "jsonl", "csv", "tsv", "parquet", "fasttext"}
        "auto" goes by the name of the file, and for .txt by its first line.
    label_separator : str
        Between labels where they are a string. A label that holds it is in quotes, as in CSV; a list in JSON is
        understood too.
    weight : str, optional
        The field of the points' weights.
    vectorizer : TfidfVectorizer or the like, optional
        What makes features from texts, used as it is if it has been fitted; by default words in at least two texts.

    Returns
    -------
    Dataset
        With texts, label_names (sorted) and feature_names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import labeltrees as lt
    >>> path = pathlib.Path(tempfile.mkdtemp(), "questions.csv")
    >>> size = path.write_text('title,tags\n"Rice, brown",rice\nMore rice,"rice,long-grain"\n')
    >>> dataset = lt.read_texts(path, text="title", labels="tags")
    >>> dataset.label_names.tolist(), dataset.feature_names.tolist()
    (['long-grain', 'rice'], ['rice'])
    """
    if not isinstance(labels, str):
        refuse("labels", "the name of a field", labels)
    table = read_table(path, TextFields.of(text, labels, weight, label_separator), format)
    dataset = text_dataset(table.texts, table.labels, vectorizer)
    if table.weights is None:
        return dataset
    return Dataset(
        dataset.X,
        dataset.Y,
        label_names=dataset.label_names,
        feature_names=dataset.feature_names,
        sample_weight=table.weights,
        texts=dataset.texts,
        vectorizer=dataset.vectorizer,
    )


def without_labels(fields: TextFields) -> TextFields:
    """Return the fields for texts whose labels do not matter."""
    return replace(fields, labels=None, weight=None)
