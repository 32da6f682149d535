"""The arguments of `LabelTreeClassifier.fit`, checked: features, labels, weights, encoder, label texts and times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import CheckedX, CheckedY, Float32s, Int64s
from labeltrees._names import check_texts
from labeltrees._validation import refuse
from labeltrees.data.columns import as_texts
from labeltrees.data.dataset import Dataset, check_groups
from labeltrees.data.encoders import Encoder, ItemEncoder, TextEncoder
from labeltrees.data.label_sets import check_unicode, read_training_labels
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.data.tfidf_learning import are_tokens
from labeltrees.errors import InputError, Parameter, Phrase
from labeltrees.labels.trend import trend_of_blocks, trend_weights
from labeltrees.models.common.error_costs import point_costs
from labeltrees.models.common.given import arguments_of, arguments_of_parts
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.linear.blocks import Blocks, OneBlock, PartBlocks
from labeltrees.models.linear.features import (
    check_points,
    encode,
    fit_vectorizer,
    labels_of_items,
    made_alike,
    unit_rows,
)
from labeltrees.models.linear.label_texts import (
    add_item_features,
    add_points,
    add_words,
    labels_to_read,
    share_points,
    text_embeddings,
    text_points,
    warn_about_unknown_words,
    with_label_texts,
)
from labeltrees.models.linear.settings import label_text_use
from labeltrees.tree.settings import builder_of


def trend_of(half_life: float | None, Y: Any, times: Any) -> Float32s | None:
    """Return the trend weights of the labels; None without a half-life."""
    if half_life is None:
        return None
    _need_times(times)
    return trend_weights(Y, times, half_life).astype(np.float32)


def trend_of_parts(half_life: float | None, data: PartsDataset) -> Float32s | None:
    """Return the trend weights of the labels of a dataset in parts: those of `trend_of`, with one part at a time."""
    if half_life is None:
        return None
    _need_times(data.manifest.times)
    blocks = [(part.matrices()[1], part.point_times()) for part in data.parts]  # mapped
    return trend_of_blocks(blocks, data.n_labels, half_life).astype(np.float32)


def _need_times(times: Any) -> None:
    if times is None:
        message = (
            "{} needs the times of the points, and these have none: `labeltrees logs prepare` writes them for a log "
            "with times{}"
        )
        raise InputError(message, Parameter("trend"), Phrase.TIMES)


@dataclass(frozen=True, eq=False)
class TrainingPoints:
    """The points to train on, and the data that the model keeps.

    Parameters
    ----------
    blocks : Blocks
        Points, labels and weights, including the points added from label texts.
    n_points : int
        The number of points, without those added from label texts.
    label_counts : int64 (L,), optional
        Number of points of each label, without those added from label texts; None: as in the blocks.
    names : LabelNames, optional
    encoder : Encoder, optional
        Turns a context into a row of X.
    label_texts : LabelTexts, optional
    embeddings : matrix (L, d), optional
        Embeddings for the tree; None: PIFA.
    trend : float32 (L,), optional
        Factor of each label's score.
    groups : int64 (n,), optional
        Points with the same number are held out together.
    n_label_words : int
        Number of features, the last ones, for words that only texts of labels without points have.
    seconds : float
        Time spent on reading the points.
    """

    blocks: Blocks
    n_points: int
    label_counts: Int64s | None
    names: LabelNames | None
    encoder: Encoder | None
    label_texts: Any
    embeddings: Any
    trend: Float32s | None
    groups: Int64s | None
    n_label_words: int = 0
    seconds: float = 0.0


def read_points(
    model: Any,
    X: Any,
    Y: Any,
    sample_weight: Any = None,
    *,
    label_texts: Any = None,
    times: Any = None,
    groups: Any = None,
) -> TrainingPoints:
    """Check the arguments of `fit`, encode texts or contexts, and add points from label texts.

    Sets `n_features_in_` and `feature_names_in_` of the model.
    """
    started = time.perf_counter()
    # If the model has a vectorizer, it makes the features, even of a dataset with features of another one.
    own_texts = X.texts if isinstance(X, Dataset) and model.vectorizer is not None else None
    X, Y, sample_weight, label_names, feature_names, encoder, label_texts, times, groups, contexts = arguments_of(
        X, Y, sample_weight, label_texts, times, groups
    )
    contexts = X if contexts is None else contexts
    if own_texts is not None:
        X, encoder, feature_names = own_texts, None, None
    if encoder is not None:
        X = encode(encoder, X, model.n_jobs)
    wanted = None if made_alike(encoder, model.vectorizer) else model.vectorizer
    vectorizer, X = fit_vectorizer(wanted, X, model.n_jobs)
    X = check_points(model, X, fitting=True)
    if encoder is not None and encoder.n_features != X.shape[1]:
        refuse("encoder", f"one with {X.shape[1]} features, the columns of X", f"one with {encoder.n_features}")
    if feature_names is not None:
        model.feature_names_in_ = check_texts("feature_names", feature_names, X.shape[1])
    encoder = encoder if vectorizer is None else TextEncoder(vectorizer)
    labels = read_training_labels(Y, label_names, X.shape[0])
    kind = labels.kind
    use = label_text_use(model.label_texts)
    has_items = type(encoder) is ItemEncoder and sp.issparse(X) and label_names is not None
    adds_labels = use.points != "none" and (isinstance(encoder, TextEncoder) or has_items)
    labels, texts = with_label_texts(labels, label_texts, adds_labels=adds_labels)
    uses_words = has_items and adds_labels and texts is not None
    if uses_words:
        assert isinstance(encoder, ItemEncoder)
        X, encoder = add_item_features(X, encoder, labels.names)
        if feature_names is not None:
            model.feature_names_in_ = encoder.feature_names
    weights, Y = point_costs(sample_weight, X.shape[0]), labels.Y
    if uses_words:
        assert labels.names is not None
        assert texts is not None
        items = labels_of_items(encoder, LabelNames(labels.names, kind))
        X, Y = share_points(X, Y, weights, texts, items)
    n_given = X.shape[1]
    if texts is not None and isinstance(encoder, TextEncoder) and use.points != "none":
        contexts = contexts if are_tokens(contexts) else as_texts(contexts)
        encoder, X = add_words(encoder, X, labels.Y, contexts, texts)
    n_points = X.shape[0]
    groups = None if groups is None else check_groups(groups, n_points)
    X = unit_rows(X) if model.normalize else X
    used = labels_to_read(labels.Y, use.points, use.embedding)
    points = text_points(texts, encoder, used, model.normalize)
    if use.points != "none" and isinstance(encoder, TextEncoder):
        warn_about_unknown_words(texts, labels, points, used)
    embeddings = builder_of(model.tree).embeddings
    if embeddings is None:
        embeddings = text_embeddings(X, labels.Y, points, use.embedding, model.n_jobs)
    X, Y, weights = add_points(X, Y, weights, points, use.points, use.weight)
    return TrainingPoints(
        OneBlock(CheckedX(X), CheckedY(Y), weights),
        n_points,
        np.bincount(labels.Y.indices, minlength=Y.shape[1]),
        None if labels.names is None else LabelNames(labels.names, kind),
        encoder,
        texts,
        embeddings,
        trend_of(model.trend, labels.Y, times),
        None if groups is None else _with_own_groups(groups, X.shape[0] - n_points),
        X.shape[1] - n_given,
        time.perf_counter() - started,
    )


def refuse_in_parts(model: Any, given: Mapping[str, Any] | None = None) -> None:
    """Refuse settings of a model and `given` arguments of `fit` that need all points in memory."""
    for name, value in (given or {}).items():
        if value is not None:
            refuse(name, "None for a dataset in parts that is read part by part", value)
    if model.evidence not in (None, "default"):
        message = (
            "{} must be None for a dataset in parts that is not read whole: it needs all points in memory (raise {}), "
            "got {!r}"
        )
        raise InputError(message, Parameter("evidence"), Parameter("max_memory"), model.evidence)
    if model.vectorizer is not None:
        refuse("vectorizer", "None for a dataset in parts: give it to `labeltrees convert` or `read_texts`", "one")


def read_parts(model: Any, data: PartsDataset, label_names: Any = None) -> TrainingPoints:
    """Return the points of a dataset in parts that is read part by part."""
    started = time.perf_counter()
    arguments = arguments_of_parts(data, label_names)
    names = None if arguments.label_names is None else LabelNames(arguments.label_names)
    if names is not None:
        check_unicode(names.array)
    if data.n_features == 0:
        message = f"Found array with 0 feature(s) (shape={(data.n_points, 0)}) while a minimum of 1 is required."
        raise InputError(message)
    trend = trend_of_parts(model.trend, data)
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    if arguments.feature_names is not None:
        model.feature_names_in_ = arguments.feature_names
    return TrainingPoints(
        PartBlocks(data),
        data.n_points,
        None,
        names,
        arguments.encoder,
        None,
        builder_of(model.tree).embeddings,
        trend,
        data.groups,
        seconds=time.perf_counter() - started,
    )


def _with_own_groups(groups: Int64s, n_more: int) -> Int64s:
    """Return the groups extended by `n_more` points, each in a new group."""
    return np.concatenate([groups, groups.max(initial=0) + 1 + np.arange(n_more)])
