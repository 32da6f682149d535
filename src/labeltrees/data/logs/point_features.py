"""Features and labels of all points, and the encoder that makes the same features for new contexts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from labeltrees.data.encoders import ColumnEncoder, Encoder, ItemEncoder, TextEncoder
from labeltrees.data.logs.aggregate import Aggregated, Points
from labeltrees.data.logs.baskets import hide_items
from labeltrees.data.logs.features import (
    LIST_SEPARATOR,
    Matrix,
    check_words,
    entries_matrix,
    name_features,
    split_names,
    text_features,
)
from labeltrees.data.logs.item_names import name_items
from labeltrees.data.logs.reading import collect
from labeltrees.data.logs.settings import LogSettings
from labeltrees.data.tfidf import TfidfVectorizer

_KEY = ["context", "window"]


@dataclass
class PointFeatures:
    """X and Y of all points, in their order, and what belongs to the features.

    `encoder` is None if a vectorizer of another library made the features. `notes` are counts for the summary.
    """

    X: Matrix
    Y: Matrix
    feature_names: list[str] | None
    encoder: Encoder | None
    texts: list[str] | None = None
    notes: dict[str, int] = field(default_factory=dict)


def make_features(
    points: pl.DataFrame,
    n_train: int,
    aggregated: Aggregated,
    made: Points,
    label_names: list[str],
    items: pl.Series,
    settings: LogSettings,
    vectorizer: Any,
    named: list[pl.LazyFrame] | None,
) -> PointFeatures:
    """Return the features and labels of points.

    Parameters
    ----------
    points : frame
        From `order_points`; the first `n_train` are for training.
    aggregated, made
        Pairs and points by shard.
    label_names, items
        The name and the item of each label.
    settings : LogSettings
    vectorizer : optional
        Makes features of texts.
    named : list of frames, optional
        Events with item and name.
    """
    Y = _labels(points, made, len(items))
    match settings.features:
        case "basket":
            X, hidden = hide_items(Y, settings.hide, settings.random_state)
            encoder = ItemEncoder(label_names, items, weighting="log")
            return _noted(PointFeatures(X, hidden, label_names, encoder))
        case "history":
            value = pl.col("engagement").log1p().cast(pl.Float32)
            long = [
                shard.join(_of_shard(points, number), on=_KEY, how="inner").select("point", name="item", value=value)
                for number, shard in enumerate(made.history)
            ]
            X, known, n_unknown = name_features(long, points.height, n_train)
            names = name_items(known, named)[0]
            return _noted(PointFeatures(X, _ones(Y), names, ItemEncoder(names, known, weighting="log")), n_unknown)
        case "column":
            found = collect(pl.concat(aggregated.values))
            values = points.join(found, on=_KEY, how="left", maintain_order="left")["value"]
            separator = LIST_SEPARATOR if aggregated.lists else settings.feature_separator
            if separator is not None:
                X, known, n_unknown = name_features([split_names(values, separator)], points.height, n_train)
                names = name_items(known, None)[0]
                column = ColumnEncoder(names, separator=settings.feature_separator)
                return _noted(PointFeatures(X, _ones(Y), names, column), n_unknown)
            texts = values.to_list()
        case _:
            if vectorizer is None:
                check_words(points["group"])
            texts = points["group"].to_list()
    X, words, fitted = text_features(texts, n_train, vectorizer)
    text_encoder = TextEncoder(fitted) if isinstance(fitted, TfidfVectorizer) else None
    return _noted(PointFeatures(X, _ones(Y), words, text_encoder, texts))


def _noted(features: PointFeatures, n_unknown: int = 0) -> PointFeatures:
    notes = {
        "features of test points that train has not (left out)": n_unknown,
        "points without a known feature": int((np.diff(features.X.indptr) == 0).sum()),
    }
    features.notes = {what: count for what, count in notes.items() if count}
    return features


def _ones(Y: Matrix) -> Matrix:
    Y.data[:] = 1
    return Y


def _labels(points: pl.DataFrame, made: Points, n_labels: int) -> Matrix:
    """Return the matrix of points and their items, with log(1 + engagement)."""
    rows: list[NDArray[Any]] = []
    columns: list[NDArray[Any]] = []
    values: list[NDArray[Any]] = []
    for number, shard in enumerate(made.labels):
        found = collect(shard.join(_of_shard(points, number), on=_KEY, how="inner"))
        rows.append(found["point"].to_numpy())
        columns.append(found["label"].to_numpy())
        values.append(found["engagement"].log1p().cast(pl.Float32).to_numpy())
    shape = (points.height, n_labels)
    return entries_matrix(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape)


def _of_shard(points: pl.DataFrame, number: int) -> pl.LazyFrame:
    return points.lazy().filter(pl.col("shard") == number).select("context", "window", "point")
