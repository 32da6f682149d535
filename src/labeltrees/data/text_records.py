"""From texts with named labels to a Dataset."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from labeltrees._validation import refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import FilePath, open_any
from labeltrees.data.text_fields import TextFields
from labeltrees.data.text_lines import JsonLines
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.errors import InputError


def default_vectorizer(n_jobs: int | None = None) -> TfidfVectorizer:
    """Return the vectorizer for texts where none is given: words in two texts or more, sublinear tf-idf, not fitted."""
    return TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32, n_jobs=n_jobs)


def text_dataset(
    texts: Sequence[str],
    labels: Sequence[Sequence[str]],
    vectorizer: Any = None,
    label_names: Iterable[str] | None = None,
) -> Dataset:
    """Make a Dataset from texts and the names of their labels.

    Parameters
    ----------
    texts : n_points str
    labels : n_points sequences of str
        The names of each point's labels; a name that a point repeats counts once.
    vectorizer : TfidfVectorizer, scikit-learn's or the like, optional
        Used as it is if it has been fitted, else fitted on `texts`.
    label_names : iterable of str, optional
        The names of all labels, in the order of their ids. Without it, the names that occur, sorted.

    Returns
    -------
    Dataset
        With texts, label_names and feature_names.

    Examples
    --------
    >>> from labeltrees.data.text_records import text_dataset
    >>> dataset = text_dataset(["a red cat", "a red dog", "one dog"], [["cat"], ["dog"], ["dog", "one"]])
    >>> dataset.label_names.tolist(), dataset.feature_names.tolist()
    (['cat', 'dog', 'one'], ['dog', 'red'])
    >>> dataset.Y.toarray()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 1.]], dtype=float32)
    """
    if len(texts) != len(labels):
        refuse("labels", f"{len(texts)} sequences of names, one a text", f"{len(labels)} of them")
    names = sorted(set(itertools.chain.from_iterable(labels))) if label_names is None else list(label_names)
    Y = label_matrix(labels, names)
    if vectorizer is None:
        vectorizer = default_vectorizer()
    try:
        X = vectorizer.transform(texts) if _is_fitted(vectorizer) else vectorizer.fit_transform(texts)
    except ValueError as error:  # no word occurs often enough
        message = f"no features can be made from the {len(texts)} texts: {error}"
        raise InputError(message) from None
    feature_names = None if getattr(vectorizer, "hashing", None) else vectorizer.get_feature_names_out()
    return Dataset(X, Y, label_names=names, feature_names=feature_names, texts=texts, vectorizer=vectorizer)


def read_jsonl(path: FilePath) -> tuple[list[str], list[list[str]]]:
    """Read lines ``{"text": "...", "labels": ["name", ...]}``; other keys are left out, empty lines skipped.

    Parameters
    ----------
    path : path
        Decompressed while reading if its name ends with .gz, .xz or .zst.

    Returns
    -------
    texts : list of str
    labels : list of lists of str
    """
    with open_any(path) as stream:
        blocks = list(JsonLines(path, stream, TextFields(), sys.maxsize).blocks())
    return (blocks[0].texts, blocks[0].labels) if blocks else ([], [])


def read_jsonl_pair(train_path: FilePath, test_path: FilePath, vectorizer: Any = None) -> tuple[Dataset, Dataset]:
    """Read two files of texts as two Datasets with the same features and labels.

    Features are fitted on the first. Labels are the names that occur in either, sorted.

    Parameters
    ----------
    train_path, test_path : path
        As for `read_jsonl`.
    vectorizer : TfidfVectorizer, scikit-learn's or the like, optional

    Returns
    -------
    train, test : Dataset
    """
    train_texts, train_labels = read_jsonl(train_path)
    test_texts, test_labels = read_jsonl(test_path)
    names = sorted(set(itertools.chain.from_iterable(itertools.chain(train_labels, test_labels))))
    if vectorizer is None:
        vectorizer = default_vectorizer()
    train = text_dataset(train_texts, train_labels, vectorizer, names)
    return train, text_dataset(test_texts, test_labels, vectorizer, names)


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


def _is_fitted(vectorizer: Any) -> bool:
    try:
        check_is_fitted(vectorizer)
    except NotFittedError:
        return False
    return True
