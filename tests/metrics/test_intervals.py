"""Confidence intervals of metrics, against resampling the points."""

import numpy as np
import pytest

from labeltrees import metrics

SINGLE = {
    "precision": metrics.precision_at_k,
    "recall": metrics.recall_at_k,
    "f1": metrics.f1_at_k,
    "ndcg": metrics.ndcg_at_k,
    "coverage": metrics.coverage_at_k,
}


def random_answers(n_points=600, n_labels=30):
    rng = np.random.default_rng(0)
    Y = rng.random((n_points, n_labels)) < 0.2
    labels = np.argsort(-(Y * rng.random(Y.shape) + rng.random(Y.shape)), axis=1)[:, :5]
    return Y, labels, rng.pareto(3, n_points) + 0.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", sorted(SINGLE))
def test_values_equal_the_single_metrics(name, weighted):
    Y, labels, weights = random_answers()
    weights = weights if weighted else None
    estimate = metrics.estimate_at_k(Y, labels, 3, sample_weight=weights)[name]
    assert estimate.value == pytest.approx(SINGLE[name](Y, labels, 3, sample_weight=weights))
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["f1", "ndcg", "precision", "recall"])
def test_intervals_agree_with_resampling_the_points(name, weighted):
    Y, labels, weights = random_answers()
    weights = weights if weighted else np.ones(len(Y))
    estimate = metrics.estimate_at_k(Y, labels, 3, sample_weight=weights)[name]
    values = np.array([SINGLE[name](Y[[row]], labels[[row]], 3) for row in range(len(Y))])
    rng = np.random.default_rng(1)
    rows = rng.integers(0, len(Y), (2000, len(Y)))
    resampled = (values[rows] * weights[rows]).sum(axis=1) / weights[rows].sum(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert estimate.high - estimate.low == pytest.approx(high - low, rel=0.12)
    assert estimate.low == pytest.approx(low, abs=0.01)


def test_a_perfect_score_on_few_points_is_not_certain():
    estimate = metrics.estimate_at_k(np.eye(4), [[0], [1], [2], [3]], 1)["precision"]
    assert estimate.value == estimate.high == 1.0
    assert 0.3 < estimate.low < 0.7


def test_one_point_says_almost_nothing():
    estimate = metrics.estimate_at_k([[1, 1]], [[0]], 1)["recall"]
    assert estimate.value == 0.5
    assert estimate.high - estimate.low > 0.8


def test_more_confidence_means_a_wider_interval():
    Y, labels, _ = random_answers(100)
    wide, narrow = (metrics.estimate_at_k(Y, labels, 1, confidence=level)["precision"] for level in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high
