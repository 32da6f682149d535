"""The paired bound, against SciPy's tests and simulation."""

import numpy as np
import pytest
from scipy import stats

from labeltrees.tuning.paired_bound import paired_difference


def test_a_known_case():
    # Differences 1, -1, 0, 0: mean 0, standard deviation sqrt(2/3), t(0.95, 3) = 2.3534.
    found = paired_difference(np.array([1.0, 0, 1, 0]), np.array([0.0, 1, 1, 0]))
    assert found.mean == 0
    assert found.upper == -found.lower == pytest.approx(2.3534 * np.sqrt(2 / 3) / 2, rel=1e-4)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_it_is_the_bound_of_the_one_sided_t_test(confidence):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 50))
    found = paired_difference(a, b, confidence)
    lower = stats.ttest_rel(a, b, alternative="greater").confidence_interval(confidence).low
    upper = stats.ttest_rel(a, b, alternative="less").confidence_interval(confidence).high
    assert found == pytest.approx((np.mean(a - b), lower, upper))


def test_it_is_wrong_as_seldom_as_it_says():
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(2000):
        hard = rng.random(400)  # points differ far more than models do
        a, b = hard < 0.79, (hard + 0.05 * rng.standard_normal(400)) < 0.8
        truth = 0.79 - 0.8  # to 0.0005
        wrong += paired_difference(a.astype(float), b.astype(float)).lower > truth + 0.001
    assert wrong / 2000 < 0.07


def test_equal_models_are_equal_for_certain():
    values = np.array([1.0, 0.0])
    assert paired_difference(values, values) == (0, 0, 0)


def test_one_point_says_nothing():
    found = paired_difference(np.array([1.0]), np.array([0.0]))
    assert (found.lower, found.upper) == (-np.inf, np.inf)
