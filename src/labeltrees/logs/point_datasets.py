"""Points with features and labels as two datasets, in memory or written in parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from labeltrees._matrices import check_sample_weight
from labeltrees.data.data_folder import TEST, TRAIN, parts_name
from labeltrees.data.dataset import Dataset, check_groups
from labeltrees.data.parts.writer import PartsWriter
from labeltrees.logs.point_features import PointFeatures
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.weights import TRAFFIC, point_weights


@dataclass
class Shape:
    """The size of a dataset, counted block by block."""

    n_points: int
    n_features: int
    labels: NDArray[np.bool_]  # whether a label occurs
    n_pairs: int = 0
    n_values: int = 0

    def add(self, X: Any, Y: Any) -> None:
        """Count some points."""
        self.labels[Y.indices] = True
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
    label_names : list of str
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
        self, features: PointFeatures, label_names: list[str], points: pl.DataFrame, n_train: int, settings: LogSettings
    ) -> None:
        self._features, self._label_names, self._n_train = features, label_names, n_train
        # Test points have weights in any case: results are shown by context and by traffic.
        kinds = {TRAIN: settings.point_weights, TEST: settings.point_weights or TRAFFIC}
        self._weights = {
            part: point_weights(own, kinds[part]) for part, own in ((TRAIN, points[:n_train]), (TEST, points[n_train:]))
        }
        self._times = points["latest"].to_numpy() if "latest" in points.columns else None
        self._groups = _groups(points[:n_train], settings)
        self.n_points = {TRAIN: n_train, TEST: points.height - n_train}
        self.shapes = {
            part: Shape(n, features.n_features, np.zeros(len(label_names), dtype=np.bool_))
            for part, n in self.n_points.items()
        }

    def in_memory(self) -> tuple[Dataset, Dataset]:
        """Return train and test; there must be one block."""
        X, Y, texts = next(blocks := self._features.blocks())
        next(blocks, None)  # what is checked after the last block
        # First one Dataset, then its two parts, so that the names, which may be millions, are checked once.
        whole = Dataset(
            X,
            Y,
            label_names=self._label_names,
            feature_names=self._features.feature_names,
            texts=texts,
            encoder=self._features.encoder,
            times=self._times,
        )
        train, test = whole[: self._n_train], whole[self._n_train :]
        train._store(groups=self._groups)
        for part, dataset in ((TRAIN, train), (TEST, test)):
            dataset._store(sample_weight=check_sample_weight(self._weights[part], dataset.n_points))
            self.shapes[part].add(dataset.X, dataset.Y)
        return train, test

    def write(self, folder: Path, points_per_part: int, report: Callable[[float], object]) -> None:
        """Write train and test as two datasets in parts; there is no folder for a part without points."""
        with ExitStack() as stack:
            writers = {
                part: stack.enter_context(self._writer(folder / parts_name(part), points_per_part))
                for part, n in self.n_points.items()
                if n > 0
            }
            start, n_points = 0, sum(self.n_points.values())
            for block in self._features.blocks():
                middle = min(max(self._n_train - start, 0), block.X.shape[0])
                for part, rows in ((TRAIN, slice(0, middle)), (TEST, slice(middle, block.X.shape[0]))):
                    if rows.stop > rows.start:
                        places = slice(start + rows.start, start + rows.stop)
                        times = None if self._times is None else self._times[places]
                        weights, first = self._weights[part], 0 if part == TRAIN else self._n_train
                        if weights is not None:
                            weights = weights[places.start - first : places.stop - first]
                        X, Y = block.X[rows], block.Y[rows]
                        groups = self._groups[places] if part == TRAIN and self._groups is not None else None
                        writers[part].add(X, Y, weights, times=times, groups=groups)
                        self.shapes[part].add(X, Y)
                start += block.X.shape[0]
                report(start / n_points)

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
    """Return the number of each training point's context, if test points are of other contexts.

    None if no context has several points, or in a split by time, where a model is asked about known contexts.
    """
    if settings.test_since is not None or points["group"].n_unique() == points.height:
        return None
    return check_groups(points["group"].rank("dense").to_numpy(), points.height)
