"""The baselines, measured on the same validation points as the models."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees.baselines.baseline import Baseline
from labeltrees.baselines.feature_labels import CoOccurrence
from labeltrees.baselines.label_shares import Popularity, recent_popularity_of
from labeltrees.baselines.nearest_points import Neighbours
from labeltrees.baselines.training_points import training_points
from labeltrees.data.dataset import Dataset
from labeltrees.data.text_dataset import no_features
from labeltrees.errors import InputError
from labeltrees.metrics._hits import find_hits
from labeltrees.tuning.quality import Hits, measure_labels
from labeltrees.tuning.tuning_data import TuningData

MAX_POINTS, MIN_POINTS = 5000, 1000
_MAX_COMPARISONS = 500_000_000  # of a validation point with a training point
_LABELS_PER_FEATURE, _N_NEIGHBOURS = 100, 50

MEANINGS = {
    "popularity": "the most frequent labels, the same for every point",
    "recent popularity": "the most frequent labels of the most recent training points",
    "co-occurrence": "labels that occur with the features of the point",
    "neighbours": "labels of the 50 most similar training points",
}


class BaselineTable(NamedTuple):
    """What the baselines reach.

    `records` has the same metrics as the table of a sweep, and intervals. `rows` are the validation points that were
    measured, and `hits` the hits of each baseline on them.
    """

    records: list[dict[str, Any]]
    rows: Int64s
    hits: dict[str, Hits]


def measure_baselines(
    train: TuningData,
    validation: TuningData,
    ks: tuple[int, ...],
    random_state: int = 0,
    max_points: int | None = MAX_POINTS,
) -> BaselineTable:
    """Return the metrics of every baseline that the data allows.

    Neighbours compare every validation point with every training point. To bound the time, at most `max_points`
    validation points are measured, fewer (but at least 1,000) if there are more than 100,000 training points; None
    measures all.
    """
    rows = np.arange(validation.n_points)
    if max_points is not None:
        affordable = max(MIN_POINTS, _MAX_COMPARISONS // max(train.n_points, 1))
        n_measured = min(max_points, affordable, validation.n_points)
        rows = np.sort(np.random.default_rng(random_state).permutation(validation.n_points)[:n_measured])
    measured_on = validation if len(rows) == validation.n_points else validation.take(rows)
    records, hits = [], {}
    for baseline in _make(train):
        queries = measured_on.points if baseline.n_features_in_ > 0 else no_features(measured_on.points)
        labels, _ = baseline.rank(queries, max(ks))
        metrics, intervals = measure_labels(measured_on.Y, labels, ks, measured_on.sample_weight)
        records.append({"baseline": baseline.name, **metrics, "intervals": intervals})
        found = find_hits(measured_on.Y, labels, max(ks))
        hits[baseline.name] = Hits(found.padded(), found.true.labels_per_point())
    return BaselineTable(records, rows, hits)


def _make(train: TuningData) -> list[Baseline]:
    try:
        points = training_points(_as_dataset(train))
    except InputError:
        if not train.is_text:
            raise
        # Texts without any word, such as signs that only the text model reads: they have no features to compare.
        points = training_points(Dataset(no_features(train.points), train.Y, sample_weight=train.sample_weight))
    baselines: list[Baseline] = [Popularity(points, points.weights, "popularity")]
    if train.times is not None:
        baselines.append(recent_popularity_of(points, train.times))
    if points.X.shape[1] > 0:
        baselines += [CoOccurrence(points, _LABELS_PER_FEATURE), Neighbours(points, _N_NEIGHBOURS)]
    return baselines


def _as_dataset(train: TuningData) -> Dataset:
    if train.is_text:
        return Dataset(no_features(train.points), train.Y, sample_weight=train.sample_weight, texts=train.points)
    return Dataset(train.points, train.Y, sample_weight=train.sample_weight)
