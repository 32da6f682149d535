"""Half-lives: an event counts by its age at the end of its history or period."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import labeltrees as lt

START = dt.datetime(2020, 1, 1)


def day(number):
    return START + dt.timedelta(days=number)


FRAME = pl.DataFrame(
    {
        "context": ["ann", "ann", "ann", "bob", "bob", "bob"],
        "item": ["a", "b", "c", "a", "b", "c"],
        "weight": [2.0, 3.0, 1.0, 1.0, 1.0, 1.0],
        "time": [day(n) for n in (0, 8, 12, 5, 15, 25)],
    }
)


def test_the_history_of_a_point_is_aged_at_its_end():
    train, test = lt.prepare_logs(FRAME, history_before=day(10), test_since=day(20), half_life="10d", min_engagement=0)
    assert train.feature_names.tolist() == ["a", "b"]
    ages = {"a": 2 * 0.5 ** (10 / 10), "b": 3 * 0.5 ** (2 / 10)}
    np.testing.assert_allclose(train.X.toarray()[0], np.log1p([ages["a"], ages["b"]]), rtol=1e-6)
    np.testing.assert_allclose(test.X.toarray()[-1], np.log1p([0.5 ** (15 / 10), 0.5 ** (5 / 10)]), rtol=1e-6)


def test_low_engagement_is_by_age():
    frame = FRAME.with_columns(pl.col("context") + " x")
    settings = {"test_share": 0, "half_life": "5d", "features": lt.TfidfVectorizer()}
    strict = lt.prepare_logs(frame, min_engagement=0.25, **settings).summary
    assert strict.events_used == {"labels": 3}


def test_pairs_of_low_engagement_are_found_without_their_age():
    settings = {"features": "basket", "test_share": 0}
    twice = pl.concat([FRAME.with_columns(weight=pl.lit(1.0))] * 2)  # every pair was engaged with twice
    for frame, least in ((twice, 2), (FRAME, 0)):
        summary = lt.prepare_logs(frame, **settings, half_life="1d").summary
        assert summary.settings["min_engagement"] == least
        assert summary.events_used == lt.prepare_logs(frame, **settings).summary.events_used


def test_a_half_life_needs_times():
    with pytest.raises(lt.errors.InputError, match="half_life needs the time of events"):
        lt.prepare_logs(FRAME.drop("time"), half_life="5d")
