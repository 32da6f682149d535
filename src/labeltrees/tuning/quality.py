"""Metrics and search work of a model: the part of a record that does not depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s
from labeltrees._validation import refuse
from labeltrees.metrics import expected_depth_at_k, ndcg_at_k, precision_at_k, psp_at_k
from labeltrees.metrics._hits import discounts, find_hits
from labeltrees.metrics.propensity import MIN_POINTS, label_propensities
from labeltrees.metrics.ranking import ideal_gain
from labeltrees.tuning.tuning_data import TuningData


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
    if kind not in ("p", "ndcg", "psp", "depth") or not digits or int(digits) < 1:
        refuse("metric", "p, ndcg, psp or depth followed by a number, such as 'p1'", metric)
    return kind, int(digits)


def propensities_or_none(train: TuningData) -> Float64s | None:
    """Return the propensities of the labels, or None if there are too few points to estimate them."""
    return label_propensities(train.Y) if train.n_points >= MIN_POINTS else None


def measure_quality(
    model: Any, validation: TuningData, ks: tuple[int, ...], propensities: Float64s | None, n_jobs: int | None = None
) -> tuple[dict[str, float], Hits]:
    """Return P, nDCG, PSP and expected depth at each k, the mean work of a search for the largest k, and the hits.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> data = TuningData(np.eye(3, dtype=np.float32), lt.Dataset(np.eye(3), np.eye(3)).Y)
    >>> record, _ = measure_quality(lt.LabelTreeClassifier().fit(data.points, data.Y), data, (1,), None)
    >>> record["p1"], record["depth1"], record["chunks"]
    (1.0, 1.0, 1.0)
    """
    labels, _, stats = model.predict_topk(validation.points, max(ks), n_jobs=n_jobs, return_stats=True)
    Y = validation.Y
    record: dict[str, float] = {}
    for k in ks:
        record[f"p{k}"] = precision_at_k(Y, labels, k)
    for k in ks:
        record[f"ndcg{k}"] = ndcg_at_k(Y, labels, k)
    for k in ks:
        record[f"psp{k}"] = float("nan") if propensities is None else psp_at_k(Y, labels, k, propensities=propensities)
    for k in ks:
        record[f"depth{k}"] = float(np.mean([expected_depth_at_k(tree, labels, k) for tree in model.trees_]))
    for name in ("chunks", "classifiers"):
        record[name] = float(np.mean(getattr(stats, name, np.nan)))
    found = find_hits(Y, labels, max(ks))
    return record, Hits(found.hit, found.true.labels_per_point())
