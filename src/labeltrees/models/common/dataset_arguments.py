"""The arguments of `fit` from a Dataset."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees._names import check_texts
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.errors import InputError


class FitArguments(NamedTuple):
    """What `fit` needs of a Dataset."""

    X: Any
    Y: Any
    sample_weight: Any = None
    label_names: Any = None
    feature_names: Any = None
    encoder: Encoder | None = None
    label_texts: Any = None
    times: Any = None
    groups: Any = None


def arguments_of(
    X: Any, Y: Any, sample_weight: Any, label_texts: Any = None, times: Any = None, groups: Any = None
) -> FitArguments:
    """Return the arguments of `fit` with those of a Dataset, if X is one; one that is given comes before its own.

    Features whose names the encoder has are not named a second time.
    """
    if isinstance(X, FitArguments):  # from inside the library
        return X
    if not isinstance(X, Dataset):
        if Y is None:
            message = "requires y to be passed, but the target y is None: pass Y, or one Dataset with the labels in it"
            raise InputError(message)
        return FitArguments(X, Y, sample_weight, None, None, None, label_texts, times, groups)
    if Y is not None:
        message = "Y must be left out if X is a Dataset, which has its own labels"
        raise InputError(message)
    train, encoder = X, X.encoder
    if encoder is None and isinstance(train.vectorizer, TfidfVectorizer):
        encoder = TextEncoder(train.vectorizer)
    has_names = encoder is not None and encoder.feature_names is not None
    is_text = train.n_features == 0 and train.texts is not None and encoder is None
    return FitArguments(
        train.texts if is_text else train.X,
        train.Y,
        train.sample_weight if sample_weight is None else sample_weight,
        train.label_names,
        None if has_names else train.feature_names,
        encoder,
        train.label_texts if label_texts is None else label_texts,
        train.times if times is None else times,
        train.groups if groups is None else groups,
    )


def arguments_of_parts(data: PartsDataset, label_names: Any = None) -> FitArguments:
    """Return the arguments of `fit` from a dataset in parts, without its X, Y and weights."""
    encoder = data.encoder
    has_names = encoder is not None and encoder.feature_names is not None
    names = (
        data.label_names if label_names is None else check_texts("label_names", label_names, data.n_labels, unique=True)
    )
    return FitArguments(None, None, None, names, None if has_names else data.feature_names, encoder)
