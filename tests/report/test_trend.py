"""Trends: weighted least squares by NumPy is the witness."""

import numpy as np
import pytest

from labeltrees.report.trend import smooth, trends


def test_it_is_the_weighted_line_around_each_place():
    rng = np.random.default_rng(0)
    positions, values = np.sort(rng.random(9)) * 2, rng.random(9)
    at = np.array([0.1, 0.9, 2.0])
    width = 0.2 * np.ptp(positions)
    expected = []
    for place in at:
        weights = np.exp(-0.25 * ((positions - place) / width) ** 2)  # polyfit squares them
        expected.append(np.polyval(np.polyfit(positions, values, 1, w=weights), place))
    assert smooth(positions, values, at) == pytest.approx(expected)


def test_noise_is_reduced():
    rng = np.random.default_rng(1)
    positions = np.linspace(0, 2, 9)
    truth = 80 - positions
    error = [np.abs(smooth(positions, truth + rng.normal(size=9), positions) - truth).mean() for _ in range(200)]
    noise = np.sqrt(2 / np.pi)  # the mean distance of the noise itself
    assert np.mean(error) < 0.75 * noise


def test_one_curve_per_series_and_none_through_one_point():
    rows = [{"series": "a", "tradeoff": t, "x": 1 + t, "y": 2 * t} for t in (0, 1, 2)]
    rows += [{"series": "b", "tradeoff": 0, "x": 1, "y": 1}, {"series": "b", "tradeoff": 1, "x": 1, "y": None}]
    found = trends(rows)
    assert {row["series"] for row in found} == {"a"}
    assert [row["x"] for row in found] == pytest.approx([1 + row["tradeoff"] for row in found])
