"""Point weights in every metric: a point of weight w counts like w equal points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import LabelTree, metrics
from labeltrees.errors import InputError

N_LABELS = 9
Y_TRAIN = np.vstack([np.eye(N_LABELS), np.eye(N_LABELS)[:4], np.eye(N_LABELS)[:2]])
TREE = LabelTree([0, 4, 7, 10], [~0, ~1, 1, 2, ~2, ~3, ~4, ~5, ~6, ~7], n_labels=N_LABELS)


def depth(Y, labels, k, sample_weight=None):
    return metrics.expected_depth_at_k(
        TREE, np.where(labels == N_LABELS - 1, -1, labels), k, sample_weight=sample_weight
    )


def group_values(Y, labels, k, sample_weight=None):
    groups = metrics.by_frequency(
        Y, labels, k, Y_train=Y_TRAIN, tail_below=2, head_from=3, confidence=0.9, sample_weight=sample_weight
    )
    return [share for group in groups for share in (group.precision.value, group.recall.value)]


def psp(*arguments, **weights):
    return metrics.psp_at_k(*arguments, Y_train=Y_TRAIN, **weights)


def psndcg(*arguments, **weights):
    return metrics.psndcg_at_k(*arguments, Y_train=Y_TRAIN, **weights)


METRICS = [
    metrics.precision_at_k,
    metrics.recall_at_k,
    metrics.f1_at_k,
    metrics.ndcg_at_k,
    metrics.coverage_at_k,
    metrics.macro_f1_at_k,
    psp,
    psndcg,
    depth,
    group_values,
]


@st.composite
def cases(draw):
    n_points, k = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y = rng.random((n_points, N_LABELS)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    returned = np.full((n_points, k), -1)
    for row in returned:
        size = rng.integers(1, k + 1)
        row[:size] = rng.permutation(N_LABELS - 1)[:size]
    weights = rng.integers(0, 4, n_points)
    weights[rng.integers(n_points)] = 1
    return Y, returned, k, weights


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=20)
@given(case=cases())
def test_an_integer_weight_equals_repeated_points(metric, case):
    Y, returned, k, weights = case
    repeated = np.repeat(np.arange(len(Y)), weights)
    expected = metric(Y[repeated], returned[repeated], k)
    assert metric(Y, returned, k, sample_weight=weights) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=20)
@given(case=cases(), scale=st.sampled_from([1e-250, 0.3, 1e250]))
def test_the_scale_of_the_weights_does_not_matter(metric, case, scale):
    Y, returned, k, weights = case
    expected = metric(Y, returned, k, sample_weight=weights)
    assert metric(Y, returned, k, sample_weight=scale * weights) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=20)
@given(case=cases())
def test_equal_weights_change_nothing(metric, case):
    Y, returned, k, _ = case
    expected = metric(Y, returned, k)
    assert metric(Y, returned, k, sample_weight=np.full(len(Y), 2.5)) == pytest.approx(expected, nan_ok=True)


@settings(max_examples=20)
@given(case=cases())
def test_means_over_points_equal_numpys_weighted_average(case):
    Y, returned, k, weights = case
    hits = np.array([[label >= 0 and row[label] for label in labels] for row, labels in zip(Y, returned, strict=True)])
    n_true = np.maximum(Y.sum(axis=1), 1)
    discount = 1 / np.log2(np.arange(k) + 2)
    ideal = np.array([discount[: min(k, n)].sum() for n in n_true])
    for metric, of_points in (
        (metrics.precision_at_k, hits.sum(axis=1) / k),
        (metrics.recall_at_k, hits.sum(axis=1) / n_true),
        (metrics.f1_at_k, 2 * hits.sum(axis=1) / (k + Y.sum(axis=1))),
        (metrics.ndcg_at_k, hits @ discount / ideal),
    ):
        expected = np.average(of_points, weights=weights)
        assert metric(Y, returned, k, sample_weight=weights) == pytest.approx(expected)


def test_counts_of_groups_are_sums_of_weights():
    _, _, tail = metrics.by_frequency([[1, 0], [1, 1]], [[0], [1]], 1, Y_train=np.eye(2), sample_weight=[0.5, 2.0])
    assert (tail.precision.count, tail.precision.total, tail.recall.total) == (2.5, 2.5, 4.5)


def test_unequal_weights_widen_the_intervals():
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 1)) < 0.4).astype(int)
    returned = np.zeros((400, 1), dtype=int)
    shares = [
        metrics.by_frequency(Y, returned, 1, Y_train=[[1]], sample_weight=weights)[2].precision
        for weights in (np.ones(400), np.repeat([0.01, 1.0], 200))
    ]
    assert shares[1].high - shares[1].low > 1.2 * (shares[0].high - shares[0].low)


@pytest.mark.parametrize("metric", [*METRICS, metrics.estimate_at_k])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, float("nan")], r"sample_weight\[1\] must be a finite number of at least 0, got nan"),
        ([1, -1], r"sample_weight\[1\] must be a finite number of at least 0, got -1"),
        ([1, float("inf")], r"sample_weight\[1\] must be a finite number"),
        ([1, 1, 1], r"sample_weight must be of shape \(2,\)"),
        ([[1, 1]], r"sample_weight must be of shape \(2,\)"),
        ([0, 0], "sample_weight is zero for every point"),
        (["a", "b"], "sample_weight must be an array of numbers"),
    ],
)
def test_bad_weights_are_refused(metric, weights, message):
    Y = np.zeros((2, N_LABELS))
    Y[:, 0] = 1
    with pytest.raises(InputError, match=message):
        metric(Y, np.array([[0], [1]]), 1, sample_weight=weights)


def test_depth_needs_an_answered_point_of_positive_weight():
    with pytest.raises(InputError, match="for a point of positive weight"):
        metrics.expected_depth_at_k(TREE, [[0], [-1]], 1, sample_weight=[0, 1])
