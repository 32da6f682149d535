"""Trend weights, compared with sums written from the definition."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.labels.trend import trend_of_blocks


def by_definition(Y, days, half_life):
    """The recent share of each label over its share of all points, with 100 points of the whole time added."""
    newest = max(days)
    weights = [0.5 ** ((newest - day) / half_life) for day in days]
    n = len(days)
    found = []
    for label in range(Y.shape[1]):
        has = [bool(Y[point, label]) for point in range(n)]
        overall = Fraction(sum(has), n)
        recent = sum(weight for weight, own in zip(weights, has, strict=True) if own)
        lately = (recent + 100 * float(overall)) / (sum(weights) + 100)
        found.append(lately / float(overall) if overall else 1.0)
    return np.array(found)


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    Y = (rng.random((400, 7)) < 0.2).astype(np.float64) * rng.random((400, 7))
    Y[:, 5] = 0
    return Y, rng.integers(0, 90, 400)


@pytest.mark.parametrize("half_life", [0.5, 14, 1e6])
def test_the_weights_follow_the_definition(points, half_life):
    Y, days = points
    np.testing.assert_allclose(lt.trend_weights(Y, days, half_life), by_definition(Y, days, half_life), rtol=1e-5)


def test_dates_are_counted_in_days(points):
    Y, days = points
    dates = np.datetime64("2026-01-01") + days
    expected = lt.trend_weights(Y, days, 7)
    for unit in ("D", "us", "ns"):
        np.testing.assert_array_equal(lt.trend_weights(Y, dates.astype(f"datetime64[{unit}]"), 7), expected)


def test_any_division_into_blocks_gives_the_same_bytes(points):
    Y, days = points
    whole = lt.trend_weights(Y, days, 14)
    for bounds in ([0, 1, 400], [0, 100, 100, 399, 400]):
        blocks = [(sp.csr_array(Y[a:b]), days[a:b]) for a, b in pairwise(bounds)]
        assert trend_of_blocks(blocks, 7, 14).tobytes() == whole.tobytes()


def test_labels_at_one_time_have_no_trend(points):
    Y, _ = points
    np.testing.assert_allclose(lt.trend_weights(Y, np.zeros(400), 14), 1)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (np.zeros(3), "400 numbers or dates"),
        (np.array(["a"] * 400), "400 numbers or dates"),
        (np.full(400, np.nan), "times must be finite"),
        ([[1], [2, 3]] * 200, "400 numbers or dates"),
        ("today", "400 numbers or dates"),
        (np.full(400, np.datetime64("NaT", "s")), "times must be finite"),
    ],
)
def test_wrong_times_are_refused(points, times, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.trend_weights(points[0], times)


@pytest.mark.parametrize("half_life", [0, -1, np.nan, "14"])
def test_a_wrong_half_life_is_refused(points, half_life):
    with pytest.raises(lt.errors.InputError, match="half_life"):
        lt.trend_weights(*points, half_life)
