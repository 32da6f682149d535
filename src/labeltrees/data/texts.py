"""Texts with labels: reading them from files and tables, and making a Dataset of them."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from labeltrees._files import refuse_file
from labeltrees._names import nfc, nfc_labels
from labeltrees._validation import check_number, check_seed, refuse
from labeltrees.data.columns import as_table, check_no_missing, column_of, find_separator, is_table, label_cells
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import FilePath, open_any
from labeltrees.data.parquet import ParquetReader
from labeltrees.data.text_formats import (
    AUTO,
    DEFAULT_SEPARATOR,
    FORMATS,
    LINE_READERS,
    TextBlock,
    TextFields,
    format_of,
    read_documents,
    split_labels,
)
from labeltrees.data.tfidf import TfidfVectorizer, preset_vectorizer, usual_features
from labeltrees.errors import InputError

BLOCK_SIZE = 8192
_FIRST_RECORDS = 1000  # records that decide the separator
_logger = logging.getLogger("labeltrees")


def default_vectorizer(texts: Iterable[str] = (), n_jobs: int | None = None) -> TfidfVectorizer:
    """Return the default vectorizer for texts, not fitted: sublinear tf-idf of the terms in at least two texts.

    Terms are words, and for short texts also pieces of words: see `usual_features`.
    """
    return preset_vectorizer(usual_features(texts), n_jobs)


def text_dataset(
    texts: Sequence[str],
    labels: Sequence[Sequence[str]],
    vectorizer: Any = None,
    label_names: Iterable[str] | None = None,
    *,
    X: Any = None,
    sample_weight: Any = None,
) -> Dataset:
    """Make a Dataset from texts and the names of their labels.

    Parameters
    ----------
    texts : n_points str
    labels : n_points sequences of str
        The label names of each point. A name that occurs twice in a point counts once.
    vectorizer : TfidfVectorizer, scikit-learn's or similar, or the name of a preset, optional
        Makes the features. Fitted on `texts` unless it is fitted already. By default `default_vectorizer`.
    label_names : iterable of str, optional
        The names of all labels, in the order of their ids. By default the names in `labels`, sorted.
    X : (n_points, n_features) matrix, optional
        The features, if they exist already; see `no_features` for a Dataset of texts alone.
    sample_weight : (n_points,) floats, optional

    Returns
    -------
    Dataset
        With texts, label_names and, if the vectorizer knows its terms, feature_names.

    Examples
    --------
    >>> from labeltrees.data.texts import text_dataset
    >>> dataset = text_dataset(["a red cat", "a red dog", "one dog"], [["cat"], ["dog"], ["dog", "one"]])
    >>> dataset.label_names.tolist(), dataset.feature_names.tolist()
    (['cat', 'dog', 'one'], ['dog', 'red'])
    >>> dataset.Y.toarray()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 1.]], dtype=float32)
    """
    if len(texts) != len(labels):
        refuse("labels", f"{len(texts)} sequences of names, one per text", f"{len(labels)} of them")
    labels = nfc_lists(labels)
    names = sorted(set(itertools.chain.from_iterable(labels))) if label_names is None else list(map(nfc, label_names))
    Y = label_matrix(labels, names)
    if X is None:
        if vectorizer is None or isinstance(vectorizer, str):
            vectorizer = default_vectorizer(texts) if vectorizer is None else preset_vectorizer(vectorizer)
        X = _features(vectorizer, texts)
    has_names = vectorizer is not None and _knows_its_terms(vectorizer)
    feature_names = vectorizer.get_feature_names_out() if has_names else None
    return Dataset(
        X,
        Y,
        label_names=names,
        feature_names=feature_names,
        sample_weight=sample_weight,
        texts=texts,
        vectorizer=vectorizer,
    )


def nfc_lists(labels: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Return lists of label names in the Unicode form NFC; log names that become equal by this."""
    flat = list(itertools.chain.from_iterable(labels))
    normal = nfc_labels(flat)
    if normal is flat:
        return labels
    rest = iter(normal)
    return [list(itertools.islice(rest, len(names))) for names in labels]


def no_features(texts: Sequence[str]) -> Any:
    """Return the matrix (n_points, 0) of a Dataset of texts alone."""
    return sparse.csr_array((len(texts), 0), dtype=np.float32)


def label_matrix(labels: Sequence[Sequence[str]], names: Sequence[str]) -> sparse.csr_array[np.float32]:
    """Return the (n_points, n_labels) indicator of labels given by name."""
    ids = {name: i for i, name in enumerate(names)}
    indptr = np.zeros(len(labels) + 1, dtype=np.int64)
    np.cumsum([len(names_of_point) for names_of_point in labels], out=indptr[1:])
    try:
        indices = np.fromiter((ids[name] for name in itertools.chain.from_iterable(labels)), np.int32, int(indptr[-1]))
    except KeyError as missing:
        message = f"label {missing} is not in label_names"
        raise InputError(message) from None
    parts: Any = (np.ones(len(indices), dtype=np.float32), indices, indptr)
    matrix: sparse.csr_array[np.float32] = sparse.csr_array(parts, shape=(len(labels), len(names)))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _features(vectorizer: Any, texts: Sequence[str]) -> Any:
    try:
        return vectorizer.transform(texts) if is_fitted(vectorizer) else vectorizer.fit_transform(texts)
    except ValueError as error:  # no word occurs often enough
        message = "no features can be made from the {} texts: {}"
        raise InputError(message, len(texts), error) from None


def _knows_its_terms(vectorizer: Any) -> bool:
    return not isinstance(vectorizer, TfidfVectorizer) or vectorizer.get_state().has_names


def is_fitted(vectorizer: Any) -> bool:
    """Whether a vectorizer is fitted."""
    try:
        check_is_fitted(vectorizer)
    except NotFittedError:
        return False
    return True


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

    def joined(self, other: TextTable) -> TextTable:
        """Return the records of this table, then those of the other."""
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = [*(self.weights or [1.0] * len(self.texts)), *(other.weights or [1.0] * len(other.texts))]
        return TextTable([*self.texts, *other.texts], [*self.labels, *other.labels], weights)

    def take(self, rows: Sequence[int]) -> TextTable:
        """Return some of the records."""
        weights = self.weights
        return TextTable(
            [self.texts[row] for row in rows],
            [self.labels[row] for row in rows],
            None if weights is None else [weights[row] for row in rows],
        )

    def split(self, test_share: float, seed: int) -> tuple[TextTable, TextTable]:
        """Return a random train part and test part, as `split_rows` chooses them."""
        train, test = split_rows(len(self.texts), test_share, seed)
        return self.take(train.tolist()), self.take(test.tolist())


def split_rows(n: int, test_share: float, seed: int) -> tuple[Any, Any]:
    """Return the rows of a random train part and test part, each ascending; the same for the same seed."""
    check_number("test_share", test_share, 0, 1, low_open=True)
    order = np.random.default_rng(check_seed(seed)).permutation(n)
    n_test = round(test_share * n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def read_blocks(path: FilePath, fields: TextFields, format: str, block_size: int = BLOCK_SIZE) -> Iterator[TextBlock]:
    """Yield the records of a file of texts in blocks; the file is never in memory as a whole."""
    if fields.label_separator == AUTO and fields.labels is not None:
        fields = replace(fields, label_separator=choose_separator(path, fields, format))
    if format == "parquet":
        yield from ParquetReader(path, fields, block_size).blocks()
        return
    if format == "annif" and Path(path).is_dir():
        yield from read_documents(path, fields, block_size)
        return
    with open_any(path) as stream:
        yield from LINE_READERS[format](path, stream, fields, block_size).blocks()


def choose_separator(path: FilePath, fields: TextFields, format: str) -> str:
    """Return the label separator of a file: a semicolon or a bar if most of its first fields have it, else a comma.

    A warning is logged if it is not a comma, or if some fields contain a semicolon or a bar.
    """
    mark, hint = find_separator(_first_cells(path, fields, format))
    if mark is not None:
        text = "%s: most values of %r contain %r, so labels are split there, unless the separator is given"
        _logger.warning(text, path, fields.labels, mark)
    elif hint is not None:
        text = "%s: some values of %r contain %r; if it separates labels, give it as the label separator"
        _logger.warning(text, path, fields.labels, hint)
    return DEFAULT_SEPARATOR if mark is None else mark


def _first_cells(path: FilePath, fields: TextFields, format: str) -> list[str]:
    """Return the label strings of the first records of a file."""
    if format == "parquet":
        reader = ParquetReader(path, fields, _FIRST_RECORDS)
        reader.cells = []
        next(reader.blocks(), None)
        return reader.cells
    if format not in ("csv", "tsv", "jsonl"):
        return []
    with open_any(path) as stream:
        lines = LINE_READERS[format](path, stream, fields, _FIRST_RECORDS)
        lines.cells = []
        next(lines.blocks(), None)
        return lines.cells


def known_format(path: FilePath, format: str = "auto") -> str:
    """Return the format of a file of texts; refuse a file whose format is not clear."""
    found = format_of(path, format)
    if found is None:
        refuse_file(path, f"the format is not clear from the name; give it, one of {', '.join(FORMATS)}")
    return found


def read_table(path: FilePath, fields: TextFields | None = None, format: str = "auto") -> TextTable:
    """Read all records of a file of texts, and warn about empty texts and missing labels.

    Parameters
    ----------
    path : path
    fields : TextFields, optional
        By default the fields "text" and "labels".
    format : {"auto", "jsonl", "csv", "tsv", "parquet", "fasttext", "annif"}
    """
    fields = TextFields() if fields is None else fields
    found = known_format(path, format)
    whole = TextBlock()
    for block in read_blocks(path, fields, found):
        whole.extend(block)
    texts, labels = whole.texts, whole.labels
    if not texts:
        refuse_file(path, "the file has no texts")
    if fields.labels is None:
        labels = [[] for _ in texts]
    elif fields.labels_required and not any(labels):
        refuse_file(path, f"none of the {len(texts):,} texts has a label")
    n_empty = sum(not text.strip() for text in texts)
    n_without_labels = 0 if fields.labels is None else sum(not names for names in labels)
    warn_about_gaps(path, len(texts), n_empty, n_without_labels, whole.n_blank_labels)
    labels = [list(names) for names in nfc_lists(labels)]
    return TextTable(texts, labels, whole.weights if fields.weight is not None else None)


def warn_about_gaps(
    path: FilePath, n_texts: int, n_empty: int, n_without_labels: int = 0, n_blank_labels: int = 0
) -> None:
    """Log how many texts are empty or without labels, and how many labels had an empty name."""
    empty, bare = (n_empty, "is empty", "are empty"), (n_without_labels, "has no label", "have no label")
    for count, one, several in (empty, bare):
        if count:
            gap = f"{one}; it is kept" if count == 1 else f"{several}; they are kept"
            _logger.warning("%s: %s of %s texts %s", path, f"{count:,}", f"{n_texts:,}", gap)
    if n_blank_labels:
        _logger.warning("%s: %s labels with an empty name are left out", path, f"{n_blank_labels:,}")


def read_texts(
    path: Any,
    text: str | Sequence[str] = "text",
    labels: str = "labels",
    format: str = "auto",
    *,
    label_separator: str = AUTO,
    weight: str | None = None,
    vectorizer: Any = None,
    label_names: Iterable[str] | None = None,
    parts: FilePath | None = None,
    points_per_part: int | None = None,
) -> Dataset:
    r"""Read texts and the names of their labels.

    Four parameters matter most. `text` and `labels` name the fields to read. For test data, pass the
    `label_names` and the `vectorizer` of the training Dataset, so that both have the same labels and features.

    Parameters
    ----------
    path : path, several paths, or a table
        A data frame of pandas or polars, an Arrow table, or a file in one of these formats, of which all but Parquet
        may be compressed (.gz, .xz, .zst):

        - jsonl: one JSON object per line; labels are a list of strings, or a string;
        - csv, tsv: with a header; labels are a string;
        - fasttext: one text per line; words that start with ``__label__`` are labels;
        - parquet: labels are lists of strings, or strings;
        - annif: a text, a tab and the URIs of its labels per line, without a header; or a folder in which ``NAME.txt``
          has a text and ``NAME.tsv`` (URIs in the first column) or ``NAME.key`` (one label per line) its labels.
    text : str or sequence of str
        The field of the text. The texts of several fields are joined by a space.
    labels : str
        The field of the labels.
    format : {"auto", "jsonl", "csv", "tsv", "parquet", "fasttext", "annif"}
        "auto" chooses by the file name, and for .txt and .tsv by the first line.
    label_separator : str
        Separates the labels in a string. By default a semicolon or a bar, if most of the first 1,000 strings have it,
        else a comma. A label that contains the separator must be quoted, as in CSV. The string may also be a JSON
        list.
    weight : str, optional
        The field of the point weights.
    vectorizer : TfidfVectorizer or similar, or the name of one of `labeltrees.features`, optional
        Makes features from texts. Fitted on them unless it is fitted already. By default tf-idf of the words, and for
        short texts also of pieces of words, that occur in at least two texts.
    label_names : names, optional
        The labels in the order of another Dataset: ``label_names=train.label_names``. Other labels are left out, and a
        warning names one. By default the labels that occur, sorted.
    parts : path, optional
        Write a dataset in parts to this folder and open it. It needs memory for one part and the vocabulary only.
    points_per_part : int, optional
        By default 250,000.

    Returns
    -------
    Dataset
        With texts, label_names and feature_names. A PartsDataset if `parts` is given.

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
    fields = TextFields.of(text, labels, weight, label_separator)
    if parts is not None:
        from labeltrees.data.parts.convert import texts_in_parts  # it imports this module

        if label_names is not None or not isinstance(path, str | os.PathLike):
            refuse("parts", "None for several files, a table, or with label_names", parts)
        return texts_in_parts(path, fields, format, parts, vectorizer, points_per_part)
    table = read_many(path, fields, format)
    labels_of_texts = table.labels if label_names is None else known_only(table, set(label_names := list(label_names)))
    return text_dataset(table.texts, labels_of_texts, vectorizer, label_names, sample_weight=table.weights)


def known_only(table: TextTable, known: set[str], source: Any = "label_names") -> list[list[str]]:
    """Return the `known` labels of each text; a warning names one of the others."""
    unknown = sorted(set(table.label_names()) - known)
    if not unknown:
        return table.labels
    labels = "label" if len(unknown) == 1 else "labels"
    _logger.warning(
        "%s: %d %s not among those given, such as %r, are left out", source, len(unknown), labels, unknown[0]
    )
    return [[name for name in names if name in known] for names in table.labels]


def read_many(source: Any, fields: TextFields, format: str = "auto") -> TextTable:
    """Return the records of a file, of several files, or of a table."""
    if not isinstance(source, str | os.PathLike) and is_table(source):
        return _from_table(as_table(source), fields)
    if not isinstance(source, list | tuple):
        return read_table(source, fields, format)
    if not source:
        refuse("path", "at least one path", source)
    tables = [read_table(path, fields, format) for path in source]
    weights = [weight for table in tables for weight in table.weights or ()] if fields.weight is not None else None
    return TextTable(
        [text for table in tables for text in table.texts],
        [names for table in tables for names in table.labels],
        weights,
    )


def _from_table(table: Any, fields: TextFields) -> TextTable:
    """Return the records of a table with named columns."""
    columns = [column_of(table, name) for name in fields.text]
    for name, texts in zip(fields.text, columns, strict=True):
        check_no_missing(name, texts)
    texts = columns[0] if len(columns) == 1 else [" ".join(filter(None, row)) for row in zip(*columns, strict=True)]
    if not texts:
        message = "the table has no rows"
        raise InputError(message)
    cells = label_cells([] if fields.labels is None else column_of(table, fields.labels))
    separator = fields.label_separator
    if separator == AUTO:
        mark, _ = find_separator(cells)
        separator = DEFAULT_SEPARATOR if mark is None else mark
    labels = [split_labels(cell, separator)[0] if isinstance(cell, str) else list(cell or ()) for cell in cells]
    weights = None if fields.weight is None else [float(weight) for weight in column_of(table, fields.weight)]
    return TextTable(
        list(map(str, texts)), [list(names) for names in nfc_lists(labels or [[] for _ in texts])], weights
    )


def read_text_pair(train_path: FilePath, test_path: FilePath, vectorizer: Any = None) -> tuple[Dataset, Dataset]:
    """Read two files of texts as two Datasets with the same features and labels.

    Features are fitted on the first. Labels are the names that occur in either, sorted.

    Parameters
    ----------
    train_path, test_path : path
        With the fields "text" and "labels".
    vectorizer : TfidfVectorizer, scikit-learn's or similar, optional

    Returns
    -------
    train, test : Dataset
    """
    tables = read_table(train_path), read_table(test_path)
    names = sorted({name for table in tables for name in table.label_names()})
    vectorizer = default_vectorizer() if vectorizer is None else vectorizer
    train, test = (text_dataset(table.texts, table.labels, vectorizer, names) for table in tables)
    return train, test
