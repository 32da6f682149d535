"""The data of a study: points in the form that a model family reads, split into training and validation points."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labeltrees._holding_out import draw_held_out
from labeltrees._matrices import check_X, check_Y
from labeltrees._validation import check_number, refuse
from labeltrees.data.dataset import Dataset, as_dataset
from labeltrees.data.encoders import TextEncoder
from labeltrees.data.label_sets import known_labels
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.errors import InputError, Parameter
from labeltrees.models.common.given import FitArguments
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.linear.features import fit_vectorizer, labels_of_items

SHARE = 0.2  # of the points, held out by default
MAX_VALIDATION_POINTS = 100_000
AT_RANDOM, NEWEST, IN_GROUPS = "at random", "because they are the newest", "at random in whole groups"


@dataclass(frozen=True)
class TuningData:
    """The data that models are trained or measured on.

    Parameters
    ----------
    points : csr_array or dense array (n, d), or array of texts (n,)
    Y : csr_array (n, L)
    sample_weight : array (n,), optional
    label_names, feature_names, texts : arrays of str, optional
    vectorizer : TfidfVectorizer, optional
        The vectorizer that made the points from texts.
    times : array (n,), optional
        The time of each point.
    encoder : Encoder, optional
        The encoder that made the points from contexts.
    groups : array of int64 (n,), optional
        Points with the same number are held out together.
    label_texts : LabelTexts, optional
    """

    points: Any
    Y: Any
    sample_weight: Any = None
    label_names: Any = None
    feature_names: Any = None
    texts: Any = None
    vectorizer: Any = None
    times: Any = None
    encoder: Any = None
    groups: Any = None
    label_texts: Any = None

    @property
    def n_points(self) -> int:
        """The number of points."""
        return int(self.Y.shape[0])

    @property
    def is_text(self) -> bool:
        """Whether the points are texts."""
        return getattr(self.points, "ndim", 1) == 1

    @cached_property
    def items(self) -> Any:
        """The label of each feature that is an item, or -1, as in baskets and histories; None for other features."""
        if self.is_text or self.label_names is None:
            return None
        return labels_of_items(self.encoder, LabelNames(self.label_names))

    @property
    def has_items(self) -> bool:
        """Whether features are items that can be labels."""
        return self.items is not None

    def fit_arguments(self, model: Any) -> dict[str, Any]:
        """Return weights, times and groups of the points, as far as `fit` of the model takes them."""
        known = inspect.signature(model.fit).parameters
        names = [name for name in ("sample_weight", "times", "groups") if name in known]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def arguments(self) -> FitArguments:
        """Return all arguments of `fit`; a vectorizer is the encoder of the model if labels have texts."""
        encoder = self.encoder
        if self.label_texts is not None and isinstance(self.vectorizer, TfidfVectorizer):
            encoder = TextEncoder(self.vectorizer)
        return FitArguments(
            self.points,
            self.Y,
            self.sample_weight,
            self.label_names,
            None if isinstance(self.vectorizer, TfidfVectorizer) else self.feature_names,
            encoder,
            self.label_texts,
            self.times,
            self.groups,
        )

    @property
    def content(self) -> list[Any]:
        """The data that measurements depend on: points, labels, weights, groups, items and label texts, no names."""
        texts = [] if self.label_texts is None else [self.label_texts.lists()]
        others = [values for values in (self.groups, self.items) if values is not None]
        return [self.points, self.Y, self.sample_weight, *others, *texts]

    def take(self, rows: Any) -> TuningData:
        """Return some of the points."""
        return replace(
            self,
            points=self.points[rows],
            Y=self.Y[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            texts=None if self.texts is None else self.texts[rows],
            times=None if self.times is None else self.times[rows],
            groups=None if self.groups is None else self.groups[rows],
        )


def reads_texts(estimator: Any) -> bool:
    """Whether an estimator reads only texts."""
    return bool(getattr(estimator, "READS_TEXTS", False))


def as_tuning_data(data: Any, name: str, estimator: Any) -> TuningData:
    """Return a Dataset or a pair (X, Y) in the form that the estimator reads; dense points stay dense."""
    if isinstance(data, TuningData):
        return data
    if reads_texts(estimator):
        dataset = as_dataset(data, name)
        if dataset.texts is None:
            message = f"{name} must have texts for a {type(estimator).__name__}"
            raise InputError(message)
        return _of_dataset(dataset, dataset.texts)
    if isinstance(data, tuple | list) and len(data) == 2 and isinstance(data[0], np.ndarray):
        X, Y = check_X(data[0], allow_empty=True).matrix, check_Y(data[1], allow_empty=True).matrix
        if X.shape[0] != Y.shape[0]:
            message = f"{name}: X has {X.shape[0]} rows and Y has {Y.shape[0]}; both must have one row per point"
            raise InputError(message)
        return TuningData(X, Y)
    dataset = as_dataset(data, name)
    if dataset.n_features == 0 and dataset.texts is not None and dataset.encoder is None:
        dataset = _with_features(dataset, estimator)
    return _of_dataset(dataset, dataset.X)


def _with_features(dataset: Dataset, estimator: Any) -> Dataset:
    """Return a Dataset of texts with the features of the estimator's vectorizer, or of the default one."""
    vectorizer, X = fit_vectorizer(getattr(estimator, "vectorizer", None), dataset.texts, estimator.n_jobs)
    others = ("label_names", "sample_weight", "texts", "times", "groups", "label_texts")
    names = vectorizer.get_feature_names_out() if vectorizer.get_state().has_names else None
    given = {name: getattr(dataset, name) for name in others}
    return Dataset(X, dataset.Y, feature_names=names, vectorizer=vectorizer, **given)


def _of_dataset(dataset: Dataset, points: Any) -> TuningData:
    return TuningData(
        points,
        dataset.Y,
        dataset.sample_weight,
        dataset.label_names,
        dataset.feature_names,
        dataset.texts,
        dataset.vectorizer,
        dataset.times,
        dataset.encoder,
        dataset.groups,
        dataset.label_texts,
    )


def aligned_with(train: TuningData, validation: TuningData) -> TuningData:
    """Return validation data with the labels of the training data, by name, and features of the same vectorizer."""
    if train.label_names is not None and validation.label_names is not None:
        if not np.array_equal(train.label_names, validation.label_names):
            names = LabelNames(train.label_names)
            Y = known_labels(validation.Y, (validation.n_points, train.Y.shape[1]), names)
            validation = replace(validation, Y=Y, label_names=train.label_names)
    other = validation.vectorizer is not None and validation.vectorizer is not train.vectorizer
    if other and train.vectorizer is not None and validation.texts is not None and not validation.is_text:
        points = train.vectorizer.transform(validation.texts)
        validation = replace(validation, points=points, vectorizer=train.vectorizer, feature_names=train.feature_names)
    return validation


def check_pair(train: TuningData, validation: TuningData) -> None:
    """Raise `InputError` if data have no labelled points, or if their labels or features differ."""
    for name, data in (("train", train), ("validation", validation)):
        if data.n_points == 0 or data.Y.nnz == 0:
            message = (
                f"{name} must have points with labels, got {data.n_points} points with {data.Y.nnz} labels in total"
            )
            raise InputError(message)
    if train.Y.shape[1] != validation.Y.shape[1]:
        refuse("validation", f"data with the {train.Y.shape[1]} labels of train", f"{validation.Y.shape[1]} labels")
    if not train.is_text and train.points.shape[1] != validation.points.shape[1]:
        features = f"{validation.points.shape[1]} features"
        refuse("validation", f"data with the {train.points.shape[1]} features of train", features)


class SplitData(NamedTuple):
    """Training data, validation data, and how the validation points were held out; "" if they were given."""

    train: TuningData
    validation: TuningData
    held_out: str


def split_data(data: TuningData, validation: Any, estimator: Any, seed: int) -> SplitData:
    """Return training and validation data; no validation point is a training point.

    Parameters
    ----------
    data : TuningData
    validation : float, or Dataset, or pair (X, Y)
        The share of the points to hold out, at most 100,000 points, or separate data. If points have groups, whole
        groups are held out, because queries will come from new groups. Otherwise, if points have times, the newest are
        held out, because queries will come later. Otherwise points are chosen at random.
    estimator : model
    seed : int
    """
    if isinstance(validation, bool) or not isinstance(validation, int | float):
        if validation is None:
            refuse("validation", "a share of train, a Dataset or a pair (X, Y)", validation)
        return SplitData(data, aligned_with(data, as_tuning_data(validation, "validation", estimator)), "")
    share = check_number("validation", validation, 0, 1, low_open=True)
    rows, held_out = hold_out(data.n_points, share, seed, data.times, data.groups)
    how = IN_GROUPS if data.groups is not None else AT_RANDOM if data.times is None else NEWEST
    return SplitData(data.take(rows), data.take(held_out), how)


def hold_out(n_points: int, share: float, seed: int, times: Any = None, groups: Any = None) -> tuple[Any, Any]:
    """Return the rows to train on and those held out, both ascending: whole groups, else the newest, else random."""
    n_held_out = min(round(share * n_points), MAX_VALIDATION_POINTS)
    if not 1 <= n_held_out < n_points:
        message = "{} holds out {} of {} points: choose another share"
        raise InputError(message, Parameter("validation", share), n_held_out, n_points)
    if times is not None and groups is None:
        order = np.argsort(times, kind="stable")[::-1]
    else:
        order, n_held_out = draw_held_out(n_points, n_held_out, np.random.default_rng(seed), groups)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
