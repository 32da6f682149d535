"""Quality of sets of labels, against scikit-learn and the bootstrap."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import precision_recall_fscore_support

from labeltrees.metrics.thresholded import estimate_sets


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
