"""Propensities and the metrics built on them, by hand and on bad input."""

import math

import numpy as np
import pytest

from labeltrees.errors import InputError
from labeltrees.metrics import (
    inverse_propensity,
    label_propensities,
    precision_at_k,
    propensities_of_counts,
    psndcg_at_k,
    psp_at_k,
)

Y_TRAIN = np.array([[1, 0, 0]] * 8 + [[0, 1, 1]])
Y_TRUE = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]])
RETURNED = np.array([[0, 2], [1, 2], [0, -1]])
C = (math.log(9) - 1) * 2.5**0.55
FREQUENT, RARE = 1 + C * 9.5**-0.55, 1 + C * 2.5**-0.55
D2 = 1 / math.log2(3)


def test_propensities_follow_the_formula():
    np.testing.assert_allclose(label_propensities(Y_TRAIN), [1 / FREQUENT, 1 / RARE, 1 / RARE])
    np.testing.assert_allclose(
        label_propensities(Y_TRAIN, A=0.6, B=2.6)[0], 1 / (1 + (math.log(9) - 1) * 3.6**0.6 * 10.6**-0.6)
    )


def test_counts_are_all_that_propensities_need():
    np.testing.assert_array_equal(propensities_of_counts([8, 1, 1], 9), label_propensities(Y_TRAIN))


@pytest.mark.parametrize(
    ("counts", "n_points", "message"),
    [
        ([1, -1], 3, r"counts must be one integer in \[0, 3\] per label"),
        ([1, 4], 3, "counts must be"),
        ([0.5, 1.0], 3, "counts must be"),
        ([[1, 2]], 3, "counts must be"),
        ([1, 2], 2, "n_points must be an integer of at least 3"),
    ],
)
def test_bad_counts_are_refused(counts, n_points, message):
    with pytest.raises(InputError, match=message):
        propensities_of_counts(counts, n_points)


def test_psp_by_hand():
    # At 2: hits 0 and 2 of at best 0, 1 and 2. At 1: hit 0 of at best 1 and 2.
    assert psp_at_k(Y_TRUE, RETURNED, 2, Y_train=Y_TRAIN) == pytest.approx((FREQUENT + RARE) / (FREQUENT + 2 * RARE))
    assert psp_at_k(Y_TRUE, RETURNED, 1, Y_train=Y_TRAIN) == pytest.approx(FREQUENT / (2 * RARE))


def test_psndcg_by_hand():
    reached = FREQUENT / (1 + D2) + RARE * D2
    best = (RARE + FREQUENT * D2) / (1 + D2) + RARE
    assert psndcg_at_k(Y_TRUE, RETURNED, 2, Y_train=Y_TRAIN) == pytest.approx(reached / best)


def test_propensities_may_be_given():
    given = label_propensities(Y_TRAIN)
    for metric in (psp_at_k, psndcg_at_k):
        assert metric(Y_TRUE, RETURNED, 2, propensities=given) == metric(Y_TRUE, RETURNED, 2, Y_train=Y_TRAIN)


def test_equal_propensities_give_precision_over_the_best_precision():
    best = precision_at_k(Y_TRUE, [[0, 1], [2, -1], [-1, -1]], 2)
    result = psp_at_k(Y_TRUE, RETURNED, 2, propensities=[0.5, 0.5, 0.5])
    assert result == pytest.approx(precision_at_k(Y_TRUE, RETURNED, 2) / best)


def test_no_true_labels_at_all_score_zero():
    assert psp_at_k(np.zeros((1, 3)), [[0]], 1, Y_train=Y_TRAIN) == 0.0
    assert psndcg_at_k(np.zeros((1, 3)), [[0]], 1, Y_train=Y_TRAIN) == 0.0


@pytest.mark.parametrize("metric", [psp_at_k, psndcg_at_k])
@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({}, "either Y_train or propensities, got neither"),
        ({"Y_train": Y_TRAIN, "propensities": [1, 1, 1]}, "either Y_train or propensities, got both"),
        ({"propensities": [1, 1]}, "propensities must have the 3 labels of Y_true, got 2"),
        ({"propensities": [1, 0, 1]}, r"propensities must be a list of numbers in \(0, 1\]"),
        ({"propensities": ["a", "b", "c"]}, "propensities must be"),
        ({"Y_train": Y_TRAIN[:, :2]}, "Y_train must have the 3 labels of Y_true, got 2"),
        ({"Y_train": Y_TRAIN[:2]}, "Y_train must have at least 3 points"),
        ({"Y_train": Y_TRAIN, "A": -1}, "A must be"),
        ({"Y_train": Y_TRAIN * [[1, 1, 0]], "B": 0}, "B must be positive"),
    ],
)
def test_bad_input_is_refused_by_name(metric, extra, message):
    with pytest.raises(InputError, match=message):
        metric(Y_TRUE, RETURNED, 2, **extra)


def test_the_inverse_propensity_is_the_gain_of_a_hit():
    np.testing.assert_allclose(inverse_propensity(Y_TRAIN), [FREQUENT, RARE, RARE])
    np.testing.assert_allclose(inverse_propensity(Y_TRAIN, A=0.6, B=2.6), 1 / label_propensities(Y_TRAIN, 0.6, 2.6))
