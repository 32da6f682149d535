"""Common parts of all baselines: training points, checks of arguments, and selection of the best labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labeltrees._matrices import Float32s, Float64s, Int64s, is_sparse, sparse_features
from labeltrees._validation import check_integer, refuse
from labeltrees.data import TfidfVectorizer
from labeltrees.data.dataset import Dataset, as_dataset
from labeltrees.data.encoders import ItemEncoder, UnionEncoder
from labeltrees.data.texts import no_features
from labeltrees.errors import InputError
from labeltrees.models.common.label_names import LabelNames
from labeltrees.search.result import list_length


class BaselinePoints(NamedTuple):
    """Features and labels of the training points.

    `Y` marks labels with 1; their relevance is ignored. `vectorizer` makes features from texts; it is None if points
    are not texts. `items` has the label of each feature that is an item, else -1; it is None if features are not items.
    """

    X: Any  # csr_array (N, d) of float32
    Y: Any  # csr_array (N, L) of float64
    weights: Float64s  # (N,)
    label_names: Any
    vectorizer: Any
    times: Any
    items: Int64s | None = None  # (d,)
    groups: Any = None

    @property
    def repeats(self) -> bool:
        """Whether any point has one of its own items as a label. This occurs in histories, not in baskets."""
        if self.items is None:
            return False
        kept = np.flatnonzero(self.items >= 0)
        entries: Any = (np.ones(len(kept), np.float32), (kept, self.items[kept]))
        own = self.X @ sparse.csr_array(entries, shape=(self.X.shape[1], self.Y.shape[1]))
        return bool(own.multiply(self.Y).nnz)


def training_points(train: Any, same_columns: bool = False) -> BaselinePoints:
    """Return the points of a Dataset, or of a pair (X, Y) or (texts, Y). Texts without features get tf-idf features.

    With `same_columns`, a dataset without an encoder and with as many features as labels has items as features.
    """
    dataset = _as_dataset(train)
    if dataset.n_points == 0 or dataset.Y.nnz == 0:
        message = f"train must have points with labels, got {dataset.n_points} points with {dataset.Y.nnz} labels"
        raise InputError(message)
    X, vectorizer = dataset.X, dataset.vectorizer
    if dataset.texts is not None and dataset.n_features == 0:
        X, vectorizer = _features(dataset.texts)
    Y = dataset.Y.astype(np.float64)
    Y.data[:] = 1
    weights = np.ones(dataset.n_points) if dataset.sample_weight is None else dataset.sample_weight
    items = item_labels(dataset)
    if items is None and same_columns and dataset.encoder is None and X.shape[1] == Y.shape[1]:
        items = np.arange(Y.shape[1])
    return BaselinePoints(X, Y, weights, dataset.label_names, vectorizer, dataset.times, items, dataset.groups)


def item_labels(dataset: Dataset) -> Int64s | None:
    """Return the label of each feature that is an item with a label's name, else -1 (d,); None if there are none."""
    encoder = dataset.encoder
    parts: dict[int, Any] = {0: encoder}
    if isinstance(encoder, UnionEncoder):
        parts = {encoder.offsets[name]: part for name, part in encoder.parts.items()}
    items = {at: part for at, part in parts.items() if type(part) is ItemEncoder}  # a column is not a history
    if not items or dataset.label_names is None:
        return None
    labels = {name: label for label, name in enumerate(dataset.label_names.tolist())}
    found = np.full(dataset.n_features, -1, np.int64)
    for at, part in items.items():
        found[at : at + part.n_features] = [labels.get(name, -1) for name in part.feature_names.tolist()]
    return found if (found >= 0).any() else None


def is_texts(X: Any) -> bool:
    """Whether points are a sequence of texts."""
    if is_sparse(X) or isinstance(X, str):
        return False
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    return array.ndim == 1 and len(array) > 0 and all(isinstance(text, str) for text in array)


def _as_dataset(train: Any) -> Dataset:
    if isinstance(train, tuple | list) and len(train) == 2 and is_texts(train[0]):
        texts = np.asarray(train[0], dtype=object)
        return Dataset(no_features(texts.tolist()), train[1], texts=texts)
    return as_dataset(train)


def _features(texts: Any) -> tuple[Any, Any]:
    # Rare words are kept: a word that two texts share makes them neighbours.
    vectorizer = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
    try:
        return vectorizer.fit_transform(texts), vectorizer
    except ValueError as error:
        message = f"train: no features can be made from its {len(texts)} texts: {error}"
        raise InputError(message) from None


class Baseline:
    """A recommender with ``predict_topk(X, k)``.

    Attributes
    ----------
    name : str
        "popularity", "recent popularity", "own most frequent", "co-occurrence", "neighbours" or "EASE".
    note : str
        A remark for tables of baselines; may be empty.
    n_features_in_, n_labels_ : int
    label_names_ : array of str (L,) or None
    """

    name = ""
    note = ""

    def __init__(self, points: BaselinePoints) -> None:
        self.n_features_in_ = int(points.X.shape[1])
        self.n_labels_ = int(points.Y.shape[1])
        self.label_names_ = points.label_names
        self.vectorizer_ = points.vectorizer

    def predict_topk(self, X: Any, k: int = 5) -> tuple[Any, Float32s]:
        """Return the k best labels of each point, and their scores.

        Parameters
        ----------
        X : sparse or dense matrix (n, d), or n texts if the training data had texts
        k : int

        Returns
        -------
        labels : array (n, k)
            Best first: label ids padded with -1, or names padded with None if the labels have names. Of labels with
            equal scores, the one with the smaller id comes first.
        scores : array of float32 (n, k)
            In [0, 1], padded with 0.
        """
        labels, scores = self.rank(X, k)
        return (labels if self.label_names_ is None else LabelNames(self.label_names_).take(labels)), scores

    def rank(self, X: Any, k: int = 5) -> tuple[Int64s, Float32s]:
        """Return the same as `predict_topk`, but always with label ids."""
        k = list_length(check_integer("k", k, 1), self.n_labels_)
        queries = self._check(X)
        labels = np.full((queries.shape[0], k), -1, dtype=np.int64)
        scores = np.zeros((queries.shape[0], k), dtype=np.float32)
        if queries.shape[0] == 0:
            return labels, scores
        start = 0
        for block_labels, block_scores in self._blocks(queries, min(k, self.n_labels_)):
            rows, columns = slice(start, start + len(block_labels)), slice(block_labels.shape[1])
            labels[rows, columns], scores[rows, columns] = block_labels, block_scores
            start = rows.stop
        return labels, scores

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        """Yield labels and scores of consecutive rows of `queries` (csr_array)."""
        raise NotImplementedError

    def _check(self, X: Any) -> Any:
        if not is_sparse(X) and is_texts(X):
            if self.vectorizer_ is None:
                refuse("X", f"a matrix with {self.n_features_in_} columns, because train had no texts", X)
            return self.vectorizer_.transform(X).astype(np.float32).tocsr()
        queries = sparse_features(X)
        if queries.shape[1] != self.n_features_in_:
            refuse("X", f"a matrix with {self.n_features_in_} columns, as in train", f"{queries.shape[1]} columns")
        return queries

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_labels_:,} labels)"


def top_entries(values: Any, columns: Any, k: int) -> Int64s:
    """Return the positions of the k largest values, best first; equal values by ascending column.

    Examples
    --------
    >>> top_entries(np.array([0.5, 0.9, 0.5]), np.array([7, 3, 2]), 2).tolist()
    [1, 2]
    """
    places = np.arange(len(values))
    if len(values) > k:
        smallest = np.partition(values, len(values) - k)[len(values) - k]
        places = np.flatnonzero(values >= smallest)  # more than k if values are equal
    order = np.lexsort((columns[places], -values[places]))[:k]
    return np.asarray(places[order], dtype=np.int64)


def top_labels(scores: Any, k: int) -> tuple[Int64s, Float32s]:
    """Return the k labels with the largest positive scores of each row (n, k), padded with -1, and their scores.

    Scores are rounded to float32 before they are compared, so that the order agrees with the scores returned.

    Parameters
    ----------
    scores : csr_array (n, L)
    k : int
    """
    labels = np.full((scores.shape[0], k), -1, dtype=np.int64)
    best = np.zeros((scores.shape[0], k), dtype=np.float32)
    values = scores.data.astype(np.float32)
    for row, (start, end) in enumerate(pairwise(scores.indptr.tolist())):
        mine, columns = values[start:end], scores.indices[start:end]
        places = top_entries(mine, columns, k)
        places = places[mine[places] > 0]
        labels[row, : len(places)] = columns[places]
        best[row, : len(places)] = mine[places]
    return labels, best
