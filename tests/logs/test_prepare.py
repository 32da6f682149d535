"""From events to points: against a plain twin, in every form events may have."""

import datetime as dt
import gzip
import lzma
import subprocess
import sys
from collections import Counter

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.errors import InputError
from labeltrees.logs import shards
from tests.logs.helpers import prepare, twin

DAY_0 = dt.datetime(2020, 1, 1)

some_events = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cid", "dan", None]),
        st.sampled_from(["hat", "tie", "cap", "bag", "belt", None]),
        st.sampled_from([1.0, 2.0, 0.5, 0.1, -1.0, 0.0, None]),
        st.sampled_from([*range(10), None]),
    ),
    min_size=1,
    max_size=60,
)


def frame_of(events):
    schema = {"context": pl.String, "item": pl.String, "weight": pl.Float64, "day": pl.Int64}
    frame = pl.DataFrame(events, schema=schema, orient="row")
    return frame.with_columns(time=DAY_0 + pl.duration(days=pl.col("day"))).drop("day")


def day(number):
    return None if number is None else DAY_0 + dt.timedelta(days=number)


def points_of(dataset, contexts):
    """Return {context: (labels, history, events)} of a Dataset whose points are in the order of `contexts`."""
    points = {}
    for row, context in enumerate(contexts):
        labels = {dataset.label_names[label] for label in dataset.Y[[row]].indices}
        X = dataset.X[[row]]
        history = {dataset.feature_names[f]: value for f, value in zip(X.indices, X.data, strict=True)}
        points[context] = (labels, history, dataset.sample_weight[row])
    return points


def check_against_twin(events, **settings):
    times = {name: settings.get(name) for name in ("cut", "test_since", "since", "until")}
    least = {name: value for name, value in settings.items() if name not in times}
    points, counts = twin(events, **settings)
    given_times = {
        "period": (day(times["since"]), day(times["until"])),
        "test_since": day(times["test_since"]),
        "history_before": day(times["cut"]),
    }
    parts = [sorted(context for context, window in points if window == part) for part in (1, 2)]
    expect_error = not parts[0]
    features = {"point_weights": "events"}
    if times["cut"] is None:
        features["features"] = OneWord()
    if expect_error:
        with pytest.raises(InputError):
            prepare(frame_of(events), test_share=0, **least, **given_times, **features)
        return
    prepared = prepare(frame_of(events), test_share=0, **least, **given_times, **features)
    summary = prepared.summary
    found = summary.events_dropped | {f"used for {what}": n for what, n in summary.events_used.items()}
    assert +counts == {what: n for what, n in found.items() if n}
    assert sum(found.values()) == summary.events_read == len(events)
    assert summary.pairs["seen"] == sum(n for what, n in summary.pairs.items() if what != "seen")
    known = {item for context in parts[0] for item in points[context, 1][1]}
    for dataset, contexts, window in zip(prepared, parts, (1, 2), strict=True):
        assert dataset.n_points == len(contexts)
        found = points_of(dataset, contexts)
        for context in contexts:
            labels, history, n_events = points[context, window]
            assert found[context][0] == labels
            mean = np.mean([points[other, window][2] for other in contexts])
            assert found[context][2] == pytest.approx(n_events / mean)
            if times["cut"] is not None:
                expected = {item: np.log1p(amount) for item, amount in history.items() if item in known}
                assert found[context][1] == pytest.approx(expected, rel=1e-5)


class OneWord:
    """A vectorizer that finds one word in every text."""

    vocabulary_ = ("word",)

    def transform(self, texts):
        return np.ones((len(texts), 1))

    def get_feature_names_out(self):
        return self.vocabulary_


@hypothesis.settings(max_examples=50)
@given(some_events, st.sampled_from([0, 0.3, 1, 3]), st.sampled_from([1, 2, 3]))
def test_points_and_counts_are_those_of_the_twin(events, min_engagement, min_item_contexts):
    check_against_twin(events, min_engagement=min_engagement, min_item_contexts=min_item_contexts, since=1, until=9)


@hypothesis.settings(max_examples=50)
@given(some_events, st.sampled_from([0, 1, 3]), st.sampled_from([1, 2]))
def test_history_is_that_of_the_twin(events, min_engagement, min_item_contexts):
    check_against_twin(events, min_engagement=min_engagement, min_item_contexts=min_item_contexts, cut=5)


@hypothesis.settings(max_examples=50)
@given(some_events, st.sampled_from([0, 1, 3]), st.sampled_from([1, 2]), st.sampled_from([None, 3]))
def test_a_split_by_time_is_that_of_the_twin(events, min_engagement, min_item_contexts, cut):
    check_against_twin(
        events, min_engagement=min_engagement, min_item_contexts=min_item_contexts, cut=cut, test_since=7
    )


def random_events(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (f"c{context}", f"i{item}", float(weight), int(day))
        for context, item, weight, day in zip(
            rng.integers(0, 100, n), rng.zipf(1.5, n) % 300, rng.integers(-1, 5, n), rng.integers(0, 30, n), strict=True
        )
    ]


def assert_equal(one, other):
    for a, b in zip(one, other, strict=True):
        assert (a.X != b.X).nnz == 0
        assert (a.Y != b.Y).nnz == 0
        for name in ("label_names", "feature_names", "sample_weight"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert Counter(one.summary.events_dropped) == Counter(other.summary.events_dropped)  # which takes 0 for absent
    assert one.summary.pairs == other.summary.pairs


@pytest.mark.parametrize(
    "settings",
    [
        {"history_before": day(15)},
        {"history_before": day(15), "test_since": day(22)},
        {"feature_column": "item", "item_name": "item"},
        {"features": OneWord()},
    ],
    ids=["history", "by time", "column", "words"],
)
def test_many_shards_on_disk_give_what_one_in_memory_gives(monkeypatch, tmp_path, settings):
    frame = frame_of(random_events())
    settings = {**settings, "min_engagement": 2, "min_item_contexts": 2, "work_folder": tmp_path}
    whole = prepare(frame, **settings)
    monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 100)
    assert_equal(whole, prepare(frame, **settings))
    assert list(tmp_path.iterdir()) == []


def test_the_order_of_events_does_not_matter():
    frame = frame_of(random_events())
    settings = {"history_before": day(15), "min_engagement": 2}
    assert_equal(prepare(frame, **settings), prepare(frame.sample(fraction=1, shuffle=True, seed=1), **settings))


def write_csv(frame, path):
    frame.write_csv(path)
    return path


def write_compressed(opener):
    def write(frame, path):
        with opener(path, "wb") as file:
            file.write(frame.write_csv().encode())
        return path

    return write


def write_parts(frame, path):
    path.mkdir()
    (path / "deeper").mkdir()
    frame[:1000].write_parquet(path / "a.parquet")
    frame[1000:].write_parquet(path / "deeper" / "b.parquet")
    (path / "_SUCCESS").touch()
    return path


def as_pandas(frame, _path):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(frame.to_dict(as_series=False))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("log.csv", write_csv),
        ("log.csv.gz", write_compressed(gzip.open)),
        ("log.csv.xz", write_compressed(lzma.open)),
        ("log.tsv", lambda frame, path: frame.write_csv(path, separator="\t") or path),
        ("semicolons.csv", lambda frame, path: frame.write_csv(path, separator=";") or path),
        ("latin.parquet", lambda frame, path: frame.write_parquet(path) or path),
        ("folder", write_parts),
        ("text path.csv", lambda frame, path: str(write_csv(frame, path))),
        ("lazy", lambda frame, path: frame.lazy()),
        ("pandas", as_pandas),
    ],
)
def test_every_form_of_events_gives_the_same(tmp_path, name, write):
    frame = frame_of(random_events())
    settings = {"history_before": day(15), "min_engagement": 2}
    assert_equal(prepare(frame, **settings), prepare(write(frame, tmp_path / name), **settings))


def test_ids_of_csv_files_keep_their_zeros(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("context,item\nq one,007\nq one,7\nq two,007\n")
    assert prepare(path, test_share=0, features=OneWord()).train.label_names.tolist() == ["007", "7"]


def test_whole_numbers_may_be_contexts_and_items():
    frame = pl.DataFrame({"context": [1, 1, 2, 2, 10], "item": [5, 6, 5, 10, 9], "time": [1, 2, 1, 2, 2]})
    train, _ = prepare(frame, history_before="1970-01-01T00:00:02", test_share=0)
    assert train.label_names.tolist() == ["6", "10"]
    assert train.feature_names.tolist() == ["5"]
    with pytest.raises(InputError, match=r"the contexts \('context'\) are numbers, which have no words"):
        prepare(frame)


def test_without_weights_each_event_counts_1():
    frame = pl.DataFrame({"context": ["a b", "a b", "a c"], "item": ["x", "x", "x"]})
    prepared = prepare(frame, min_engagement=2, test_share=0, features=OneWord())
    assert prepared.summary.events_used == {"labels": 2}
    assert prepared.train.texts.tolist() == ["a b"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("events", [2, 1]),
        ("none", None),
        (None, None),
    ],
)
def test_point_weights_are_the_frequencies_of_contexts_scaled_to_mean_1(kind, expected):
    frame = pl.DataFrame({"context": ["a", "b", "a"], "item": ["x", "x", "y"], "weight": [3, 1, 4]})
    settings = {"test_share": 0, "features": OneWord(), "min_engagement": 0}
    weights = prepare(frame, point_weights=kind, **settings).train.sample_weight
    if expected is None:
        assert weights is None
    else:
        np.testing.assert_allclose(weights, np.array(expected) / np.mean(expected))


@pytest.mark.parametrize("points_per_part", [None, 2])
def test_by_default_training_points_count_the_same_and_test_points_have_their_traffic(tmp_path, points_per_part):
    frame = pl.DataFrame(
        {"context": list("aaabbccccd"), "item": list("xyzxyxyzxx"), "time": [1, 1, 9, 9, 9, 1, 1, 9, 1, 1]}
    )
    parts = {} if points_per_part is None else {"parts": (tmp_path / "parts", points_per_part)}
    train, test = prepare(
        frame, time_format="%s", features=OneWord(), test_since="1970-01-01T00:00:05", min_engagement=0, **parts
    )
    assert train.sample_weight is None
    np.testing.assert_allclose(test.sample_weight, np.array([1, 2, 1]) / (4 / 3))  # a, b and c from second 5 on


def test_pairs_of_low_engagement_are_removed_by_default():
    frame = pl.DataFrame({"context": ["a", "a", "a", "b", "b"], "item": ["x", "x", "y", "x", "x"]})
    summary = prepare(frame, test_share=0, features=OneWord()).summary
    assert summary.events_dropped["pair of low engagement"] == 1
    assert summary.settings["min_engagement"] == 2


def test_pairs_of_low_engagement_stay_if_most_events_are_in_such_pairs():
    frame = pl.DataFrame({"context": ["a", "a", "a", "a", "b"], "item": ["x", "x", "y", "z", "x"]})
    summary = prepare(frame, test_share=0, features=OneWord()).summary
    assert summary.events_used == {"labels": 5}
    assert summary.notes["pairs of low engagement kept (most events are in such pairs)"] == 3
    assert summary.settings["min_engagement"] == 0


def test_the_preset_of_the_paper_sets_all_that_the_paper_says():
    frame = frame_of([("a", "x", 1, 0), ("a", "x", 2, 400), ("a", "y", 1, 401), ("b", "x", 2, 402)])
    settings = {"test_share": 0, "features": OneWord()}
    summary = prepare(frame, preset="paper", **settings).summary
    assert summary.events_dropped["outside the period"] == 1
    assert summary.events_dropped["pair of low engagement"] == 1
    assert summary.settings["min_engagement"] == 2
    assert summary.settings["point_weights"] is None
    without_times = prepare(frame.drop("time"), preset="paper", **settings)
    assert without_times.summary.events_used == {"labels": 3}
    own = prepare(frame, preset="paper", min_engagement=1, **settings).summary
    assert own.events_dropped["pair of low engagement"] == 0


def test_a_random_share_of_contexts_is_for_test():
    frame = frame_of(random_events())
    draws = [prepare(frame, test_share=0.2, random_state=seed, features=OneWord()) for seed in (0, 0, 1)]
    texts = [(set(train.texts), set(test.texts)) for train, test in draws]
    assert texts[0] == texts[1] != texts[2]
    assert all(not train & test and len(train | test) == 100 and len(test) == 20 for train, test in texts)


def test_the_test_part_may_be_empty():
    train, test = prepare(frame_of(random_events()), test_share=0, features=OneWord())
    assert (train.n_points, test.n_points, test.n_labels) == (100, 0, train.n_labels)


def test_words_of_the_context_are_features():
    frame = pl.DataFrame({"context": ["red wine", "red shoes", "white wine", "zebra"], "item": ["a", "b", "a", "c"]})
    prepared = prepare(frame, test_share=0, min_engagement=0)
    assert prepared.train.feature_names.tolist() == ["red", "wine"]
    assert prepared.summary.notes == {"points without a known feature": 1}
    assert prepared.train.texts.tolist() == ["red shoes", "red wine", "white wine", "zebra"]


@pytest.mark.parametrize(
    ("column", "settings", "names"),
    [
        (["dark blue", "dark red", "dark pink", None], {}, ["dark"]),
        ([["dark", "blue"], ["dark"], ["blue"], []], {}, ["blue", "dark"]),
        ([[3, 12], [12], [12, 3], None], {}, ["12", "3"]),
        (["dark blue|big", "dark blue", "big|dark blue", " | "], {"feature_separator": "|"}, ["big", "dark blue"]),
    ],
    ids=["text", "names", "ids", "separated"],
)
def test_features_may_be_a_column(column, settings, names):
    frame = pl.DataFrame({"context": [1, 2, 3, 4], "item": ["x", "y", "x", "x"], "what": column})
    prepared = prepare(frame, feature_column="what", test_share=0, **settings)
    assert prepared.train.feature_names.tolist() == names
    assert prepared.train.n_points + prepared.summary.contexts["without features"] >= 3
    if settings != {"feature_separator": "|"}:
        assert prepared.summary.events_dropped["context without features"] == 1


def test_a_list_of_one_name_is_not_a_text():
    frame = pl.DataFrame({"context": [1, 2, 3], "item": ["x", "y", "x"], "what": [["dark blue"], ["red"], ["red"]]})
    train = prepare(frame, feature_column="what", test_share=0).train
    assert train.feature_names.tolist() == ["dark blue", "red"]


def test_the_most_common_value_is_taken_where_a_context_has_several():
    frame = pl.DataFrame({"context": [1, 1, 1, 2], "item": ["x"] * 4, "what": ["b b", "c c", "c c", "b b"]})
    prepared = prepare(frame, feature_column="what", test_share=0, features=OneWord(), min_engagement=0)
    assert prepared.train.texts.tolist() == ["c c", "b b"]
    assert prepared.summary.notes["points with several feature values (the most common is taken)"] == 1


def test_features_that_only_test_has_are_left_out_and_counted():
    frame = frame_of([("a", "x", 1, 0), ("a", "y", 1, 5), ("b", "z", 1, 1), ("b", "y", 1, 8)])
    prepared = prepare(frame, history_before=day(3), test_since=day(7))
    assert prepared.train.feature_names.tolist() == ["x"]
    assert prepared.summary.notes["test features unseen in training (left out)"] == 1


def test_repeated_events_add_up_unless_they_are_to_be_dropped():
    events = [("a", "x", 1, 0)] * 3 + [("a", "x", 1, 1), ("b", "x", 1, 0)]
    settings = {"min_engagement": 2, "test_share": 0, "features": OneWord()}
    assert prepare(frame_of(events), **settings).summary.events_used == {"labels": 4}
    dropped = prepare(frame_of(events), drop_duplicates=True, **settings).summary
    assert dropped.events_dropped["repeated event"] == 2
    assert dropped.events_used == {"labels": 2}
    with pytest.raises(InputError, match="no context remains: of 3 events, 2 repeated event, 1 pair of low engagement"):
        prepare(frame_of(events[:3]), drop_duplicates=True, **settings)


def test_a_period_may_end_with_the_last_event():
    frame = frame_of([("a", "x", 1, 0), ("a", "y", 1, 5), ("a", "z", 1, 9)])
    for changes, used in (
        ({"period": "4d"}, 2),
        ({"period": ("4d", day(9))}, 1),
        ({"period": (day(0), dt.timedelta(days=5))}, 1),
        ({"period": (day(0), "1w")}, 2),
        ({"period": (day(1), None)}, 2),
        ({"period": [None, day(9)]}, 2),
        ({"period": "1y"}, 3),
    ):
        summary = prepare(frame, test_share=0, features=OneWord(), **changes).summary
        assert summary.events_used["labels"] == used
        assert summary.events_dropped["outside the period"] == 3 - used


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context": ""}, "context must be a text"),
        ({"features": "smells"}, "features must be one of 'words', 'history', 'column'"),
        ({"features": "history"}, "features='history' needs history_before"),
        ({"features": "column"}, "features='column' needs feature_column"),
        ({"features": "words", "history_before": "2020-01-01"}, "history_before cannot be used with features='words'"),
        ({"feature_column": "item", "history_before": "2020-01-01"}, "set features to"),
        ({"feature_separator": "|"}, "feature_separator needs feature_column"),
        ({"period": ("yesterday", None)}, "since must be a time such as 2011-09-01"),
        ({"period": (5, None)}, "since must be a time such as 2011-09-01"),
        ({"period": ("2020-01-02", "2020-01-02")}, r"since \(.*\) must be before until"),
        ({"history_before": "2020-01-05", "test_since": "2020-01-03"}, "history_before .* must be before test_since"),
        ({"period": "3 months"}, "period must be a length of time such as"),
        ({"period": ("1y", "2d")}, "with at most one length"),
        ({"period": ("2020-01-01",)}, r"a pair \(start, end\)"),
        ({"features": 3}, "features must be 'words', .* or a vectorizer"),
        ({"features": OneWord(), "history_before": "2020-01-01"}, "'history' without a vectorizer"),
        ({"encoding": "klingon"}, "encoding must be the name of an encoding"),
        ({"separator": "::"}, "separator must be one character"),
        ({"min_engagement": -1}, "min_engagement must be a number"),
        ({"min_item_contexts": 0}, "min_item_contexts must be an integer"),
        ({"test_share": 1.0}, "test_share must be a number"),
        ({"point_weights": "heavy"}, "point_weights must be one of"),
        ({"drop_duplicates": 1}, "drop_duplicates must be True or False"),
        ({"random_state": -1}, "random_state must be an integer"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        prepare(frame_of([("a", "x", 1, 0)]), **settings)


def test_settings_that_need_times_say_so():
    frame = pl.DataFrame({"context": ["a"], "item": ["x"]})
    with pytest.raises(InputError, match="since needs the time of events, but the log has no column 'time'"):
        prepare(frame, period=("2020-01-01", None))
    with pytest.raises(InputError, match="since, session_gap need the time of events"):
        prepare(frame, period=("2020-01-01", None), session_gap="1d")


@pytest.mark.parametrize("contexts", [["c1", "c2", "c3"], ["anna", "bert", "carl"], ["x-1", "x-2", "x-3"]])
def test_contexts_that_look_like_ids_are_refused_with_what_to_do(contexts):
    frame = pl.DataFrame({"context": contexts, "item": ["a", "b", "a"]})
    with pytest.raises(InputError, match=r"look like ids .* use features='history'.*'basket'.*'column'"):
        prepare(frame, test_share=0)


def test_texts_without_common_words_say_what_to_do():
    frame = pl.DataFrame({"context": ["red wine", "blue hat"], "item": ["a", "b"]})
    with pytest.raises(InputError, match=r"no word occurs in two of the 2 texts.*min_df=1"):
        prepare(frame, test_share=0)


def test_other_objects_are_refused_as_events():
    with pytest.raises(InputError, match="events must be a path, a polars frame or a pandas frame"):
        prepare([("a", "x")])


def test_progress_is_reported():
    seen = []
    prepare(frame_of(random_events()), features=OneWord(), progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert {(100 * stage, 600) for stage in range(7)} <= set(seen)


def test_polars_is_not_imported_before_it_is_needed():
    code = "import sys, labeltrees, labeltrees.cli.main; print('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
