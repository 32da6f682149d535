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
from labeltrees.logs import shards
from labeltrees.logs.features import hide_items

BASKETS = {"ann": "abcdef", "bob": "ab", "cid": "c", "dan": "bcd"}


def frame_of(baskets):
    rows = [(basket, item) for basket, items in baskets.items() for item in items]
    return pl.DataFrame(rows, schema=["context", "item"], orient="row")


def items_of(dataset, matrix):
    return [{str(dataset.label_names[label]) for label in matrix[[row]].indices} for row in range(dataset.n_points)]


@hypothesis.settings(max_examples=50)
@given(
    st.lists(st.sets(st.integers(0, 9), min_size=2), min_size=1, max_size=20),
    st.sampled_from([0.1, 0.5, 0.99, 1, 3]),
    st.integers(0, 3),
)
def test_every_item_is_hidden_or_visible_and_neither_is_empty(baskets, hide, seed):
    indptr = np.cumsum([0, *map(len, baskets)])
    indices = np.array([item for basket in baskets for item in sorted(basket)])
    matrix = sparse.csr_array(
        (np.arange(1.0, len(indices) + 1, dtype=np.float32), indices, indptr), shape=(len(baskets), 10)
    )
    X, Y = hide_items(matrix, hide, seed)
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
    hidden = [hide_items(matrix, 1, seed)[1] for seed in (0, 0, 1)]
    assert (hidden[0] != hidden[1]).nnz == 0
    assert (hidden[0] != hidden[2]).nnz > 0
    counts = hidden[0].sum(axis=0)
    assert counts.min() > 90  # 125 expected, standard deviation 10
    assert counts.max() < 160


def test_baskets_need_no_times_and_those_of_one_item_are_dropped():
    prepared = lt.prepare_logs(frame_of(BASKETS), features="basket", test_share=0)
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
