"""Reliability of probabilities, against a plain loop over the definition."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from labeltrees.metrics.reliability import reliability


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(500) ** 2, 3)
    return p, rng.random(500) < p


def test_bins_and_error_follow_the_definition(sample):
    p, hits = sample
    found = reliability(p, hits)
    error = 0.0
    for row in found.bins:
        inside = [i for i in range(500) if row.low <= p[i] < row.high or (row.high == 1 and p[i] == 1)]
        assert row.n_labels == len(inside)
        assert row.probability == pytest.approx(np.mean(p[inside]))
        assert row.correct == pytest.approx(np.mean(hits[inside]))
        assert row.correct_low <= row.correct <= row.correct_high
        error += len(inside) / 500 * abs(row.probability - row.correct)
    assert sum(row.n_labels for row in found.bins) == 500
    assert found.error == pytest.approx(error)
    assert found.brier == pytest.approx(brier_score_loss(hits, p))


def test_certainty_belongs_to_the_last_bin_and_empty_bins_are_left_out():
    found = reliability(np.array([1.0, 1.0]), np.array([True, False]))
    assert [(row.low, row.high, row.n_labels, row.correct) for row in found.bins] == [(0.9, 1.0, 2, 0.5)]
    assert found.error == 0.5


def test_reliable_probabilities_have_a_small_error(sample):
    p, hits = sample
    assert reliability(p, hits).error < 0.1 < reliability(1 - p, hits).error
