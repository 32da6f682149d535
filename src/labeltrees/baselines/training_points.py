"""The training points of a baseline, in one form for everything that `train` may be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s, is_sparse
from labeltrees.data import TfidfVectorizer
from labeltrees.data.dataset import Dataset, as_dataset
from labeltrees.data.text_dataset import no_features
from labeltrees.errors import InputError


class TrainingPoints(NamedTuple):
    """Features and labels of the training points.

    `Y` marks labels with 1, whatever their relevance. `vectorizer` makes features from texts, None if points are not
    texts.
    """

    X: Any  # csr_array (N, d) of float32
    Y: Any  # csr_array (N, L) of float64
    weights: Float64s  # (N,)
    label_names: Any
    vectorizer: Any
    times: Any


def training_points(train: Any) -> TrainingPoints:
    """Return the points of a Dataset, or of a pair (X, Y) or (texts, Y). Texts without features get tf-idf features."""
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
    return TrainingPoints(X, Y, weights, dataset.label_names, vectorizer, getattr(dataset, "times", None))


def is_texts(X: Any) -> bool:
    """Whether points are texts."""
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
