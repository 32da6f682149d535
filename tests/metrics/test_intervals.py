"""Confidence intervals of metrics, against resampling the points."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import precision_recall_fscore_support

from labeltrees import metrics
from labeltrees.metrics.intervals import estimate_sets

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


def test_one_point_gives_a_wide_interval():
    estimate = metrics.estimate_at_k([[1, 1]], [[0]], 1)["recall"]
    assert estimate.value == 0.5
    assert estimate.high - estimate.low > 0.8


def test_more_confidence_means_a_wider_interval():
    Y, labels, _ = random_answers(100)
    wide, narrow = (metrics.estimate_at_k(Y, labels, 1, confidence=level)["precision"] for level in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    true = rng.random((400, 12)) < 0.2
    return true, (true & (rng.random(true.shape) < 0.7)) | (rng.random(true.shape) < 0.05)


def test_values_are_those_of_scikit_learn(sample):
    true, predicted = sample
    found = estimate_sets(sp.csr_array(true), sp.csr_array(predicted))
    expected = precision_recall_fscore_support(true, predicted, average="micro")[:3]
    assert [found[name].value for name in ("precision", "recall", "f1")] == pytest.approx(list(expected))
    assert found["labels_per_point"].value == pytest.approx(predicted.sum() / 400)


def test_intervals_are_those_of_the_bootstrap(sample):
    true, predicted = sample
    found = estimate_sets(sp.csr_array(true), sp.csr_array(predicted))
    rng = np.random.default_rng(1)
    drawn = [rng.integers(0, 400, 400) for _ in range(800)]
    values = [precision_recall_fscore_support(true[rows], predicted[rows], average="micro")[:3] for rows in drawn]
    for name, low, high in zip(("precision", "recall", "f1"), *np.percentile(values, [2.5, 97.5], axis=0), strict=True):
        assert found[name].low == pytest.approx(low, abs=0.01)
        assert found[name].high == pytest.approx(high, abs=0.01)


def test_without_predictions_there_is_no_precision():
    found = estimate_sets(sp.csr_array([[1, 0]]), sp.csr_array((1, 2)))
    assert math.isnan(found["precision"].value)
    assert (found["recall"].value, found["f1"].value, found["labels_per_point"].value) == (0, 0, 0)
