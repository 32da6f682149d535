"""Features and labels of points in blocks, and the encoder that makes the same features for new contexts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from labeltrees.data.encoders import ColumnEncoder, Encoder, ItemEncoder, TextEncoder
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.logs.aggregate import Aggregated
from labeltrees.logs.baskets import hide_items
from labeltrees.logs.features import (
    LIST_SEPARATOR,
    Matrix,
    check_words,
    entries_matrix,
    known_names,
    split_names,
    with_columns,
)
from labeltrees.logs.item_names import name_items
from labeltrees.logs.point_blocks import PointBlocks
from labeltrees.logs.points import Points
from labeltrees.logs.reading import collect
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.text_features import TextFeatures

_KEY = ["context", "window"]


class FeatureBlock(NamedTuple):
    """X and Y of the points of a block, in their order, and their texts if features are made of texts."""

    X: Matrix
    Y: Matrix
    texts: list[str] | None


class PointFeatures:
    """Learns what turns points into features, then yields the features and labels of blocks of points.

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
    blocks : PointBlocks

    Attributes
    ----------
    encoder : Encoder or None
        None if a vectorizer of another library makes the features.
    feature_names : list of str or None
    n_features : int
    """

    def __init__(
        self,
        points: pl.DataFrame,
        n_train: int,
        aggregated: Aggregated,
        made: Points,
        label_names: list[str],
        items: pl.Series,
        settings: LogSettings,
        vectorizer: Any,
        named: list[pl.LazyFrame] | None,
        blocks: PointBlocks,
    ) -> None:
        self._points, self._n_train, self._settings, self._blocks = points, n_train, settings, blocks
        self._n_labels = len(items)
        self._random = np.random.default_rng(settings.random_state)
        self._texts: TextFeatures | None = None
        self._n_unknown = self._n_without = 0
        self.encoder: Encoder | None = None
        self.feature_names: list[str] | None = None
        value = pl.col("engagement").log1p().cast(pl.Float32)
        blocks.scatter("labels", self._by_point(made.labels, "point", column="label", value=value))
        match settings.features:
            case "basket":
                self.feature_names, self.encoder = label_names, ItemEncoder(label_names, items, weighting="log")
            case "history":
                known = self._learn_names(self._by_point(made.history, "point", name="item", value=value))
                self.feature_names = name_items(known, named)[0]
                self.encoder = ItemEncoder(self.feature_names, known, weighting="log")
            case "column":
                values = self._by_point(aggregated.values, "point", "value")
                separator = LIST_SEPARATOR if aggregated.lists else settings.feature_separator
                if separator is None:
                    blocks.scatter("values", values)
                    self._learn_texts(vectorizer)
                else:
                    known = self._learn_names([split_names(frame, separator) for frame in values])
                    self.feature_names = name_items(known, None)[0]
                    self.encoder = ColumnEncoder(self.feature_names, separator=settings.feature_separator)
            case _:
                if vectorizer is None:
                    check_words(points["group"])
                self._learn_texts(vectorizer)
        self.n_features = self._texts.n_features if self._texts is not None else len(self.feature_names or [])

    def blocks(self) -> Iterator[FeatureBlock]:
        """Yield the features and labels of all points, block by block."""
        for block in range(self._blocks.count):
            Y = self._matrix("labels", block, self._n_labels)
            texts = None
            if self._settings.features == "basket":
                X, Y = hide_items(Y, self._settings.hide, self._random)
            elif self._texts is not None:
                texts = self._block_texts(block)
                X = self._texts.rows(texts)
            else:
                X = self._matrix("features", block, self.n_features)
            Y.data[:] = 1
            self._n_without += int((np.diff(X.indptr) == 0).sum())
            yield FeatureBlock(X, Y, texts)
        if self._texts is not None:
            self._texts.check_found()

    def notes(self) -> dict[str, int]:
        """Return counts for the summary, after the last block."""
        notes = {
            "features of test points that train has not (left out)": self._n_unknown,
            "points without a known feature": self._n_without,
        }
        return {what: count for what, count in notes.items() if count}

    def _by_point(self, shards: list[pl.LazyFrame], *columns: Any, **named: Any) -> list[pl.LazyFrame]:
        """Return frames of shards with the number of each point instead of its context."""
        ids = self._points.lazy().select("context", "window", "point", "shard")
        return [
            shard.join(ids.filter(pl.col("shard") == number), on=_KEY, how="inner").select(*columns, **named)
            for number, shard in enumerate(shards)
        ]

    def _learn_names(self, frames: list[pl.LazyFrame]) -> pl.Series:
        """Keep the features of points by name; return the names, which are those of training points."""
        known = known_names(frames, self._n_train)
        columns = with_columns(known)

        def found() -> Iterator[pl.LazyFrame]:
            for frame in frames:
                joined = collect(frame.join(columns.lazy(), on="name", how="left"))
                self._n_unknown += joined["column"].null_count()
                yield joined.drop_nulls("column").select("point", "column", "value").lazy()

        self._blocks.scatter("features", found())
        return known

    def _learn_texts(self, vectorizer: Any) -> None:
        self._texts = TextFeatures(vectorizer, self._train_texts)
        fitted = self._texts.vectorizer
        self.feature_names = self._texts.feature_names
        self.encoder = TextEncoder(fitted) if isinstance(fitted, TfidfVectorizer) else None

    def _train_texts(self) -> Iterator[str]:
        for block in range(self._blocks.count):
            n_left = self._n_train - self._blocks.bounds[block]
            if n_left > 0:
                yield from self._block_texts(block)[:n_left]

    def _block_texts(self, block: int) -> list[str]:
        first, last = self._blocks.bounds[block : block + 2]
        if self._settings.features != "column":
            return self._points["group"][first:last].to_list()
        return pl.concat(self._blocks.frames("values", block)).sort("point")["value"].to_list()

    def _matrix(self, name: str, block: int, n_columns: int) -> Matrix:
        rows, columns, values = [], [], []
        for frame in self._blocks.frames(name, block):
            rows.append(frame["point"].to_numpy())
            columns.append(frame["column"].to_numpy())
            values.append(frame["value"].to_numpy().astype(np.float32))
        first, last = self._blocks.bounds[block : block + 2]
        shape = (last - first, n_columns)
        if not rows:
            return sparse.csr_array(shape, dtype=np.float32)
        return entries_matrix(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape)
