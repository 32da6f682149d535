"""What `LabelTreeClassifier.fit` is given, checked: features, labels, weights, the encoder and texts of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labeltrees._matrices import CheckedX, CheckedY, Float32s, Float64s, Int64s
from labeltrees._names import check_texts
from labeltrees._validation import refuse
from labeltrees.data.dataset import check_groups
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.label_sets import read_training_labels
from labeltrees.models.common.dataset_arguments import arguments_of
from labeltrees.models.common.error_costs import check_relevance, point_costs
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.linear.contexts import encode, fit_vectorizer
from labeltrees.models.linear.label_text_points import (
    add_points,
    labels_to_read,
    text_embeddings,
    text_points,
    with_label_texts,
)
from labeltrees.models.linear.points import check_points, unit_rows
from labeltrees.models.linear.settings import label_text_use
from labeltrees.models.linear.trend import trend_of
from labeltrees.tree.settings import builder_of


@dataclass(frozen=True, eq=False)
class TrainingPoints:
    """The points to train on, and what the model keeps of them.

    Parameters
    ----------
    X, Y : CheckedX, CheckedY
        Points, with those that texts of labels add.
    weights : float64 (n,), optional
    n_points : int
        The number of points, without those that texts of labels add.
    label_counts : int64 (L,)
        Points of each label, without those that texts of labels add.
    names : LabelNames, optional
    encoder : Encoder, optional
        What turns a context into a row of X.
    label_texts : texts of the labels, optional
    embeddings : matrix (L, d), optional
        Embeddings for the tree; None: PIFA.
    trend : float32 (L,), optional
        What scores of labels are multiplied with.
    groups : int64 (n,), optional
        Points with the same number are held out together.
    """

    X: CheckedX
    Y: CheckedY
    weights: Float64s | None
    n_points: int
    label_counts: Int64s
    names: LabelNames | None
    encoder: Encoder | None
    label_texts: Any
    embeddings: Any
    trend: Float32s | None
    groups: Int64s | None


def read_training_points(
    model: Any,
    X: Any,
    Y: Any,
    sample_weight: Any,
    label_texts: Any = None,
    times: Any = None,
    groups: Any = None,
) -> TrainingPoints:
    """Check the arguments of `fit`, make features of texts or contexts, and add the points of label texts.

    Sets `n_features_in_` and `feature_names_in_` of the model.
    """
    X, Y, sample_weight, label_names, feature_names, encoder, label_texts, times, groups = arguments_of(
        X, Y, sample_weight, label_texts, times, groups
    )
    if encoder is not None:
        X = encode(encoder, X, model.n_jobs)
    vectorizer, X = fit_vectorizer(model.vectorizer, X, model.n_jobs)
    X = check_points(model, X, fitting=True)
    if encoder is not None and encoder.n_features != X.shape[1]:
        refuse("encoder", f"one with {X.shape[1]} features, the columns of X", f"one with {encoder.n_features}")
    if feature_names is not None:
        model.feature_names_in_ = check_texts("feature_names", feature_names, X.shape[1])
    encoder = encoder if vectorizer is None else TextEncoder(vectorizer)
    labels = read_training_labels(Y, label_names, X.shape[0])
    use = label_text_use(model.label_texts)
    adds_labels = use.points != "none" and isinstance(encoder, TextEncoder)
    labels, texts = with_label_texts(labels, label_texts, adds_labels=adds_labels)
    check_relevance(labels.Y)
    weights = point_costs(sample_weight, X.shape[0])
    n_points = X.shape[0]
    groups = None if groups is None else check_groups(groups, n_points)
    X = unit_rows(X) if model.normalize else X
    used = labels_to_read(labels.Y, use.points, use.embedding)
    points = text_points(texts, encoder, used, model.normalize)
    embeddings = builder_of(model.tree).embeddings
    if embeddings is None:
        embeddings = text_embeddings(X, labels.Y, points, use.embedding, model.n_jobs)
    X, Y, weights = add_points(X, labels.Y, weights, points, use.points, use.weight)
    return TrainingPoints(
        CheckedX(X),
        CheckedY(Y),
        weights,
        n_points,
        np.bincount(labels.Y.indices, minlength=Y.shape[1]),
        None if labels.names is None else LabelNames(labels.names),
        encoder,
        texts,
        embeddings,
        trend_of(model.trend, labels.Y, times),
        None if groups is None else _with_own_groups(groups, X.shape[0] - n_points),
    )


def _with_own_groups(groups: Int64s, n_more: int) -> Int64s:
    """Return the groups with those of more points, each of which is a group of its own."""
    return np.concatenate([groups, groups.max(initial=0) + 1 + np.arange(n_more)])
