"""Basket completion: hidden items are labels, visible items are features."""

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.logs import points, shards
from labeltrees.logs.features import hide_items

BASKETS = {"ann": "abcdef", "bob": "ab", "cid": "c", "dan": "bcd"}


def frame_of(baskets):
    rows = [(basket, item) for basket, items in baskets.items() for item in items]
    return pl.DataFrame(rows, schema=["context", "item"], orient="row")


def items_of(dataset, matrix):
    return [{str(dataset.label_names[label]) for label in matrix[[row]].indices} for row in range(dataset.n_points)]


def matrix_of(baskets):
    indptr = np.cumsum([0, *map(len, baskets)])
    indices = np.array([item for basket in baskets for item in sorted(basket)])
    values = np.arange(1.0, len(indices) + 1, dtype=np.float32)
    return sparse.csr_array((values, indices, indptr), shape=(len(baskets), 10))


@hypothesis.settings(max_examples=50)
@given(
    st.lists(st.sets(st.integers(0, 9), min_size=2), min_size=1, max_size=20),
    st.sampled_from([0.1, 0.5, 0.99, 1, 3]),
    st.integers(0, 3),
)
def test_every_item_is_hidden_or_visible_and_neither_is_empty(baskets, hide, seed):
    matrix = matrix_of(baskets)
    X, Y, rows = hide_items(matrix, hide, np.random.default_rng(seed))
    assert rows.tolist() == list(range(len(baskets)))
    for row, basket in enumerate(baskets):
        visible, hidden = set(X[[row]].indices.tolist()), set(Y[[row]].indices.tolist())
        assert visible | hidden == basket
        assert not visible & hidden
        wanted = int(hide * len(basket) + 0.5) if hide < 1 else hide
        assert len(hidden) == min(max(wanted, 1), len(basket) - 1)
        assert (X[[row]].toarray() == matrix[[row]].toarray())[0, sorted(visible)].all()
    assert (Y.data == 1).all()


def test_which_items_are_hidden_is_random_but_seeded():
    matrix = sparse.csr_array(np.ones((500, 4), dtype=np.float32))
    hidden = [hide_items(matrix, 1, np.random.default_rng(seed)).Y for seed in (0, 0, 1)]
    assert (hidden[0] != hidden[1]).nnz == 0
    assert (hidden[0] != hidden[2]).nnz > 0
    counts = hidden[0].sum(axis=0)
    assert counts.min() > 90  # 125 expected, standard deviation 10
    assert counts.max() < 160


@hypothesis.settings(max_examples=50)
@given(
    st.lists(st.sets(st.integers(0, 9), min_size=2), min_size=1, max_size=12),
    st.sampled_from([0.3, 0.5, 1, 3]),
    st.integers(1, 6),
    st.integers(0, 12),
)
def test_a_basket_gives_several_points_that_hide_all_items_equally_often(baskets, hide, times, cut):
    matrix = matrix_of(baskets)
    seeds = [0, 1]
    masked = hide_items(matrix, hide, *generators(seeds, times))
    for row, basket in enumerate(baskets):
        own = np.flatnonzero(masked.baskets == row)
        assert len(own) == min(times, len(basket))
        assert own.tolist() == list(range(own[0], own[-1] + 1))
        hidden = [set(masked.Y[[point]].indices.tolist()) for point in own]
        assert all(
            of_point | set(masked.X[[point]].indices) == basket for of_point, point in zip(hidden, own, strict=True)
        )
        n_pieces = len(basket) // len(hidden[0])
        for first in range(0, len(hidden), n_pieces):  # the points of one order hide different items
            turn = hidden[first : first + n_pieces]
            assert sum(map(len, turn)) == len(set().union(*turn))
    # Blocks of baskets, one after the other, give the same points.
    random, times, more = generators(seeds, times)
    blocks = [hide_items(part, hide, random, times, more) for part in (matrix[:cut], matrix[cut:]) if part.shape[0]]
    for whole, parts in zip(masked[:2], zip(*(block[:2] for block in blocks), strict=True), strict=True):
        assert (whole != sparse.vstack(parts)).nnz == 0


def generators(seeds, times):
    random, more = map(np.random.default_rng, seeds)
    return random, times, more


def test_several_points_of_a_basket_are_one_group_and_weigh_as_much_as_one(tmp_path):
    log = lt.datasets.load_shop_log()
    columns = lt.Columns(context="basket", weight="quantity")
    single = lt.prepare_logs(log, columns, features=("basket", 1), point_weights="events")
    several = lt.prepare_logs(log, columns, features=("basket", 4), point_weights="events")
    train = several.train
    n_items = np.diff(single.train.X.indptr) + np.diff(single.train.Y.indptr)
    assert np.bincount(train.groups).tolist() == np.minimum(n_items, 4).tolist()
    np.testing.assert_allclose(np.bincount(train.groups, train.sample_weight), single.train.sample_weight)
    assert several.summary.settings["points_per_context"] == 4
    assert several.summary.train["n_points"] == train.n_points
    for one, other in ((single.test.X, several.test.X), (single.test.Y, several.test.Y)):
        assert (one != other).nnz == 0
    union = train.X.astype(bool).astype(np.float32) + train.Y
    first = np.searchsorted(train.groups, np.arange(single.train.n_points))
    assert (union != union[first[train.groups]]).nnz == 0  # the same basket in all of its points
    parts = lt.prepare_logs(log, columns, features=("basket", 4), point_weights="events", parts=(tmp_path / "p", 700))
    assert np.concatenate([part.read().groups for part in parts.train.parts]).tolist() == train.groups.tolist()
    for place, whole in enumerate((train.X, train.Y)):
        assert (whole != sparse.vstack([part.matrices()[place] for part in parts.train.parts])).nnz == 0


def test_the_points_of_a_basket_in_sessions_are_in_the_group_of_their_context():
    log = lt.datasets.load_shop_log()
    columns = lt.Columns(context="customer", session="basket")
    train = lt.prepare_logs(log, columns, features=("basket", 3)).train
    assert len(np.unique(train.groups)) <= 500
    by_time = lt.prepare_logs(log, columns, features=("basket", 3), test_since="2025-06-01").train
    assert len(np.unique(by_time.groups)) > 1000


def test_larger_logs_give_fewer_points_per_basket(monkeypatch):
    frame = frame_of({number: "abcdefghij" for number in range(10)})
    numbers = []
    for many in (10, 250, 10_000):
        monkeypatch.setattr(points, "_MANY_PAIRS", many)
        prepared = lt.prepare_logs(frame, features="basket", test_share=0)
        numbers.append(prepared.train.n_points // 10)
        assert prepared.summary.settings["points_per_context"] == numbers[-1]
    assert numbers == [1, 2, 8]


def test_training_points_hide_some_items_where_test_points_hide_one():
    frame = frame_of({number: "abcdefghij" for number in range(20)})
    train, test = lt.prepare_logs(frame, features=("basket", 2), hide=1, test_share=0.5)
    assert (np.diff(train.Y.indptr) == 3).all()
    assert (np.diff(test.Y.indptr) == 1).all()
    train, _ = lt.prepare_logs(frame, features=("basket", 2), hide=4, test_share=0.5)
    assert (np.diff(train.Y.indptr) == 4).all()


def test_baskets_need_no_times_and_those_of_one_item_are_dropped():
    prepared = lt.prepare_logs(frame_of(BASKETS), features=("basket", 1), test_share=0)
    train = prepared.train
    both = [
        visible | hidden for visible, hidden in zip(items_of(train, train.X), items_of(train, train.Y), strict=True)
    ]
    assert both == [set("abcdef"), set("ab"), set("bcd")]
    assert prepared.summary.events_dropped["context without features"] == 1
    assert train.feature_names.tolist() == train.label_names.tolist()
    assert [len(hidden) for hidden in items_of(train, train.Y)] == [3, 1, 2]


def test_a_basket_that_loses_its_rare_items_is_dropped():
    frame = frame_of({"ann": "ab", "bob": "ab", "cid": "az", "dan": "abz"[:2]})
    summary = lt.prepare_logs(frame, features="basket", min_item_contexts=2, test_share=0).summary
    assert summary.contexts == {"seen": 4, "without features": 1, "empty (no pair left)": 0, "used": 3}
    assert summary.events_read == sum(summary.events_dropped.values()) + sum(summary.events_used.values())


def test_the_encoder_makes_the_same_rows(monkeypatch):
    train, _ = prepared = lt.prepare_logs(frame_of(BASKETS), features="basket", test_share=0)
    rows = prepared.encoder.transform([sorted(items) for items in items_of(train, train.X)])
    np.testing.assert_allclose(rows.toarray(), train.X.toarray(), rtol=1e-6)


def test_shards_hide_the_same_items(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"context": rng.integers(0, 60, 600), "item": rng.zipf(1.5, 600) % 50})
    settings = {"features": "basket", "hide": 2, "work_folder": tmp_path}
    whole = lt.prepare_logs(frame, **settings)
    monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 50)
    for one, other in zip(whole, lt.prepare_logs(frame, **settings), strict=True):
        assert (one.X != other.X).nnz == (one.Y != other.Y).nnz == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hide": 0}, "hide must be a number"),
        ({"features": ("basket", 0)}, "points_per_context must be an integer"),
        ({"features": ("words", 2)}, r"a pair such as \('basket', 4\)"),
        ({"hide": 1.5}, "hide must be a share below 1, or a whole number"),
        ({"hide": 2, "features": "words"}, "hide needs features='basket'"),
        ({"test_since": "2020-01-01"}, "test_since needs the time of events"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        lt.prepare_logs(frame_of(BASKETS), **{"features": "basket", **settings})


def test_a_log_without_baskets_says_so():
    with pytest.raises(InputError, match="a basket needs at least two items: is the context column the basket"):
        lt.prepare_logs(frame_of({"ann": "a", "bob": "b"}), features="basket")
