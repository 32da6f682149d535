"""A Dataset from texts and the names of their labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from labeltrees._names import nfc, nfc_labels
from labeltrees._validation import refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.tfidf import TfidfVectorizer, preset_vectorizer
from labeltrees.errors import InputError


def default_vectorizer(n_jobs: int | None = None) -> TfidfVectorizer:
    """Return the default vectorizer, not fitted: sublinear tf-idf of the words that occur in at least two texts."""
    return preset_vectorizer("words", n_jobs)


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
    vectorizer : TfidfVectorizer, scikit-learn's or similar, optional
        Makes the features. Fitted on `texts` unless it is fitted already. Without it, `default_vectorizer` is used.
    label_names : iterable of str, optional
        The names of all labels, in the order of their ids. Without it, the names in `labels`, sorted.
    X : (n_points, n_features) matrix, optional
        The features, if they exist already; see `no_features` for a Dataset of texts alone.
    sample_weight : (n_points,) floats, optional

    Returns
    -------
    Dataset
        With texts, label_names and, if a vectorizer made or will make the features, feature_names.

    Examples
    --------
    >>> from labeltrees.data.text_dataset import text_dataset
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
        vectorizer = default_vectorizer() if vectorizer is None else vectorizer
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
    """Return lists of label names in the Unicode form NFC; log which of them become one name by this."""
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
