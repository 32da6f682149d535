"""Related items, against a plain count of the baskets that two items share."""

from collections import Counter, defaultdict
from itertools import permutations

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.logs import related, shards

NAMES = {"a": "red mug", "b": "red bowl", "c": "blue mug", "d": "blue bowl", "e": "red tray", "f": "blue tray"}
COLUMNS = lt.Columns(context="basket", item="item", item_name="name")


def frame_of(events):
    return pl.DataFrame(events, schema={"basket": pl.Int64, "item": pl.String}, orient="row").with_columns(
        name=pl.col("item").replace_strict(NAMES)
    )


def brute_force(events, least, most, max_basket=1_000, min_item_contexts=1):
    """Return the set of related items of each item that has any."""
    baskets = defaultdict(set)
    for basket, item in events:
        baskets[basket].add(item)
    shared = Counter(
        pair for items in baskets.values() if len(items) <= max_basket for pair in permutations(sorted(items), 2)
    )
    kept = {}
    for item in NAMES:
        others = [(-count, other) for (own, other), count in shared.items() if own == item and count >= least]
        kept[item] = {other for _, other in sorted(others)[:most]}
    n_contexts = Counter(other for others in kept.values() for other in others)
    kept = {item: {other for other in kept[item] if n_contexts[other] >= min_item_contexts} for item in kept}
    return {item: others for item, others in kept.items() if others}, shared


def answers(prepared):
    """Return the related items of each training point, which is known by its name."""
    train, ids = prepared.train, {name: item for item, name in NAMES.items()}
    rows = [train.label_names[row.indices].tolist() for row in train.Y]
    return {ids[text]: set(row) for text, row in zip(train.texts, rows, strict=True)}


def prepare(events, **settings):
    return lt.prepare_logs(frame_of(events), COLUMNS, **{"test_share": 0, "features": "related"} | settings)


EVENTS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(list(NAMES))), min_size=1, max_size=60)


@hypothesis.settings(max_examples=60, deadline=None)
@given(EVENTS, st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_related_items_share_the_most_baskets(events, least, most, min_item_contexts):
    expected, shared = brute_force(events, least, most, min_item_contexts=min_item_contexts)
    if len({word for item in expected for word in NAMES[item].split()}) == 2 * len(expected):
        return  # no word occurs twice, or no item is left: errors, tested below
    settings = {"features": ("related", most), "min_engagement": least, "min_item_contexts": min_item_contexts}
    prepared = prepare(events, **settings)
    assert answers(prepared) == expected
    summary = prepared.summary
    assert sum(summary.events_dropped.values()) + sum(summary.events_used.values()) == len(events)
    assert summary.pairs["seen"] == len(shared)
    assert sum(summary.pairs.values()) == 2 * len(shared)
    assert summary.pairs["pair of low engagement"] == sum(count < least for count in shared.values())
    assert sum(summary.contexts.values()) == 2 * summary.contexts["seen"] == 2 * len({item for _, item in events})


# a and b share 3 baskets, a and c 2, a and d 2, c and d 2; e is alone in its baskets; f shares one with a.
SOME = [
    *((basket, item) for basket in (1, 2, 3) for item in "ab"),
    *((basket, item) for basket in (4, 5) for item in "acd"),
    (6, "e"),
    (7, "e"),
    (7, "e"),
    (8, "f"),
    (8, "a"),
]


def test_minimum_maximum_ties_and_an_item_alone():
    assert answers(prepare(SOME)) == {"a": set("bcd"), "b": {"a"}, "c": set("ad"), "d": set("ac")}
    assert answers(prepare(SOME, min_engagement=3)) == {"a": {"b"}, "b": {"a"}}
    few = prepare(SOME, features=("related", 2))
    assert answers(few)["a"] == {"b", "c"}  # of c and d, with equal counts, the first
    assert few.summary.pairs["beyond the most related items"] == 1
    assert few.summary.events_dropped["basket of one item"] == 3
    assert few.summary.settings["features"] == "related"
    assert few.summary.settings["min_engagement"] == 2
    assert "e" not in answers(prepare(SOME, min_engagement=0))


def test_points_weigh_by_events_of_the_item():
    train = prepare(SOME, point_weights="events").train
    events = np.array([6, 3, 2, 2])
    np.testing.assert_allclose(train.sample_weight, events / events.mean())


@pytest.mark.parametrize("in_blocks", [False, True])
def test_shards_blocks_and_parts_count_the_same(in_blocks, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    events = [
        (int(basket), "abcdef"[item])
        for basket, item in zip(rng.integers(99, size=400), rng.integers(6, size=400), strict=True)
    ]
    expected, _ = brute_force(events, 2, 3)
    if in_blocks:
        monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 50)
        monkeypatch.setattr(related, "PAIRS_AT_A_TIME", 7)
    prepared = prepare(events, features=("related", 3))
    assert answers(prepared) == expected
    parts = prepare(events, features=("related", 3), parts=(tmp_path / "parts", 2))
    for name in ("X", "Y"):
        assert (getattr(parts.train, name) != getattr(prepared.train, name)).nnz == 0
    assert parts.summary.to_json() == prepared.summary.to_json()


def test_large_baskets_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(related, "MAX_BASKET", 3)
    events = [*SOME, *((9, item) for item in "abcd"), *((10, item) for item in "abcd")]
    prepared = prepare(events)
    assert answers(prepared) == brute_force(events, 2, 10, max_basket=3)[0] == answers(prepare(SOME))
    assert prepared.summary.events_dropped["basket of more than 1,000 items"] == 8


def test_sessions_are_baskets():
    frame = frame_of(SOME).with_columns(customer=pl.lit("someone"))
    columns = lt.Columns(context="customer", session="basket", item="item", item_name="name")
    assert answers(lt.prepare_logs(frame, columns, features="related", test_share=0)) == answers(prepare(SOME))


def test_test_items_are_other_items():
    events = [(basket, item) for basket in range(4) for item in NAMES]
    train, test = prepare(events, test_share=0.34)
    assert (train.n_points, test.n_points) == (4, 2)
    assert not set(train.texts) & set(test.texts)
    assert test.Y.sum(axis=1).tolist() == [5, 5]


def test_features_are_a_column_the_names_the_words_of_the_item_or_its_id():
    frame = frame_of(SOME).with_columns(tags=pl.col("name").str.replace(" ", ";"))
    by_tags = lt.Columns(context="basket", feature_column="tags", feature_separator=";")
    train = lt.prepare_logs(frame, by_tags, features="related", test_share=0).train
    assert sorted(train.feature_names) == ["blue", "bowl", "mug", "red"]
    by_list = lt.Columns(context="basket", feature_column="tags")
    lists = frame.with_columns(pl.col("tags").str.split(";"))
    assert (lt.prepare_logs(lists, by_list, features="related", test_share=0).train.X != train.X).nnz == 0
    named = frame.select("basket", item="name")
    words = lt.prepare_logs(named, lt.Columns(context="basket"), features="related", test_share=0).train
    assert sorted(words.texts) == ["blue bowl", "blue mug", "red bowl", "red mug"]
    ids = lt.prepare_logs(frame, lt.Columns(context="basket"), features="related", test_share=0).train
    assert ids.feature_names.tolist() == list("abcd")
    np.testing.assert_array_equal(ids.X.toarray(), np.eye(4))
    numbers = frame.select("basket", item=pl.col("item").rank("dense"))
    assert lt.prepare_logs(numbers, lt.Columns(context="basket"), features="related", test_share=0).train.n_points == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_engagement": 9}, "no two items share 9 contexts: lower min_engagement"),
        ({"min_item_contexts": 9}, "lower min_item_contexts, which is 9"),
        ({"features": ("related", 0)}, "max_items"),
        ({"half_life": "3d"}, "half_life cannot be used with features='related'"),
        ({"test_since": "2020-01-01"}, "test_since cannot be used with features='related'"),
    ],
)
def test_errors_say_what_to_do(settings, message):
    with pytest.raises(InputError, match=message):
        prepare(SOME, **settings)


def test_baskets_of_one_item_have_no_related_items():
    with pytest.raises(InputError, match="is 'basket' not the column of the basket"):
        prepare([(1, "a"), (2, "b"), (3, "b")])


def test_maximum_needs_related_items():
    with pytest.raises(InputError, match="max_items needs features='related', not 'words'"):
        lt.logs.prepare_with(frame_of(SOME), lt.logs.settings.LogSettings(context="name", max_items=3))


def test_command_line(run, tmp_path):
    frame_of(SOME).write_csv(tmp_path / "log.csv")
    options = "--context basket --item-name name --features related --set max_items=2 --test-share 0".split()
    done = run("logs", "prepare", tmp_path / "log.csv", "-o", tmp_path / "out", *options)
    assert done.exit_code == 0, done.output
    expected = prepare(SOME, features=("related", 2)).train
    assert (lt.logs.PreparedLogs.load(tmp_path / "out").train.Y != expected.Y).nnz == 0
