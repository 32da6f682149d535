"""Metrics and search work of a model: the part of a record that does not depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s
from labeltrees._validation import refuse
from labeltrees.metrics import estimate_at_k, expected_depth_at_k, psp_at_k
from labeltrees.metrics._hits import discounts, find_hits
from labeltrees.metrics.propensity import MIN_POINTS, label_propensities
from labeltrees.metrics.ranking import ideal_gain
from labeltrees.tuning.tuning_data import TuningData

# Columns of a record by the metric's name in `estimate_at_k`. A name must not end with a digit: k follows it.
COLUMNS = {"p": "precision", "recall": "recall", "fscore": "f1", "ndcg": "ndcg", "coverage": "coverage"}
WEIGHTED = ("p", "recall", "ndcg")  # also measured with the weights of the points, if they have any
_KINDS = (*COLUMNS, *(f"weighted_{name}" for name in WEIGHTED), "psp", "depth")
_TITLES = {"p": "P", "ndcg": "nDCG", "psp": "PSP", "fscore": "F1"}

Intervals = dict[str, list[float]]


@dataclass(frozen=True)
class Hits:
    """Which returned labels are true, for the paired comparison of models.

    Parameters
    ----------
    hit : bool (n, k)
    labels_per_point : int64 (n,)
    """

    hit: NDArray[np.bool_]
    labels_per_point: Int64s

    def per_point(self, metric: str) -> Float64s:
        """Return a metric ("p3", "ndcg5", ...) for each point (n,); its mean is the metric."""
        kind, k = split_metric(metric)
        if kind not in ("p", "ndcg") or k > self.hit.shape[1]:
            refuse("metric", f"p or ndcg followed by a number of at most {self.hit.shape[1]}, such as 'p1'", metric)
        if kind == "p":
            return np.asarray(self.hit[:, :k].mean(axis=1))
        return np.asarray(self.hit[:, :k] @ discounts(k) / ideal_gain(self.labels_per_point, k))


def split_metric(metric: str) -> tuple[str, int]:
    """Return the name and the k of a metric.

    Examples
    --------
    >>> split_metric("ndcg5")
    ('ndcg', 5)
    """
    kind = metric.rstrip("0123456789") if isinstance(metric, str) else ""
    digits = metric[len(kind) :] if kind else ""
    if kind not in _KINDS or not digits or int(digits) < 1:
        refuse("metric", f"one of {', '.join(_KINDS)}, followed by a number, such as 'p1'", metric)
    return kind, int(digits)


def metric_title(metric: str) -> str:
    """Return the name of a metric in a sentence or as a heading.

    Examples
    --------
    >>> metric_title("ndcg5"), metric_title("weighted_p1")
    ('nDCG@5', 'weighted P@1')
    """
    kind, k = split_metric(metric)
    name = kind.removeprefix("weighted_")
    return ("weighted " if name != kind else "") + f"{_TITLES.get(name, name)}@{k}"


def measure_labels(
    Y: Any, labels: Any, ks: tuple[int, ...], sample_weight: Any = None
) -> tuple[dict[str, float], Intervals]:
    """Return precision, recall, F1, nDCG and coverage at each k, and their 95 % intervals.

    With weights, precision, recall and nDCG are also measured with them (``weighted_p1``, ...).
    """
    measured = {k: estimate_at_k(Y, labels, k) for k in ks}
    estimates = {f"{name}{k}": measured[k][metric] for name, metric in COLUMNS.items() for k in ks}
    if sample_weight is not None:
        weighted = {k: estimate_at_k(Y, labels, k, sample_weight=sample_weight) for k in ks}
        estimates |= {f"weighted_{name}{k}": weighted[k][COLUMNS[name]] for name in WEIGHTED for k in ks}
    record = {name: estimate.value for name, estimate in estimates.items()}
    return record, {name: [estimate.low, estimate.high] for name, estimate in estimates.items()}


def propensities_or_none(train: TuningData) -> Float64s | None:
    """Return the propensities of the labels, or None if there are too few points to estimate them."""
    return label_propensities(train.Y) if train.n_points >= MIN_POINTS else None


def measure_quality(
    model: Any, validation: TuningData, ks: tuple[int, ...], propensities: Float64s | None, n_jobs: int | None = None
) -> tuple[dict[str, float], Intervals, Hits]:
    """Return the record of a model, the 95 % intervals of its metrics, and its hits.

    The record has the metrics and the expected depth at each k, and the mean work of a search for the largest k.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> data = TuningData(np.eye(3, dtype=np.float32), lt.Dataset(np.eye(3), np.eye(3)).Y)
    >>> record, _, _ = measure_quality(lt.LabelTreeClassifier().fit(data.points, data.Y), data, (1,), None)
    >>> record["p1"], record["depth1"], record["chunks"]
    (1.0, 1.0, 1.0)
    """
    labels, _, stats = model.predict_topk(validation.points, max(ks), n_jobs=n_jobs, return_stats=True)
    Y = validation.Y
    record, intervals = measure_labels(Y, labels, ks, validation.sample_weight)
    for k in ks:
        record[f"psp{k}"] = float("nan") if propensities is None else psp_at_k(Y, labels, k, propensities=propensities)
    for k in ks:
        record[f"depth{k}"] = float(np.mean([expected_depth_at_k(tree, labels, k) for tree in model.trees_]))
    for name in ("chunks", "classifiers"):
        record[name] = float(np.mean(getattr(stats, name, np.nan)))
    found = find_hits(Y, labels, max(ks))
    return record, intervals, Hits(found.padded(), found.true.labels_per_point())
