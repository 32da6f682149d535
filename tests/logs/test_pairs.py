"""Sessions against a plain twin, and half-lives: an event counts by its age at the end of its history or period."""

import datetime as dt
import itertools

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.logs import shards
from tests.logs.helpers import prepare

START = dt.datetime(2020, 1, 1)

visits = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "cid"]), st.sampled_from("abcde"), st.integers(0, 40)),
    min_size=1,
    max_size=40,
)


def frame_of(events):
    frame = pl.DataFrame(events, schema=["context", "item", "minute"], orient="row")
    return frame.with_columns(time=START + pl.duration(minutes=pl.col("minute"))).drop("minute")


def sessions_of(events, gap):
    """Return [(context, start, items)] of all sessions, from the definition."""
    sessions = []
    for context, of_context in itertools.groupby(sorted(events, key=lambda e: (e[0], e[2])), key=lambda e: e[0]):
        last = None
        for _, item, minute in of_context:
            if last is None or minute - last > gap:
                sessions.append((context, minute, set()))
            sessions[-1][2].add(item)
            last = minute
    return sessions


def rows(dataset, matrix, names):
    return [{str(names[i]) for i in matrix[[row]].indices} for row in range(dataset.n_points)]


@hypothesis.settings(max_examples=40, deadline=None)
@given(visits)
def test_pauses_split_and_earlier_sessions_are_the_history(events):
    sessions = sessions_of(events, gap=5)
    expected = []
    for context, start, items in sessions:
        past = set().union(*(other for who, then, other in sessions if who == context and then < start))
        if past:
            expected.append((context, start, items, past))
    settings = {"features": "history", "session_gap": "5m", "test_share": 0, "min_engagement": 0}
    if not expected:
        with pytest.raises(InputError):
            prepare(frame_of(events), **settings)
        return
    train = prepare(frame_of(events), **settings).train
    assert rows(train, train.Y, train.label_names) == [items for _, _, items, _ in expected]
    assert rows(train, train.X, train.feature_names) == [past for *_, past in expected]


def test_a_column_splits_and_a_session_is_never_cut_by_the_split_in_time():
    frame = pl.DataFrame(
        {
            "context": ["ann"] * 6,
            "item": list("abcdef"),
            "visit": [1, 1, 2, 2, 3, 3],
            "time": [START + dt.timedelta(days=day) for day in (0, 0, 4, 6, 7, 8)],
        }
    )
    prepared = prepare(
        frame, features="history", session="visit", test_since=START + dt.timedelta(days=5), min_engagement=0
    )
    train, test = prepared
    assert rows(train, train.Y, train.label_names) == [{"c", "d"}]
    assert rows(test, test.Y, test.label_names) == [{"e", "f"}]
    assert rows(test, test.X, test.feature_names) == [{"a", "b"}]  # c and d are in no training history
    assert prepared.summary.leakage == {
        "test events before a training event of the same context": 0,
        "test events before the last training event": 0,
    }
    assert prepared.summary.notes["test features unseen in training (left out)"] == 2


def test_all_sessions_of_a_context_are_in_one_part_of_a_random_split():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"context": rng.integers(0, 40, 1000), "item": rng.integers(0, 30, 1000), "visit": rng.integers(0, 5, 1000)}
    )
    train, test = prepare(frame, features=("basket", 1), session="visit", test_share=0.25)
    sessions = frame.group_by("context", "visit").agg(pl.col("item").n_unique()).filter(pl.col("item") > 1)
    assert train.n_points + test.n_points == sessions.height
    per_context = sessions.group_by("context").len()["len"].max()
    assert abs(test.n_points - 10 * per_context) <= 10  # 10 of 40 contexts, nearly all with all 5 visits


def test_events_without_a_session_are_dropped_and_counted():
    frame = pl.DataFrame({"context": list("aaaa"), "item": list("wxyz"), "visit": ["1", "1", None, " "]})
    summary = prepare(frame, features="basket", session="visit", test_share=0).summary
    assert summary.events_dropped["no session"] == 2


def test_shards_do_not_change_sessions(monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    events = [(f"c{rng.integers(30)}", "abcdefgh"[rng.integers(8)], int(rng.integers(500))) for _ in range(600)]
    settings = {"features": "history", "session_gap": "20m", "half_life": "1h", "work_folder": tmp_path}
    whole = prepare(frame_of(events), **settings)
    monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 50)
    for one, other in zip(whole, prepare(frame_of(events), **settings), strict=True):
        assert (one.X != other.X).nnz == (one.Y != other.Y).nnz == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"session": "visit", "session_gap": "1h"}, "session and session_gap are both given"),
        ({"features": "history"}, "needs history_before .* session='COLUMN' or session_gap='30m'"),
        ({"session_gap": "soon"}, "session_gap must be a length of time"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        prepare(frame_of([("a", "x", 0)]), **settings)


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


def test_earlier_periods_give_more_training_points_and_the_same_test_points():
    log = lt.datasets.load_shop_log()
    settings = {"context": "customer", "history_before": "2025-05-01", "min_engagement": 0}
    by_time = {**settings, "test_since": "2025-06-01"}
    one = prepare(log, features=("history", 1), **by_time)
    three = prepare(log, features=("history", 3), **by_time)
    moments = log["time"].str.to_datetime()
    n_points, n_pairs = 0, 0  # by the definition: periods of 31 days, with everything before as history
    for number in range(3):
        start = dt.datetime(2025, 5, 1) - number * dt.timedelta(days=31)
        known = log.filter(moments < start)["customer"].unique()
        in_period = (moments >= start) & (moments < start + dt.timedelta(days=31))
        labels = log.filter(in_period).filter(pl.col("customer").is_in(known.implode())).select("customer", "item")
        n_points += labels["customer"].n_unique()
        n_pairs += labels.unique().height
    assert (three.train.n_points, three.train.Y.nnz) == (n_points, n_pairs)
    for first, second in ((one.test.Y, three.test.Y), (one.test.X, three.test.X)):
        assert first.nnz == second.nnz
    # At random, a test context has one point, and none of its earlier periods is used for training.
    several = prepare(log, features=("history", 2), test_share=0.2, **settings)
    assert len(np.unique(several.train.groups)) < several.train.n_points
    assert several.test.n_points <= 0.2 * 500


def test_several_points_need_a_cut():
    log = lt.datasets.load_shop_log()
    with pytest.raises(InputError, match="points_per_context is for baskets, and for histories that end at"):
        prepare(log, context="customer", session="basket", features=("history", 2))
