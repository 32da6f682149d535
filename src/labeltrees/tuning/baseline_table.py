"""Baselines, measured on the validation points of the models, and sentences that compare a model with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees.baselines.baseline import BaselinePoints, training_points
from labeltrees.baselines.table import BASELINES, make_baselines
from labeltrees.data.dataset import Dataset
from labeltrees.data.texts import no_features
from labeltrees.errors import InputError
from labeltrees.metrics.hits import Hits
from labeltrees.metrics.table import measure_hits, measure_lists, metric_title, values_of_points
from labeltrees.tuning.data import TuningData
from labeltrees.tuning.limits import TWO_SIDED, PairedDifference, paired_difference
from labeltrees.tuning.rules import NO_RULES, Rules

MAX_POINTS, MIN_POINTS = 5000, 1000
_MAX_COMPARISONS = 500_000_000  # of a validation point with a training point


class BaselineTable(NamedTuple):
    """The measurements of the baselines.

    `records` has the same metrics as the table of a sweep, and intervals. `rows` are the validation points that were
    measured, and `hits` the hits of each baseline on them. `notes` has remarks about some baselines.
    """

    records: list[dict[str, Any]]
    rows: Int64s
    hits: dict[str, Hits]
    notes: dict[str, str] | None = None

    def measure(self, hits: Hits, validation: TuningData, ks: tuple[int, ...]) -> dict[str, Any]:
        """Return the metrics of a model on the same points as the baselines, from its hits on all validation points."""
        own = Hits(hits.hit[self.rows], hits.labels_per_point[self.rows], hits.k)
        weights = validation.sample_weight
        return measure_hits(own, ks, None if weights is None else weights[self.rows])

    def compare(self, hits: Hits, metric: str, what: str, sample: str = "") -> str:
        """Return sentences about a model and the best baseline.

        Parameters
        ----------
        hits : Hits
            Those of the model on all validation points.
        metric : str
            "p1", "ndcg5", ...
        what : str
            The subject of the sentences, such as "The chosen model".
        sample : str
            A sentence for a model that was trained on fewer points than the baselines: then a loss says little.
        """
        found = self.best(hits, metric)
        value = f"{metric_title(metric)} {100 * found.value:.2f} %"
        if found.n_points < found.n_all:
            value += f" on {found.n_points:,} of the {found.n_all:,} validation points, where "
            value += f"{what[0].lower()}{what[1:]} has {100 * (found.value + found.difference.mean):.2f} %"
        first = f"The best baseline is {found.baseline} ({BASELINES[found.baseline].meaning}), with {value}."
        mean, lower, upper = found.difference
        interval = f"95 % confidence interval {_points(lower)} to {_points(upper)}"
        size = f"{abs(100 * mean):.2f} percentage points"
        if lower > 0:
            return f"{first} {what} is {size} above it ({interval})."
        if upper < 0:
            advice = sample or "Look at the features and the training data, or use the baseline."
            return f"{first} {what} does not beat it: it is {size} below it ({interval}). {advice}"
        direction = "above" if mean >= 0 else "below"
        within = f"it is {size} {direction} it, which is within the noise ({interval})."
        return f"{first} {what} does not clearly beat it: {within} {sample}".rstrip()

    def best(self, hits: Hits, metric: str) -> BestBaseline:
        """Return the best baseline by a metric, and how far a model with these hits is above it on the same points."""
        values = {name: values_of_points(own, metric) for name, own in self.hits.items()}
        best = max(values, key=lambda name: float(values[name].mean()))
        model = values_of_points(hits, metric)
        difference = paired_difference(model[self.rows], values[best], TWO_SIDED)
        return BestBaseline(best, float(values[best].mean()), difference, len(self.rows), len(model))


class BestBaseline(NamedTuple):
    """The best baseline, its metric, and how far a model is above it on the measured ones of all validation points."""

    baseline: str
    value: float
    difference: PairedDifference
    n_points: int
    n_all: int

    @property
    def words(self) -> str:
        """The name and the metric of the baseline."""
        part = "" if self.n_points == self.n_all else f" on {self.n_points:,} of these points"
        return f"{self.baseline} ({100 * self.value:.2f} %{part})"


def signed(difference: PairedDifference) -> str:
    """Return a difference and its 95 % confidence interval in percentage points.

    Examples
    --------
    >>> signed(PairedDifference(0.05, 0.01, 0.09))
    '+5.00 percentage points (95 % interval +1.00 to +9.00)'
    """
    mean, lower, upper = difference
    return f"{_points(mean)} percentage points (95 % interval {_points(lower)} to {_points(upper)})"


def measure_baselines(
    train: TuningData,
    validation: TuningData,
    ks: tuple[int, ...],
    random_state: int = 0,
    max_points: int | None = MAX_POINTS,
    rules: Rules = NO_RULES,
) -> BaselineTable:
    """Return the metrics of every baseline that the data allows, under the same rules as the models.

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
    notes: dict[str, str] = {}
    for baseline in make_baselines(_training_points(train)):
        queries = measured_on.points if baseline.n_features_in_ > 0 else no_features(measured_on.points)
        labels = rules.rank(baseline, queries, measured_on.points, max(ks))
        measured = measure_lists(measured_on.Y, labels, ks, sample_weight=measured_on.sample_weight)
        records.append({"baseline": baseline.name, **measured.values, "intervals": measured.intervals})
        hits[baseline.name] = measured.hits
        if baseline.note:
            notes[baseline.name] = baseline.note
    return BaselineTable(records, rows, hits, notes)


def _training_points(train: TuningData) -> BaselinePoints:
    try:
        points = training_points(_as_dataset(train))
    except InputError:
        if not train.is_text:
            raise
        # No text has a word, only signs, which the text model can read. So there are no features to compare.
        points = training_points(Dataset(no_features(train.points), train.Y, sample_weight=train.sample_weight))
    return points._replace(times=train.times)


def _as_dataset(train: TuningData) -> Dataset:
    if train.is_text:
        return Dataset(no_features(train.points), train.Y, sample_weight=train.sample_weight, texts=train.points)
    return Dataset(
        train.points,
        train.Y,
        label_names=train.label_names,
        sample_weight=train.sample_weight,
        encoder=train.encoder,
        groups=train.groups,
    )


def _points(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:+.2f}"
