"""The ratios that benchmarks/compare_builds.py prints, on times made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.compare_builds import ratios


def test_the_ratio_is_of_best_times_and_the_spread_of_thirds_of_the_turns() -> None:
    base = [10.0, 12.0, 11.0, 20.0, 10.0, 10.0]
    new = [11.0, 12.0, 12.0, 30.0, 11.0, 11.0]
    assert ratios(np.array([base, new])) == pytest.approx((1.1, 1.1, 1.1))
    new[0] = 9.0
    ratio, lowest, highest = ratios(np.array([base, new]))
    assert (ratio, lowest, highest) == pytest.approx((0.9, 0.9, 1.1))


def test_fewer_turns_than_groups_are_enough() -> None:
    assert ratios(np.array([[2.0], [3.0]])) == (1.5, 1.5, 1.5)
