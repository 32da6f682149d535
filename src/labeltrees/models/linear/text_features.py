"""Texts in place of a matrix: a model keeps the vectorizer that makes features of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from labeltrees._validation import check_n_jobs, refuse
from labeltrees.data.text_dataset import default_vectorizer
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.errors import InputError


def as_texts(X: Any) -> Sequence[str] | None:
    """Return `X` as a sequence of str if it is one (a list, a tuple, an array or a column of a table), else None."""
    if isinstance(X, str):
        refuse("X", "a sequence of texts, or a matrix", X)
    if hasattr(X, "to_list") and getattr(X, "ndim", 1) == 1:
        X = X.to_list()
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "OU":
        X = X.tolist()
    if isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str):
        return X
    return None


def fit_vectorizer(vectorizer: TfidfVectorizer | None, X: Any, n_jobs: int | None) -> tuple[Any, Any]:
    """Return a vectorizer fitted on `X` and the features, or None and `X` where that is no texts."""
    texts = as_texts(X)
    if texts is None:
        if vectorizer is not None:
            refuse("X", "texts where a vectorizer is given", type(X).__name__)
        return None, X
    fitted = default_vectorizer() if vectorizer is None else clone(vectorizer)
    own_jobs = fitted.n_jobs
    fitted.n_jobs = n_jobs if own_jobs is None else own_jobs
    features = fitted.fit_transform(texts)
    fitted.n_jobs = own_jobs
    return fitted, features


def vectorizer_of(model: Any) -> TfidfVectorizer:
    """Return the vectorizer of a model that was fitted on texts."""
    vectorizer: TfidfVectorizer | None = getattr(model, "vectorizer_", None)
    if vectorizer is None:
        message = "the model was fitted on a matrix and has no vectorizer: it takes features, not texts"
        raise InputError(message)
    return vectorizer


def text_features(model: Any, X: Any, n_jobs: int | None) -> Any:
    """Return the features of `X` if it is texts, else `X` itself."""
    texts = as_texts(X)
    if texts is None:
        is_no_texts = isinstance(X, list | tuple) and len(X) == 0 and getattr(model, "vectorizer_", None) is not None
        return model.vectorizer_.rows([], 1) if is_no_texts else X
    return vectorizer_of(model).rows(texts, check_n_jobs(n_jobs))


def feature_names_of(model: Any) -> Any:
    """Return the names of a model's features (d,), or None where they have none."""
    vectorizer = getattr(model, "vectorizer_", None)
    if vectorizer is not None and vectorizer.hashing is None:
        return vectorizer.get_feature_names_out()
    return getattr(model, "feature_names_in_", None)
