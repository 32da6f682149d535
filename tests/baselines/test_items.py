"""EASE and own most frequent, against their definitions in NumPy."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import labeltrees as lt
from labeltrees.baselines import items as items_module
from labeltrees.baselines.baseline import training_points
from labeltrees.baselines.table import make_baselines
from labeltrees.errors import InputError

NAMES = [f"item {number}" for number in range(30)]


def ease_of_numpy(baskets, queries, ridge, k, exclude):
    """Steck (2019), as in its paper: the best items of each query."""
    gram = baskets.T @ baskets + ridge * np.eye(baskets.shape[1])
    P = np.linalg.inv(gram)
    B = P / -np.diag(P)
    np.fill_diagonal(B, 0)
    scores = queries @ B
    if exclude:
        scores[queries > 0] = -np.inf
    return np.argsort(-scores, axis=1, kind="stable")[:, :k], np.sort(-scores, axis=1)[:, :k] * -1


def random_baskets(n, seed=0):
    rng = np.random.default_rng(seed)
    kinds = rng.random((4, 30)) ** 4
    return (rng.random((n, 30)) < kinds[rng.integers(0, 4, n)]).astype(float)


def split(baskets, seed=1):
    hidden = np.random.default_rng(seed).random(baskets.shape) < 0.4
    return baskets * ~hidden, baskets * hidden


def shop(n=400, **others):
    X, Y = split(random_baskets(n))
    encoder = lt.encoders.ItemEncoder(NAMES, weighting="binary")
    return lt.Dataset(X, Y, label_names=NAMES, encoder=encoder, **others)


def test_ease_is_the_closed_form():
    train = shop()
    queries, _ = split(random_baskets(60, seed=5))
    labels, scores = lt.baselines.ease(train, ridge=7.0).rank(queries, 5)
    expected, values = ease_of_numpy(train.X.toarray() + train.Y.toarray(), queries, 7.0, 5, exclude=True)
    is_found = values > 0
    assert is_found.mean() > 0.9
    np.testing.assert_array_equal(labels, np.where(is_found, expected, -1))
    np.testing.assert_allclose(scores, np.clip(values, 0, 1), atol=1e-5)


def test_ease_returns_own_items_where_they_are_labels():
    train = shop()
    repeated = lt.Dataset(train.X, (train.Y + train.X).astype(bool).astype(float), NAMES, encoder=train.encoder)
    queries, _ = split(random_baskets(40, seed=5))
    labels, _ = lt.baselines.ease(repeated, ridge=7.0).rank(queries, 5)
    expected, values = ease_of_numpy(train.X.toarray() + train.Y.toarray(), queries, 7.0, 5, exclude=False)
    np.testing.assert_array_equal(labels, np.where(values > 0, expected, -1))


def test_features_and_labels_may_be_in_another_order_and_not_all_shared():
    train = shop()
    order = np.random.default_rng(3).permutation(30)[:25]  # labels 25 of the items, in another order
    X = train.X
    Y = sparse.csr_array(train.Y.toarray()[:, order])
    names = [NAMES[item] for item in order]
    shuffled = lt.Dataset(X, Y, label_names=names, encoder=train.encoder)
    queries, _ = split(random_baskets(40, seed=5))
    labels, _ = lt.baselines.ease(shuffled, ridge=7.0).rank(queries, 30)
    baskets = train.X.toarray().copy()
    baskets[:, order] += Y.toarray()
    gram = np.linalg.inv(baskets.T @ baskets + 7.0 * np.eye(30))
    B = gram / -np.diag(gram)
    np.fill_diagonal(B, 0)
    scores = queries @ B
    scores[queries > 0] = -np.inf
    for row, found in enumerate(labels):
        own = scores[row, order]
        expected = [label for label in np.argsort(-own, kind="stable") if own[label] > 1e-7]
        assert [label for label in found if label >= 0 and own[label] > 1e-7] == expected


def test_points_of_one_basket_count_as_one():
    train = shop()
    rows = np.repeat(np.arange(train.n_points), 4)
    X, Y = train.X[rows], train.Y[rows]
    several = lt.Dataset(X, Y, NAMES, encoder=train.encoder, sample_weight=np.full(len(rows), 0.25))
    one, four = (lt.baselines.ease(data, ridge=5.0).weights_ for data in (train, several))
    np.testing.assert_allclose(one, four, atol=1e-6)


def test_only_the_most_frequent_items_are_used_and_the_note_says_so():
    baseline = lt.baselines.ease(shop(), ridge=5.0, max_items=10)
    assert baseline.weights_.shape == (10, 10)
    assert "only the 10 most frequent of 30 items" in baseline.note
    counts = (shop().X + shop().Y).sum(axis=0)
    labels, _ = baseline.rank(shop().X[:50], 10)
    assert set(np.unique(labels)) - {-1} <= set(np.argsort(-counts, kind="stable")[:10].tolist())


def test_too_many_items_are_refused_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr(items_module, "free_bytes", lambda: 20 * 12**2)
    with pytest.raises(InputError, match=r"EASE with 30 of 30 items needs .* free: give max_items of at most 12"):
        lt.baselines.ease(shop())
    assert lt.baselines.ease(shop(), max_items=12).n_items_ == 12


def test_the_ridge_is_learned_on_held_out_points(monkeypatch):
    train = shop(2000)
    found = lt.baselines.ease(train)
    assert found.ridge_ in items_module._RIDGES
    hits = {}
    X, Y = split(random_baskets(1000, seed=9))
    for ridge in items_module._RIDGES:
        labels, _ = lt.baselines.ease(train, ridge=ridge).rank(X, 5)
        hits[ridge] = lt.metrics.precision_at_k(Y, labels, 5)
    assert hits[found.ridge_] > max(hits.values()) - 0.01
    assert lt.baselines.ease(shop(60)).ridge_ == 100  # too few points


def test_features_that_are_not_items_are_refused():
    texts = lt.Dataset([[1.0, 0.0], [0.0, 1.0]], [[1, 0, 0], [0, 1, 1]])
    for make in (lt.baselines.ease, lt.baselines.own_most_frequent):
        with pytest.raises(InputError, match=r"needs features that are items: .* features='basket'"):
            make(texts)


def test_own_most_frequent_returns_own_items_by_value_then_popular_ones():
    rng = np.random.default_rng(0)
    history = (rng.random((200, 30)) < 0.1) * rng.integers(1, 4, (200, 30))
    bought = ((rng.random((200, 30)) < 0.05) | ((history > 2) & (rng.random((200, 30)) < 0.5))).astype(float)
    encoder = lt.encoders.ItemEncoder(NAMES, weighting="count")
    baseline = lt.baselines.own_most_frequent(lt.Dataset(history.astype(float), bought, NAMES, encoder=encoder))
    shares = bought.mean(axis=0)
    labels, scores = baseline.rank(history[:50].astype(float), 6)
    for row in range(50):
        key = [(-history[row, item], -shares[item], item) for item in range(30)]
        assert labels[row].tolist() == [item for *_, item in sorted(key)][:6]
    assert (np.diff(scores, axis=1) <= 0).all()
    assert scores.max() <= 1


def test_tables_have_ease_for_items_and_own_most_frequent_where_items_repeat():
    def names(data):
        return [baseline.name for baseline in make_baselines(training_points(data))]

    log = lt.datasets.load_shop_log()
    baskets = lt.prepare_logs(log, lt.Columns(context="basket"), features=("basket", 2)).train
    assert names(baskets) == ["popularity", "recent popularity", "co-occurrence", "neighbours", "EASE"]
    columns = lt.Columns(context="customer", session="basket")
    history = lt.prepare_logs(log.filter(pl.col("time") < "2025-02-01"), columns, features="history").train
    assert names(history)[-2:] == ["neighbours", "EASE"]
    assert "own most frequent" in names(history)
    assert names(([[1.0, 0.0]], [[1, 0]])) == ["popularity", "co-occurrence", "neighbours"]
