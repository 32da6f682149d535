"""The table of metrics: one entry per metric serves the library, the command line, sweeps, choices and reports.

To add a metric, write its function and its entry. For example, the hit rate needs `hit_rate_of_points` and
`hit_rate_at_k` in `ranking.py`, and one line in METRICS. Then ``estimate_at_k`` and ``labeltrees evaluate`` show it
with an interval, sweeps and reports have the columns ``hit1`` and ``hit5``, and ``choose(metric="hit5")`` compares
models by it. Add its name to ``metrics/__init__.py`` to make it public. A metric without `of_points` and `of_labels`
has no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees._validation import refuse
from labeltrees.metrics.hits import ComparedLists, Hits, check_weights, compare_lists
from labeltrees.metrics.intervals import Estimate, mean_with_interval, quantile_of, share_with_interval
from labeltrees.metrics.propensity import psndcg_at_k, psp_at_k
from labeltrees.metrics.ranking import (
    coverage_at_k,
    expected_depth_at_k,
    f1_at_k,
    f1_of_points,
    found_labels,
    hit_rate_at_k,
    hit_rate_of_points,
    macro_f1_at_k,
    ndcg_at_k,
    ndcg_of_points,
    precision_at_k,
    precision_of_points,
    recall_at_k,
    recall_of_points,
)
from labeltrees.metrics.variety import catalogue_at_k, diversity_at_k, novelty_at_k, shown_labels

_WEIGHTED = "weighted_"  # prefix of columns that use the weights of the points


@dataclass(frozen=True)
class Metric:
    """A metric of lists of labels at k.

    Parameters
    ----------
    column : str
        Name of its columns in the table of a sweep, before k: "p" for "p5". It must not end with a digit.
    name : str
        Its key in `estimate_at_k` and in the JSON of ``labeltrees evaluate``.
    title : str
        The heading of a column, before "@5".
    words : str
        Its name in a sentence.
    function : callable
        Takes the true labels (or, if it needs trees, a tree), the returned labels and k.
    of_points : callable, optional
        Returns the value of each point, if the metric is their mean.
    of_labels : callable, optional
        Returns a count of labels and their total, if the metric is their ratio.
    higher_is_better : bool
    is_share : bool
        Whether it is in [0, 1], and shown in percent.
    needs : str
        "propensities", "label_counts" or "trees" if the true and the returned labels are not enough.
    measured : bool
        Whether sweeps and evaluations measure it. If not, it is only a function of the library.
    """

    column: str
    name: str
    title: str
    words: str
    function: Callable[..., float]
    of_points: Callable[[Hits], Float64s] | None = None
    of_labels: Callable[[ComparedLists, Any], tuple[int, int]] | None = None
    higher_is_better: bool = True
    is_share: bool = True
    needs: str = ""
    measured: bool = True

    @property
    def has_interval(self) -> bool:
        """Whether `estimate` can compute an interval."""
        return self.of_points is not None or self.of_labels is not None

    def estimate(self, lists: ComparedLists, weights: Float64s | None, z: float) -> Estimate:
        """Return the value with an interval of `z` standard errors on each side."""
        if self.of_points is not None:
            return mean_with_interval(self.of_points(lists.hits), weights, z)
        assert self.of_labels is not None
        return share_with_interval(*self.of_labels(lists, weights), z)


METRICS = [
    Metric("p", "precision", "P", "precision", precision_at_k, of_points=precision_of_points),
    Metric("recall", "recall", "recall", "recall", recall_at_k, of_points=recall_of_points),
    Metric("hit", "hit_rate", "hit rate", "hit rate", hit_rate_at_k, of_points=hit_rate_of_points),
    Metric("fscore", "f1", "F1", "F1", f1_at_k, of_points=f1_of_points),
    Metric("ndcg", "ndcg", "nDCG", "nDCG", ndcg_at_k, of_points=ndcg_of_points),
    Metric("coverage", "coverage", "coverage", "coverage", coverage_at_k, of_labels=found_labels),
    Metric("catalogue", "catalogue", "catalogue", "catalogue coverage", catalogue_at_k, of_labels=shown_labels),
    Metric("psp", "psp", "PSP", "propensity-scored precision", psp_at_k, needs="propensities"),
    Metric(
        "depth",
        "expected_depth",
        "expected depth",
        "expected depth",
        expected_depth_at_k,
        higher_is_better=False,
        is_share=False,
        needs="trees",
    ),
    Metric("novelty", "novelty", "novelty in bits", "novelty", novelty_at_k, is_share=False, needs="label_counts"),
    Metric("diversity", "diversity", "diversity", "diversity", diversity_at_k, is_share=False, needs="trees"),
    Metric("psndcg", "psndcg", "PSnDCG", "propensity-scored nDCG", psndcg_at_k, needs="propensities", measured=False),
    Metric("macro_fscore", "macro_f1", "macro F1", "macro-averaged F1", macro_f1_at_k, measured=False),
]


class NamedMetric(NamedTuple):
    """The metric and k of a column; `is_weighted` if it uses the weights of the points."""

    metric: Metric
    k: int
    is_weighted: bool

    @property
    def title(self) -> str:
        """The heading of the column."""
        return f"{'weighted ' if self.is_weighted else ''}{self.metric.title}@{self.k}"


def find_metric(column: Any) -> NamedMetric | None:
    """Return the metric of a column such as "ndcg5" or "weighted_p1"; None if it is not one.

    Examples
    --------
    >>> find_metric("weighted_p1").title, find_metric("ndcg5").k, find_metric("model_bytes")
    ('weighted P@1', 5, None)
    """
    kind = column.rstrip("0123456789") if isinstance(column, str) else ""
    digits = column[len(kind) :] if kind else ""
    is_weighted = kind.startswith(_WEIGHTED)
    for metric in METRICS:
        if metric.column == kind.removeprefix(_WEIGHTED) and digits and int(digits) > 0:
            is_known = metric.of_points is not None or not is_weighted
            return NamedMetric(metric, int(digits), is_weighted) if is_known else None
    return None


def check_metric(column: Any, max_k: int) -> NamedMetric:
    """Return a metric to compare models by: an unweighted mean over points, with k of at most `max_k`."""
    found = find_metric(column)
    if found is None or found.is_weighted or found.metric.of_points is None or found.k > max_k:
        names = [metric.column for metric in METRICS if metric.of_points is not None]
        allowed = f"{', '.join(names[:-1])} or {names[-1]} followed by a number of at most k = {max_k}, such as 'p1'"
        refuse("metric", allowed, column)
    return found


def values_of_points(hits: Hits, column: str) -> Float64s:
    """Return a metric such as "p3" or "ndcg5" for each point (n,); its mean is the metric."""
    found = check_metric(column, hits.k)
    assert found.metric.of_points is not None
    return found.metric.of_points(hits.first(found.k))


def measure_hits(hits: Hits, ks: Sequence[int], sample_weight: Any = None) -> dict[str, Any]:
    """Return all metrics that are means over points by column, and their bounds under the key "intervals"."""
    z = quantile_of(0.95)
    known: list[tuple[Metric, str, Float64s | None]]
    known = [(metric, "", None) for metric in METRICS if metric.measured and metric.of_points is not None]
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(hits.hit))
        known += [(metric, _WEIGHTED, weights) for metric, _, _ in known]
    found: dict[str, Estimate] = {}
    for metric, prefix, own in known:
        assert metric.of_points is not None
        for k in ks:
            found[f"{prefix}{metric.column}{k}"] = mean_with_interval(metric.of_points(hits.first(k)), own, z)
    values = {column: estimate.value for column, estimate in found.items()}
    return {**values, "intervals": {column: [estimate.low, estimate.high] for column, estimate in found.items()}}


def metric_title(column: str) -> str:
    """Return the name of a metric in a sentence or as a heading; other columns are returned unchanged.

    Examples
    --------
    >>> metric_title("ndcg5"), metric_title("weighted_p1")
    ('nDCG@5', 'weighted P@1')
    """
    found = find_metric(column)
    return column if found is None else found.title


def estimate_at_k(
    Y_true: Any, labels: Any, k: int, *, sample_weight: Any = None, confidence: float = 0.95
) -> dict[str, Estimate]:
    """Return precision, recall, hit rate, F1, nDCG and two kinds of coverage at k, each with a confidence interval.

    The intervals are Wilson intervals, which stay within 0 and 1. The sample is the points: the interval says how much
    the value may change with other points of the same kind. For the two kinds of coverage, the sample is the labels.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least k)
    k : int
    sample_weight : array of shape (n,), optional
        Weights of the points.
    confidence : float in (0, 1)
        Confidence level of the intervals.

    Returns
    -------
    dict of Estimate
        With the keys "precision", "recall", "hit_rate", "f1", "ndcg", "coverage" and "catalogue".

    Examples
    --------
    >>> measured = estimate_at_k([[1, 1, 0], [0, 0, 1]], [[0, 2], [2, -1]], k=1)
    >>> measured["recall"].value, round(measured["precision"].low, 2)
    (0.75, 0.34)
    """
    z = quantile_of(confidence)
    lists = compare_lists(Y_true, labels, k)
    weights = check_weights(sample_weight, lists.true.n_points)
    return {metric.name: metric.estimate(lists, weights, z) for metric in METRICS if metric.has_interval}


class Measured(NamedTuple):
    """The values of all metrics by column, the bounds of their 95 % intervals, and the hits at the largest k."""

    values: dict[str, float]
    intervals: dict[str, list[float]]
    hits: Hits

    def by_name(self, ks: Sequence[int], *, weighted: bool = False) -> dict[str, Any]:
        """Return ``{name: {k: value}}`` of the measured metrics, with their intervals under "intervals"."""
        prefix = _WEIGHTED if weighted else ""
        columns = {m.name: {k: f"{prefix}{m.column}{k}" for k in ks} for m in METRICS if m.measured}
        known = {name: own for name, own in columns.items() if own[ks[0]] in self.values}
        values = {name: {k: self.values[column] for k, column in own.items()} for name, own in known.items()}
        intervals = {
            name: {k: self.intervals[column] for k, column in own.items()}
            for name, own in known.items()
            if own[ks[0]] in self.intervals
        }
        return {**values, "intervals": intervals}


def measure_lists(
    Y_true: Any, labels: Any, ks: Sequence[int], *, sample_weight: Any = None, given: Mapping[str, Any] | None = None
) -> Measured:
    """Return every metric of the table at each k.

    Parameters
    ----------
    Y_true : sparse or dense matrix of shape (n, L)
    labels : array of int (n, at least max(ks))
    ks : ints
    sample_weight : array of shape (n,), optional
        If given, the metrics that are means over points are also measured with it (``weighted_p1``, ...).
    given : dict, optional
        Further inputs of metrics: "propensities" (L,), None if unknown, which gives NaN; "label_counts" (L,), the
        number of training points of each label; "trees", a list, over which the mean is taken. Metrics whose input is
        missing are left out.
    """
    given, z = given or {}, quantile_of(0.95)
    lists = {k: compare_lists(Y_true, labels, k) for k in ks}
    plain = [metric for metric in METRICS if metric.measured and not metric.needs]
    estimates = {f"{metric.column}{k}": metric.estimate(lists[k], None, z) for metric in plain for k in ks}
    if sample_weight is not None:
        weights = check_weights(sample_weight, lists[ks[0]].true.n_points)
        means = [metric for metric in plain if metric.of_points is not None]  # coverage counts labels, not points
        estimates |= {f"{_WEIGHTED}{m.column}{k}": m.estimate(lists[k], weights, z) for m in means for k in ks}
    values = {column: estimate.value for column, estimate in estimates.items()}
    for metric in METRICS:
        if metric.measured and metric.needs in given:
            values |= {f"{metric.column}{k}": _value(metric, Y_true, labels, k, given[metric.needs]) for k in ks}
    return Measured(values, {name: [own.low, own.high] for name, own in estimates.items()}, lists[max(ks)].hits)


def _value(metric: Metric, Y_true: Any, labels: Any, k: int, needed: Any) -> float:
    if needed is None:
        return float("nan")
    if metric.needs == "trees":
        return float(np.mean([metric.function(tree, labels, k) for tree in needed]))
    return metric.function(Y_true, labels, k, **{metric.needs: needed})
