"""Features: matrices, texts and other contexts that are given as X, checked and encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _check_n_features, validate_data

from labeltrees._matrices import read_only, sparse_features
from labeltrees._validation import check_n_jobs, refuse, refuse_masked
from labeltrees.data.columns import as_texts, check_no_missing, column_list, is_table, kind_of_contexts, refuse_table
from labeltrees.data.encoders import Encoder, ItemEncoder, TextEncoder, UnionEncoder
from labeltrees.data.texts import default_vectorizer
from labeltrees.data.tfidf import PRESETS, TfidfVectorizer, preset_vectorizer
from labeltrees.data.tfidf_learning import are_tokens
from labeltrees.errors import InputError, InputTypeError, Parameter
from labeltrees.search.queries import is_sound


def check_points(estimator: Any, X: Any, *, fitting: bool, n_jobs: int | None = None) -> Any:
    """Return X as canonical CSR or a dense array (n, d) of finite float32.

    When `fitting`, the number and the names of the features are stored in `estimator`; otherwise they are compared.
    Fitting needs at least one point; a batch of queries may be empty.
    """
    try:
        if not sp.issparse(X):
            refuse_masked("X", X)
            if fitting and isinstance(X, np.ndarray) and X.dtype == np.float32:  # others are converted, which copies
                X = read_only(X)
            with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite, and is refused
                return validate_data(
                    estimator, X, reset=fitting, dtype=np.float32, order="C", ensure_min_samples=1 if fitting else 0
                )
        # A quick check on all threads finds sound queries: the full check took 4% of the time of a batch on EURLex-4K.
        if fitting or not is_sound(X, check_n_jobs(n_jobs), canonical=True):
            X = sparse_features(X)
        for count, what in ((X.shape[0], "sample"), (X.shape[1], "feature")):
            if count == 0 and (fitting or what == "feature"):
                message = f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
                raise InputError(message)
        if fitting:
            return validate_data(estimator, X, skip_check_array=True)
        X = with_last_columns(estimator, X)
        # Sparse matrices have no column names: scikit-learn would warn that they lack those given to `fit`.
        _check_n_features(estimator, X, reset=False)
        return X
    except InputError:
        raise
    except (ValueError, OverflowError, RuntimeError) as error:
        if is_table(X) and "could not convert" in str(error):
            refuse_table("X", X)
        raise InputError(str(error)) from None
    except TypeError as error:
        raise InputTypeError(str(error)) from None


def with_last_columns(model: Any, X: Any) -> Any:
    """Return sparse points that were encoded before the model got its last columns with these columns, empty.

    They are those of items that the model learned later, and of words that only texts of labels have.
    """
    n_missing = model.n_features_in_ - X.shape[1]
    is_known = isinstance(model.encoder_, ItemEncoder) or n_missing == model.stats_.get("label_words")
    if n_missing <= 0 or not is_known:
        return X
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], model.n_features_in_))


def unit_rows(X: Any) -> Any:
    """Return X with rows of unit length, except rows of zeros. Unchanged arrays are shared with X."""
    lengths = row_lengths(X)
    if not needs_scaling(lengths):  # saves a copy: 14 of 240 MiB at the peak on EURLex-4K
        return X
    return scaled_rows(X, lengths)


def row_lengths(X: Any) -> Any:
    """Return the length of every row, 1 for a row of zeros."""
    lengths: Any = row_norms(X)
    lengths[lengths == 0] = 1
    return lengths


def needs_scaling(lengths: Any) -> bool:
    """Whether any of the lengths differs from 1 by more than rounding; if so, all rows are scaled."""
    return bool(np.abs(lengths - 1).max(initial=0) >= 1e-5)


def scaled_rows(X: Any, lengths: Any) -> Any:
    """Return X with every row divided by its length."""
    if isinstance(X, np.ndarray):
        return X / lengths[:, np.newaxis]
    values = np.repeat(lengths.astype(np.float32, copy=False), np.diff(X.indptr))
    np.divide(X.data, values, out=values)
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)


_NO_ENCODER = (
    "the model was fitted on a matrix and has no vectorizer or other encoder: pass features as they were made for "
    "training; or fit on texts, or on a Dataset with an encoder (prepare_logs makes one), to predict from {what}"
)


def check_vectorizer(name: str, value: Any) -> None:
    """Refuse a parameter that is not None, a `TfidfVectorizer` or the name of a preset."""
    if isinstance(value, str) and value in PRESETS:
        return
    if value is not None and not isinstance(value, TfidfVectorizer):
        allowed = "None, a labeltrees.TfidfVectorizer (put others before the model in a Pipeline)"
        refuse(name, f"{allowed}, or one of {', '.join(map(repr, PRESETS))}", value)


def fit_vectorizer(vectorizer: TfidfVectorizer | str | None, X: Any, n_jobs: int | None) -> tuple[Any, Any]:
    """Return a vectorizer fitted on `X` and the features, or None and `X` if X is not texts.

    Lists of tokens are texts if a vectorizer is given.
    """
    texts = as_texts(X)
    if texts is None and vectorizer is not None and isinstance(X, list | tuple) and are_tokens(X):
        texts = X
    if texts is None:
        if not sp.issparse(X) and kind_of_contexts(X) == "items":
            message = (
                "X must be texts or a matrix, got lists of texts: is it Y, fit(texts, labels)? Lists of items need a "
                "Dataset with an ItemEncoder, and lists of tokens a vectorizer"
            )
            raise InputError(message)
        if vectorizer is not None:
            refuse("X", "texts if a vectorizer is given", type(X).__name__)
        return None, X
    if vectorizer is None or isinstance(vectorizer, str):
        fitted = default_vectorizer(texts) if vectorizer is None else preset_vectorizer(vectorizer)
    else:
        fitted = clone(vectorizer)
    own_jobs = fitted.n_jobs
    fitted.n_jobs = n_jobs if own_jobs is None else own_jobs
    features = fitted.fit_transform(texts)
    fitted.n_jobs = own_jobs
    return fitted, features


def made_alike(encoder: Encoder | None, vectorizer: Any) -> bool:
    """Return whether an encoder, such as that of a prepared log, has the settings of a vectorizer."""
    if not isinstance(encoder, TextEncoder) or not isinstance(vectorizer, TfidfVectorizer):
        return False
    return bool(encoder.vectorizer.get_params() == vectorizer.get_params())


def set_encoder(model: Any, encoder: Encoder | None) -> None:
    """Make `encoder` part of a model; a text encoder is kept as the model's vectorizer."""
    model.vectorizer_ = encoder.vectorizer if isinstance(encoder, TextEncoder) else None
    model._encoder = None if isinstance(encoder, TextEncoder) else encoder


def encoder_of(model: Any) -> Encoder | None:
    """Return the encoder of a model, or None."""
    other: Encoder | None = getattr(model, "_encoder", None)
    vectorizer = getattr(model, "vectorizer_", None)
    return TextEncoder(vectorizer) if other is None and vectorizer is not None else other


def encode_queries(model: Any, X: Any, n_jobs: int | None) -> Any:
    """Return the features of `X` if it is contexts of the model's encoder, else `X` itself."""
    return encode(encoder_of(model), X, n_jobs)


def encode(encoder: Encoder | None, X: Any, n_jobs: int | None) -> Any:
    """Return the features of `X` if it is contexts of the encoder, else `X` itself."""
    if sp.issparse(X):  # checked first: a DOK matrix is a dict
        return X
    if encoder is None:
        what = kind_of_contexts(X)
        if what is not None:
            raise InputError(_NO_ENCODER.format(what=what))
        return X
    if isinstance(encoder, TextEncoder):
        if kind_of_contexts(X) == "items":
            if encoder.vectorizer.get_state().on_tokens:
                return encoder.transform(X, n_jobs)
            refuse("X", "a sequence of texts (str), or a matrix: the model was fitted on texts", X)
        texts = X if _is_empty(X) else as_texts(X)
        if texts is None:
            _refuse_single_values(X)
            return X
        return encoder.transform(texts, n_jobs)
    return encoder.transform(X, n_jobs) if are_contexts(X) else X


def are_contexts(X: Any) -> bool:
    """Return whether `X` is contexts of an encoder other than a text encoder; else it is features.

    Lists are contexts, even lists of lists of numbers (ids). Matrices, numeric arrays and tables are features.
    """
    if sp.issparse(X):  # a DOK matrix is a dict
        return False
    is_array = isinstance(X, np.ndarray) and X.dtype.kind in "OU"
    is_column = hasattr(X, "to_list") and getattr(X, "ndim", 1) == 1
    return isinstance(X, list | tuple | str | dict | set | frozenset) or is_array or is_column


def _refuse_single_values(X: Any) -> None:
    """Refuse a sequence of missing values or numbers where texts are needed."""
    values = X.tolist() if isinstance(X, np.ndarray) and X.ndim == 1 else column_list(X)
    if isinstance(values, list | tuple) and len(values) > 0 and np.ndim(values[0]) == 0:
        check_no_missing("X", values)
        refuse("X[0]", "a text (str), because the model was fitted on texts", values[0])


def _is_empty(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) == 0


def feature_names_of(model: Any) -> Any:
    """Return the names of a model's features (d,), or None if they have none."""
    encoder = encoder_of(model)
    if encoder is not None and encoder.feature_names is not None:
        return encoder.feature_names
    return getattr(model, "feature_names_in_", None)


def labels_of_features(model: Any) -> Any:
    """Return for each feature the label that is the same item, or -1, as int32 (d,)."""
    labels = labels_of_items(encoder_of(model), model._label_names)
    if labels is None:
        message = "{} needs a model whose encoder reads items: fit it on a Dataset with an ItemEncoder"
        raise InputError(message, Parameter("exclude_seen"))
    return labels


def seen_labels(points: Any, label_of: Any, n_labels: int, others: Any = None) -> Any:
    """Return the labels of the items of each point, and `others` for every point, as a CSR matrix (n, L).

    Parameters
    ----------
    points : csr matrix (n, d)
    label_of : array (d,)
        The label of each feature that is an item, else -1.
    n_labels : int
    others : list of label ids, optional
    """
    n = points.shape[0]
    rows, labels = np.repeat(np.arange(n), np.diff(points.indptr)), np.asarray(label_of)[points.indices]
    rows, labels = rows[labels >= 0], labels[labels >= 0]
    if others is not None:
        rows = np.concatenate([rows, np.repeat(np.arange(n), len(others))])
        labels = np.concatenate([labels, np.tile(np.asarray(others, labels.dtype), n)])
    return sp.csr_array((np.ones(len(rows), np.float32), (rows, labels)), shape=(n, n_labels))


def labels_of_items(encoder: Encoder | None, names: Any) -> Any:
    """Return for each feature the label that is the same item, or -1, as int32 (d,); None if no feature is an item."""
    if encoder is None or names is None:
        return None
    parts: dict[int, Encoder | None] = {0: encoder}
    if isinstance(encoder, UnionEncoder):
        parts = {encoder.offsets[name]: part for name, part in encoder.parts.items()}
    items = {at: part for at, part in parts.items() if type(part) is ItemEncoder}  # not a ColumnEncoder
    if not items:
        return None
    labels = np.full(encoder.n_features, -1, np.int32)
    for at, part in items.items():
        labels[at : at + part.n_features] = names.native.find_all(part.names_table)
    return labels
