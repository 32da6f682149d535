"""Points as two datasets: features and labels in blocks, in memory or written in parts, with the encoder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from labeltrees._matrices import check_sample_weight
from labeltrees.data.data_folder import TEST, TRAIN, parts_name
from labeltrees.data.dataset import Dataset, check_groups
from labeltrees.data.encoders import ColumnEncoder, Encoder, ItemEncoder, TextEncoder
from labeltrees.data.parts.writer import PartsWriter
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.logs.events import collect
from labeltrees.logs.features import (
    LEAST_HIDDEN,
    LIST_SEPARATOR,
    ItemNames,
    Masked,
    Matrix,
    TextFeatures,
    check_words,
    entries_matrix,
    hide_items,
    known_names,
    name_items,
    split_names,
    with_columns,
)
from labeltrees.logs.settings import LogSettings

_KEY = ["context", "window"]


class BlockFiles:
    """The data of points, divided into blocks of points.

    The frames of a shard have points of all blocks. `scatter` writes them to one file per shard and block, so that
    memory holds one shard at a time, and later one block at a time.

    Parameters
    ----------
    n_points : int
    size : int or None
        Points per block; None for one block of all points.
    folder : path
        For the files.
    """

    def __init__(self, n_points: int, size: int | None, folder: Path) -> None:
        self._size = max(n_points, 1) if size is None else size
        self.bounds = [*range(0, n_points, self._size), n_points]
        self._folder = folder
        self._frames: dict[str, list[pl.LazyFrame]] = {}
        for path in folder.glob("*-of-block-*"):  # left by an interrupted run, perhaps with other blocks
            shutil.rmtree(path)

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.bounds) - 1

    def scatter(self, name: str, frames: Iterable[pl.LazyFrame]) -> None:
        """Sort frames with a column "point" into blocks."""
        if self.count == 1:
            self._frames[name] = list(frames)
            return
        for number, frame in enumerate(frames):
            block = (pl.col("point") // self._size).cast(pl.UInt32).alias("block")
            parts = collect(frame).with_columns(block).partition_by("block", as_dict=True, include_key=False)
            for key, own in parts.items():
                folder = self._folder / f"{name}-of-block-{key[0]:05d}"
                folder.mkdir(exist_ok=True)
                own.write_parquet(folder / f"{number:05d}.parquet", compression="lz4", statistics=False)

    def frames(self, name: str, block: int) -> Iterator[pl.DataFrame]:
        """Yield the frames of a block. Points are numbered from the first of the block."""
        if self.count == 1:
            yield from map(collect, self._frames[name])
            return
        start = self.bounds[block]
        for path in sorted((self._folder / f"{name}-of-block-{block:05d}").glob("*.parquet")):
            yield pl.read_parquet(path).with_columns(pl.col("point") - start)


class PointFrames(NamedTuple):
    """Labels, histories and values of points, by shard."""

    labels: list[pl.LazyFrame]
    history: list[pl.LazyFrame]
    values: list[pl.LazyFrame]
    values_are_lists: bool


class FeatureBlock(NamedTuple):
    """X and Y of a block, the point of each row (ascending), and the texts if features are made from texts.

    Training baskets have several rows each, with different hidden items; other points have one.
    """

    X: Matrix
    Y: Matrix
    points: NDArray[np.int64]
    texts: list[str] | None


class PointFeatures:
    """Learns the features of training points, then yields the features and labels of blocks of points.

    Parameters
    ----------
    points : frame
        From `order_points`; the first `n_train` are for training.
    n_train : int
    frames : PointFrames
    label_names : ItemNames
        The id and the name of each label.
    settings : LogSettings
    vectorizer : optional
        Makes features from texts.
    named : list of frames, optional
        Events with item and name.
    blocks : BlockFiles

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
        frames: PointFrames,
        label_names: ItemNames,
        settings: LogSettings,
        vectorizer: Any,
        named: list[pl.LazyFrame] | None,
        blocks: BlockFiles,
    ) -> None:
        self._points, self._n_train, self._settings, self._blocks = points, n_train, settings, blocks
        self._n_labels = len(label_names.ids)
        self._random = np.random.default_rng(settings.random_state)
        self._more = np.random.default_rng([settings.random_state, 1])
        self._texts: TextFeatures | None = None
        self._n_unknown = self._n_without = 0
        self.encoder: Encoder | None = None
        self.feature_names: list[str] | None = None
        value = pl.col("engagement").log1p().cast(pl.Float32)
        blocks.scatter("labels", self._by_point(frames.labels, "point", column="label", value=value))
        match settings.features:
            case "basket":
                self._learn_items(label_names)
            case "history":
                known = self._learn_names(self._by_point(frames.history, "point", name="item", value=value))
                self._learn_items(name_items(known, named))
            case "column":
                values = self._by_point(frames.values, "point", "value")
                separator = LIST_SEPARATOR if frames.values_are_lists else settings.feature_separator
                if separator is None:
                    blocks.scatter("values", values)
                    self._learn_texts(vectorizer)
                else:
                    known = self._learn_names([split_names(frame, separator) for frame in values])
                    self.feature_names = name_items(known, None).ids
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
            points = np.arange(Y.shape[0])
            texts = None
            if self._settings.features == "basket":
                X, Y, points = self._hide(Y, self._n_train - self._blocks.bounds[block])
            elif self._texts is not None:
                texts = self._block_texts(block)
                X = self._texts.rows(texts)
            else:
                X = self._matrix("features", block, self.n_features)
            Y.data[:] = 1
            self._n_without += int((np.diff(X.indptr) == 0).sum())
            yield FeatureBlock(X, Y, points + self._blocks.bounds[block], texts)
        if self._texts is not None:
            self._texts.check_found()

    def notes(self) -> dict[str, int]:
        """Return counts for the summary, after the last block."""
        notes = {
            "test features unseen in training (left out)": self._n_unknown,
            "points without a known feature": self._n_without,
        }
        return {what: count for what, count in notes.items() if count}

    def _hide(self, baskets: Matrix, n_train: int) -> Masked:
        """Return the points of some baskets, of which the first `n_train` are for training."""
        middle, hide = min(max(n_train, 0), baskets.shape[0]), self._settings.hide
        times = int(self._settings.points_per_context)
        train = hide_items(baskets[:middle], hide, self._random, times, self._more, LEAST_HIDDEN if hide >= 1 else 0.0)
        test = hide_items(baskets[middle:], hide, self._random)
        X, Y = (sparse.vstack(pair, format="csr") for pair in zip(train[:2], test[:2], strict=True))
        return Masked(X, Y, np.concatenate([train.baskets, test.baskets + middle]))

    def _by_point(self, shards: list[pl.LazyFrame], *columns: Any, **named: Any) -> list[pl.LazyFrame]:
        """Return frames of shards with the number of each point instead of its context."""
        ids = self._points.lazy().select("context", "window", "point", "shard")
        return [
            shard.join(ids.filter(pl.col("shard") == number), on=_KEY, how="inner").select(*columns, **named)
            for number, shard in enumerate(shards)
        ]

    def _learn_names(self, frames: list[pl.LazyFrame]) -> pl.Series:
        """Scatter features that are given by name into blocks; return the names that training points have."""
        known = known_names(frames, self._n_train)
        columns = with_columns(known)

        def found() -> Iterator[pl.LazyFrame]:
            for frame in frames:
                joined = collect(frame.join(columns.lazy(), on="name", how="left"))
                self._n_unknown += joined["column"].null_count()
                yield joined.drop_nulls("column").select("point", "column", "value").lazy()

        self._blocks.scatter("features", found())
        return known

    def _learn_items(self, items: ItemNames) -> None:
        self.feature_names, self.encoder = items.ids, ItemEncoder(items.ids, items.others, weighting="log")

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


@dataclass
class Shape:
    """The size of a dataset, counted block by block."""

    n_features: int
    labels: NDArray[np.bool_]  # whether a label occurs
    n_points: int = 0
    n_pairs: int = 0
    n_values: int = 0

    def add(self, X: Any, Y: Any) -> None:
        """Count some points."""
        self.labels[Y.indices] = True
        self.n_points += X.shape[0]
        self.n_pairs += Y.nnz
        self.n_values += X.nnz

    def to_json(self) -> dict[str, Any]:
        """Return the counts for the summary."""
        n_points = max(self.n_points, 1)
        return {
            "n_points": self.n_points,
            "n_features": self.n_features,
            "n_labels": len(self.labels),
            "n_labels_with_points": int(self.labels.sum()),
            "labels_a_point": self.n_pairs / n_points,
            "features_a_point": self.n_values / n_points,
        }


class PointDatasets:
    """Makes the datasets of points.

    Parameters
    ----------
    features : PointFeatures
    label_names : ItemNames
        The id and the name of each label; the name is the text of the label.
    points : frame
        From `order_points`; the first `n_train` are for training.
    n_train : int
    settings : LogSettings

    Attributes
    ----------
    shapes : dict
        The sizes of "train" and "test", once they are made.
    """

    def __init__(
        self, features: PointFeatures, label_names: ItemNames, points: pl.DataFrame, n_train: int, settings: LogSettings
    ) -> None:
        self._features, self._label_names, self._n_train = features, label_names.ids, n_train
        self._titles = label_names.names
        self._several = settings.features == "basket" and int(settings.points_per_context) > 1
        # Test points always have weights: results are shown by context and by traffic.
        weighted = settings.point_weights == "events"
        self._weights = {
            TRAIN: _weights(points[:n_train]) if weighted else None,
            TEST: _weights(points[n_train:]),
        }
        self._times = points["latest"].to_numpy() if "latest" in points.columns else None
        self._groups = _groups(points[:n_train], settings)
        if self._groups is None and self._several:
            self._groups = np.arange(n_train)
        self._n_points = points.height
        self.shapes = {
            split: Shape(features.n_features, np.zeros(len(label_names.ids), dtype=np.bool_)) for split in (TRAIN, TEST)
        }

    def in_memory(self) -> tuple[Dataset, Dataset]:
        """Return train and test; there must be one block."""
        X, Y, points, texts = next(blocks := self._features.blocks())
        next(blocks, None)  # run the checks that follow the last block
        # One Dataset is made and then split, so that the names, perhaps millions, are checked once.
        whole = Dataset(
            X,
            Y,
            label_names=self._label_names,
            feature_names=self._features.feature_names,
            texts=texts,
            encoder=self._features.encoder,
            times=None if self._times is None else self._times[points],
            label_texts=None if self._titles is None else [[] if name is None else [name] for name in self._titles],
        )
        middle = int(np.searchsorted(points, self._n_train))
        train, test = whole[:middle], whole[middle:]
        train._store(groups=None if self._groups is None else self._groups[points[:middle]])
        for split, dataset, own in ((TRAIN, train, points[:middle]), (TEST, test, points[middle:])):
            dataset._store(sample_weight=check_sample_weight(self._weights_of(split, own), dataset.n_points))
            self.shapes[split].add(dataset.X, dataset.Y)
        return train, test

    def write(self, folder: Path, points_per_part: int, report: Callable[[float], object]) -> None:
        """Write train and test as two datasets in parts; a dataset without points gets no folder."""
        with ExitStack() as stack:
            writers = {
                split: stack.enter_context(self._writer(folder / parts_name(split), points_per_part))
                for split, n in ((TRAIN, self._n_train), (TEST, self._n_points - self._n_train))
                if n > 0
            }
            for block in self._features.blocks():
                middle = int(np.searchsorted(block.points, self._n_train))
                for split, rows in ((TRAIN, slice(0, middle)), (TEST, slice(middle, block.X.shape[0]))):
                    if rows.stop > rows.start:
                        points, X, Y = block.points[rows], block.X[rows], block.Y[rows]
                        times = None if self._times is None else self._times[points]
                        groups = self._groups[points] if split == TRAIN and self._groups is not None else None
                        writers[split].add(X, Y, self._weights_of(split, points), times=times, groups=groups)
                        self.shapes[split].add(X, Y)
                if len(block.points):
                    report((block.points[-1] + 1) / self._n_points)

    def _weights_of(self, split: str, points: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the weights of rows by their points: the rows of a training point share its weight."""
        own = self._weights[split]
        weights = None if own is None else own[points - (0 if split == TRAIN else self._n_train)]
        if split == TEST or not self._several:
            return weights
        _, place, n_rows = np.unique(points, return_inverse=True, return_counts=True)
        shares: NDArray[np.float64] = (1.0 if weights is None else weights) / n_rows[place]
        return shares

    def _writer(self, folder: Path, points_per_part: int) -> PartsWriter:
        return PartsWriter(
            folder,
            self._features.n_features,
            len(self._label_names),
            points_per_part=points_per_part,
            label_names=self._label_names,
            feature_names=self._features.feature_names,
            encoder=self._features.encoder,
        )


def _groups(points: pl.DataFrame, settings: LogSettings) -> NDArray[np.int64] | None:
    """Return the number of each training point's context, if test points belong to other contexts.

    None if no context has several points, or in a split by time, where a model is asked about known contexts.
    """
    if settings.test_since is not None or points["group"].n_unique() == points.height:
        return None
    return check_groups(points["group"].rank("dense").to_numpy(), points.height)


def _weights(points: pl.DataFrame) -> NDArray[np.float64] | None:
    """Return the events of each point, scaled to mean 1 so that loss and regularization keep their balance."""
    if points.height == 0:
        return None
    values = points["events"].to_numpy().astype(np.float64)
    scaled: NDArray[np.float64] = values / values.mean()
    return scaled
