"""Popularity of the most recent points."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.errors import InputError

# Ten points, label 0 first, then label 1, label 2 last.
X = np.ones((10, 1))
Y = np.eye(3)[[0, 0, 0, 0, 0, 1, 1, 1, 1, 2]]
DAYS = np.arange("2024-01-01", "2024-01-11", dtype="datetime64[D]")


def first_label(**options):
    return lt.baselines.recent_popularity((X, Y), **options).predict_topk([[1.0]], k=1)[0][0, 0]


@pytest.mark.parametrize("times", [np.arange(10), np.arange(10) / 7, DAYS, DAYS.astype(str), DAYS.astype(object)])
def test_the_last_tenth_counts_by_default(times):
    assert first_label(times=times) == 2


@pytest.mark.parametrize(
    ("times", "period", "label", "n_points"),
    [
        (np.arange(10), 0.5, 2, 1),
        (np.arange(10), 4, 1, 4),
        (np.arange(10), 100, 0, 10),
        (DAYS, np.timedelta64(4, "D"), 1, 4),
        (-np.arange(10), 3, 0, 3),
    ],
)
def test_a_period_counts_points_after_its_start(times, period, label, n_points):
    assert first_label(times=times, period=period) == label
    assert lt.baselines.recent_popularity((X, Y), times, period=period).n_points_ == n_points


def test_points_of_the_same_time_all_count():
    assert lt.baselines.recent_popularity((X, Y), np.full(10, 5)).n_points_ == 10


def test_the_weights_of_recent_points_count():
    weights = np.ones(10)
    weights[5] = 10
    train = lt.Dataset(X, Y, sample_weight=weights)
    assert lt.baselines.recent_popularity(train, np.arange(10), period=5).shares_.round(3).tolist() == [0, 0.929, 0.071]


def test_without_times_it_says_what_to_do():
    with pytest.raises(InputError, match="train has no times: give times, one per training point"):
        first_label()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"times": np.arange(3)}, "times must be 10 numbers or dates"),
        ({"times": ["yesterday"] * 10}, "times must be numbers or dates such as 2024-05-01"),
        ({"times": [float("nan")] * 10}, r"times\[0\] must be a finite number or a date"),
        ({"times": [None] * 10}, r"times\[0\] must be a finite number or a date"),
        ({"times": np.arange(10), "period": -1}, "period must be a positive number"),
        ({"times": np.arange(10), "period": "long"}, "period must be a positive number"),
        ({"times": DAYS, "period": "long"}, "period must be a positive timedelta64"),
    ],
)
def test_bad_times_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        first_label(**options)


def test_a_last_period_without_weight_is_refused():
    weights = np.ones(10)
    weights[9] = 0
    with pytest.raises(InputError, match="use a longer period"):
        lt.baselines.recent_popularity(lt.Dataset(X, Y, sample_weight=weights), np.arange(10))
