"""Evidence of items: which rows it has, that it measures what EASE and a count say, and when it can be used."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.data.label_texts import LabelTexts
from labeltrees.labels.items import item_gram, item_weights
from labeltrees.models.linear import items as module
from labeltrees.models.linear.classifiers import KnownPoints
from labeltrees.models.linear.evidence import make_kinds
from labeltrees.models.linear.items import largest, make_baskets, make_items, sharing_items, show_more
from labeltrees.models.linear.label_texts import share_points
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.search.evidence import Evidence, Items
from labeltrees.search.evidence_arrays import from_short, strongest_entries, to_short

N_ITEMS, N_LABELS = 30, 32


def make_log(n=800, seed=0):
    """Baskets of topics, of which one item is hidden. Feature j is label j + 1; label 0 and the last are no feature."""
    rng = np.random.default_rng(seed)
    topics = [rng.choice(N_ITEMS, 8, replace=False) for _ in range(6)]
    X, Y = np.zeros((n, N_ITEMS), np.float32), np.zeros((n, N_LABELS), np.float32)
    for point in range(n):
        own = rng.choice(topics[rng.integers(6)], 5, replace=False)
        X[point, own[:4]] = 1
        Y[point, own[4] + 1] = 1
        Y[point, N_LABELS - 1] = point % 7 == 0
    return sp.csr_array(X), sp.csr_array(Y)


def make_known(X, Y):
    model = lt.LabelTreeClassifier(fanout=4).fit(X, Y)
    return KnownPoints(X, Y, None, None, model, LinearSettings(), 0, np.arange(1, N_ITEMS + 1))


def dense_ease(X, Y, ridge):
    """Return W (features, labels) of EASE on baskets of features and labels, with weights by size."""
    B = Y.toarray().copy()
    B[:, 1 : N_ITEMS + 1] = np.maximum(B[:, 1 : N_ITEMS + 1], X.toarray())
    weights = 1 / np.sqrt(B.sum(axis=1))
    weights /= weights.mean()
    P = np.linalg.inv((B.T * weights) @ B + ridge * np.eye(N_LABELS))
    W = -P / np.diag(P)
    np.fill_diagonal(W, 0)
    return W[1 : N_ITEMS + 1]


def test_the_measure_of_a_label_is_its_score_in_ease():
    X, Y = make_log()
    evidence = make_kinds(make_known(X, Y), {"items": 10.0})
    queries = sp.csr_array(3.0 * make_log(40, seed=1)[0])  # values do not matter
    found = evidence.measure(queries, np.tile(np.arange(N_LABELS), (40, 1)))["items"]
    W = from_short(to_short(dense_ease(X, Y, 10.0)))
    expected = np.clip((queries.toarray() != 0) @ W, 0, 1)
    expected[:, 1 : N_ITEMS + 1][queries.toarray() != 0] = 0  # nothing is bought twice in these baskets
    np.testing.assert_allclose(found, expected, atol=2e-2)
    assert found.max() > 0.2


def test_large_baskets_decide_less():
    X, Y = make_log(400)
    rng = np.random.default_rng(1)
    many = X.toarray()
    many[::2] = np.maximum(many[::2], rng.random((200, N_ITEMS)) < 0.5)
    many[Y.toarray()[:, 1:-1] > 0] = 0
    X = sp.csr_array(many)
    rows = make_items(make_known(X, Y), 10.0).rows
    found = np.zeros((N_LABELS, N_ITEMS), np.float32)
    found[np.repeat(np.arange(N_LABELS), np.diff(rows.indptr)), rows.columns] = from_short(rows.values)
    found[np.arange(1, N_ITEMS + 1), np.arange(N_ITEMS)] = 0
    np.testing.assert_allclose(found, dense_ease(X, Y, 10.0).T, atol=1e-3, rtol=1e-2)


@pytest.mark.parametrize("n_features", [100, 300, 30_000])
@pytest.mark.parametrize("n_items", [0, 1, 40, 100])
def test_weights_of_long_and_short_rows_are_summed_up(n_features, n_items):
    # Rows with more than 64 weights have bitmaps, unless these are larger than the rows, as with 30,000 features.
    rng = np.random.default_rng(n_items)
    weights = np.zeros((300, n_features), np.float32)
    for label, row in enumerate(weights):
        n = label % 100
        row[rng.permutation(n_features)[:n]] = 0.03 * rng.standard_normal(n) + 0.01
    weights = from_short(to_short(weights)).reshape(weights.shape)
    sparse = sp.csr_array(weights)
    rows = strongest_entries(sparse.indptr, sparse.indices, sparse.data, n_features)
    X = np.zeros((20, n_features), np.float32)
    for row in X:
        row[rng.permutation(n_features)[:n_items]] = rng.random(n_items) + 0.1
    labels = np.array([rng.permutation(300) for _ in range(20)])
    found = Evidence(300, n_features, (Items(rows),)).measure(sp.csr_array(X), labels)["items"]
    expected = np.clip(np.take_along_axis((X != 0) @ weights.T, labels, axis=1), 0, 1)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert n_items == 0 or found.max() > 0.03


def test_items_beyond_the_frequent_ones_get_sparse_weights(monkeypatch):
    X, Y = make_log()
    monkeypatch.setattr(module, "MAX_DENSE", 3)
    monkeypatch.setattr(module, "N_OTHERS", 4)
    rows = make_items(make_known(X, Y), 10.0).rows
    lengths = np.diff(rows.indptr)
    assert lengths[0] == 0  # a label without points
    assert 0 < lengths[1:].max() <= 4 + 1  # and itself
    B = make_baskets(X, Y, np.arange(1, N_ITEMS + 1))[0]
    assert B.shape == (800, N_LABELS)
    assert B.nnz == X.nnz + Y.nnz


def test_weights_do_not_depend_on_how_a_basket_is_divided_into_points():
    X, Y = (part[:200].toarray() for part in make_log(seed=3))
    items = np.arange(1, N_ITEMS + 1)
    swapped_X, swapped_Y = X.copy(), np.zeros_like(Y)
    for row in range(len(X)):  # another item of the same basket is hidden
        shown, hidden = int(np.flatnonzero(X[row])[0]), int(np.flatnonzero(Y[row, 1:-1])[0])
        swapped_X[row, shown], swapped_X[row, hidden] = 0, 1
        swapped_Y[row, shown + 1], swapped_Y[row, -1] = 1, Y[row, -1]
    both = sp.csr_array(np.vstack([X, swapped_X])), sp.csr_array(np.vstack([Y, swapped_Y]))
    model = make_known(*both).model
    halves = KnownPoints(*both, np.full(400, 0.5), None, model, LinearSettings(), 0, items)
    whole = KnownPoints(sp.csr_array(X), sp.csr_array(Y), None, None, model, LinearSettings(), 0, items)
    one, two = (make_items(known, 10.0).rows for known in (whole, halves))
    np.testing.assert_array_equal(one.columns, two.columns)
    np.testing.assert_array_equal(one.values, two.values)


@pytest.mark.parametrize("ridge", [1e-4, 10.0])
def test_item_weights_are_those_of_least_squares_in_both_precisions(ridge):
    X, Y = make_log(300)
    baskets = sp.csr_array(sp.hstack([X, Y[:, [0]]], format="csr"))  # the last column is 0
    weights = np.random.default_rng(0).random(300) + 0.5
    found = item_weights(item_gram(baskets, weights), ridge)
    B = baskets.toarray().astype(float)
    for item in range(N_ITEMS):
        others = np.delete(np.arange(N_ITEMS + 1), item)
        A = B[:, others]
        own = np.linalg.solve((A.T * weights) @ A + ridge * np.eye(N_ITEMS), (A.T * weights) @ B[:, item])
        np.testing.assert_allclose(found[others, item], own, atol=1e-5)
    assert not found.diagonal().any()


@given(values=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=12), n=st.integers(1, 12))
def test_the_largest_values_are_the_first_of_a_stable_sort(values, n):
    order = sorted(range(len(values)), key=lambda place: (-values[place], place))[:n]
    expected = sorted(place for place in order if values[place] > 0)
    assert largest(np.array(values), n).tolist() == expected


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_every_second_pair_of_baskets_hides_one_item(seed):
    rng = np.random.default_rng(seed)
    items = rng.permutation(np.append(np.arange(6), [-1, -1]))  # two features are no items; labels 6 and 7 no features
    basket = rng.random((9, 8)) < 0.7
    hidden = basket & (rng.random((9, 8)) < 0.5)
    X = np.zeros((9, 8), np.float32)
    for feature, label in enumerate(items.tolist()):
        X[:, feature] = (basket & ~hidden)[:, label] * 2.0 if label >= 0 else rng.random(9) < 0.5
    shown, left = (part.toarray() for part in show_more(sp.csr_array(X), sp.csr_array(hidden * 1.0), items, seed))
    for row in range(9):
        if row // 2 % 2 == 0:
            np.testing.assert_array_equal((shown[row], left[row]), (X[row], hidden[row]))
            continue
        moved = np.flatnonzero(hidden[row] & (left[row] == 0))
        assert set(np.flatnonzero(left[row])) == set(np.flatnonzero(hidden[row])) - set(moved)
        assert set(np.flatnonzero(shown[row] != X[row])) == {items.tolist().index(label) for label in moved}
        movable = np.flatnonzero(hidden[row, :6])
        assert len(moved) in (len(movable) - 1, len(movable))  # the label that stays may be one without a feature
        assert left[row].sum() >= min(hidden[row].sum(), 1)


def test_points_that_repeat_items_stay_as_they_are():
    X = sp.csr_array(np.ones((8, 3), np.float32))
    assert show_more(X, X, np.arange(3), 0) == (X, X)


def test_fits_on_the_same_points_share_their_weights_within_a_context(monkeypatch):
    X, Y = make_log()
    known, other = make_known(X, Y), make_known(*make_log(seed=1))
    alone = make_items(known, 10.0)
    calls = []
    monkeypatch.setattr(module, "item_weights", lambda *given: calls.append(1) or item_weights(*given))
    made = {}
    with sharing_items(made):
        first = make_items(known, 10.0)
        assert make_items(make_known(X, Y), 10.0) is first
        assert make_items(known, 20.0) is not first
        assert make_items(other, 10.0) is not first
        assert len(calls) == len(made) == 3
    assert make_items(known, 10.0) is not first
    for name in ("indptr", "columns", "values"):
        np.testing.assert_array_equal(getattr(first.rows, name), getattr(alone.rows, name))


def test_the_own_value_of_an_item_is_its_share_of_the_query():
    X, Y = make_log()
    evidence = make_kinds(make_known(X, Y), {"own": 0.0})
    query = np.zeros((1, N_ITEMS), np.float32)
    query[0, [4, 9]] = 3, 4
    found = evidence.measure(sp.csr_array(query), np.array([[5, 10, 0, 11]]))["own"]
    np.testing.assert_allclose(found, [[0.6, 0.8, 0, 0]], atol=1e-6)


def make_dataset(n=800, seed=0):
    X, Y = make_log(n, seed)
    names = [f"item {number}" for number in range(N_LABELS)]
    encoder = lt.encoders.ItemEncoder(names[1 : N_ITEMS + 1], weighting="binary")
    return lt.Dataset(X, Y, label_names=names, encoder=encoder)


@pytest.mark.parametrize("kinds", ["items", "own+items", "auto"])
def test_models_of_baskets_use_items_in_batches_single_calls_and_files(tmp_path, kinds):
    train = make_dataset()
    model = lt.LabelTreeClassifier(evidence=kinds, n_jobs=1).fit(train)
    stats = model.stats_["evidence"]
    assert set(stats["weights"]) <= {"items", "own", "neighbours", "centroids", "classifiers"}
    labels, scores = model.predict_topk(train.X[:50], 5)
    assert ((scores >= 0) & (scores <= 1)).all()
    context = [str(model.encoder_.feature_names[column]) for column in train.X[[3]].indices]
    assert model.predictor(5, names=True)(context)[0] == labels[3].tolist()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(lt.load(tmp_path / "model", verify=True).predict_topk(train.X[:50], 5)[0], labels)


def test_features_that_are_no_items_are_refused():
    X, Y = make_log(100)
    with pytest.raises(lt.errors.InputError, match="evidence='items' needs features that are items"):
        lt.LabelTreeClassifier(evidence="items").fit(X, Y)
    assert lt.LabelTreeClassifier(evidence="auto", C=1.0).fit(X, Y).searcher_ is not None


def dense_proposals(kind):
    found = np.zeros((N_ITEMS, N_LABELS), np.float32)
    rows = kind.proposals
    for feature in range(N_ITEMS):
        own = slice(rows.indptr[feature], rows.indptr[feature + 1])
        found[feature, rows.columns[own]] = from_short(rows.values[own])
    return found


@pytest.mark.parametrize("rule", ["none", "exclude", "candidates"])
def test_lists_are_the_best_of_what_the_tree_and_the_items_propose(monkeypatch, rule):
    monkeypatch.setattr(Items, "N_SEARCHED", 3)
    monkeypatch.setattr(Items, "N_CANDIDATES", 10)  # the least, as for other kinds
    monkeypatch.setattr(Items, "N_PROPOSED", 6)
    train, queries = make_dataset(), make_log(60, seed=1)[0]
    model = lt.LabelTreeClassifier(evidence="items", beam=None, n_jobs=1).fit(train)
    evidence = model.searcher_.evidence
    every = np.tile(np.arange(N_LABELS), (60, 1))
    measured, weight = evidence.measure(queries, every)["items"], evidence.weights["items"]
    sums = (queries.toarray() != 0) @ dense_proposals(evidence["items"])
    allowed = np.ones(N_LABELS, dtype=bool)
    some = [f"item {number}" for number in range(2, N_LABELS, 3)]
    given = {} if rule == "none" else {rule: some}
    if rule != "none":
        allowed[2::3] = False
        allowed = allowed if rule == "exclude" else ~allowed
    labels, scores = model.predict_topk(queries, 5, **given)
    model.set_params(evidence=None)
    in_tree = model.predict_scores(queries, N_LABELS).toarray()
    n_proposed_alone = 0
    for query in range(60):
        trees = np.where(allowed, in_tree[query], -1)
        proposed = [label for label in np.argsort(-trees, kind="stable")[:10] if trees[label] > 0]
        others = np.where(allowed, sums[query], -1)
        others[proposed] = -1
        new = [label for label in np.argsort(-others, kind="stable")[:6] if others[label] > 0]
        blended = {
            label: (in_tree[query, label] + weight * measured[query, label]) / (1 + weight) for label in proposed
        }
        blended |= {label: weight * measured[query, label] / (1 + weight) for label in new}
        expected = sorted(blended.values(), reverse=True)[:5]
        np.testing.assert_allclose(scores[query][: len(expected)], expected, rtol=1e-4, atol=1e-6)
        found = [int(str(name).split()[1]) for name in labels[query] if name is not None]
        assert set(found) <= set(blended)
        n_proposed_alone += len(set(found) & set(new))
    assert n_proposed_alone > 0 or rule == "candidates"  # of which the tree has proposed all


def test_models_of_baskets_use_items_by_default_and_others_use_no_evidence():
    train = make_dataset()
    model = lt.LabelTreeClassifier(n_jobs=1, C=0.001).fit(train)  # a tree that leaves something to learn
    assert set(model.stats_["evidence"]["weights"]) <= {"items", "own"}
    assert model.searcher_.evidence is not None
    assert lt.LabelTreeClassifier.like(model).evidence == "+".join(model.stats_["evidence"]["weights"])
    assert "evidence" not in lt.LabelTreeClassifier().fit(train.X, train.Y).stats_


def test_labels_that_are_removed_are_not_proposed():
    train = make_dataset()
    model = lt.LabelTreeClassifier(evidence="items", n_jobs=1).fit(train)
    gone = [f"item {number}" for number in range(5, 15)]
    model.retire(gone)
    labels, scores = model.predict_topk(train.X[:50], 5)
    assert not set(labels.ravel()) & set(gone)
    model.compact()
    again, same = model.predict_topk(train.X[:50], 5)
    np.testing.assert_array_equal(again, labels)
    np.testing.assert_allclose(same, scores, rtol=1e-5)


TITLES = {"red": "red", "tea": "tea", "car": "car"}


def make_titled_log(n=600, seed=0):
    """Baskets of one theme; the names of items have the word of their theme. Item "red 0" is in one basket."""
    rng = np.random.default_rng(seed)
    baskets = []
    for _ in range(n):
        theme = rng.choice(list(TITLES))
        baskets.append([f"{theme} {number}" for number in rng.choice(np.arange(1, 9), 4, replace=False)])
    baskets[0] = ["red 0", "red 1", "red 2"]
    return {"context": np.repeat(np.arange(n), [len(own) for own in baskets]), "item": np.concatenate(baskets)}


@pytest.mark.parametrize("n_events", [0, 1])
def test_an_item_with_words_and_few_events_is_placed_by_its_words(n_events):
    import polars as pl

    frame = pl.DataFrame(make_titled_log())
    frame = frame if n_events else frame.filter(pl.col("item") != "red 0")
    train, _ = lt.prepare_logs(frame, features="basket", test_share=0, min_engagement=0)
    titles = {f"{theme} {number}": f"{theme} thing number{number}" for theme in TITLES for number in range(1, 9)}
    texts = {**titles, "red 0": "red thing, brand new"}
    model = lt.LabelTreeClassifier(n_jobs=1).fit(train, label_texts=texts)
    assert "red 0" in model.label_names_
    assert model.titles(["red 0"]).tolist() == ["red thing, brand new"]
    baskets = [["red 1", "red 2", "red 3"], ["tea 1", "tea 2", "tea 3"]]
    of_red, of_tea = model.predict_scores(baskets, 25).toarray()[:, model.label_names_.tolist().index("red 0")]
    assert of_red > 1.5 * of_tea  # recommended with its theme
    assert "red 0" in model.predict_topk(baskets, 6, exclude=baskets)[0][0]
    asked = model.predictor(5, names=True)(["red 0"])[0]  # and it can be in a basket
    assert sum(str(name).startswith("red") for name in asked) >= 4
    assert model.score(train.X, train.Y) > 0.1  # points that were encoded before the item came
    assert model.predict_topk(train.X[:5], 3)[0].tolist() == model.predict_topk(train.X[:5].tocoo(), 3)[0].tolist()
    plain = lt.LabelTreeClassifier(n_jobs=1, label_texts="none").fit(train, label_texts=texts)
    assert n_events or "red 0" not in plain.label_names_


@pytest.mark.parametrize("seed", range(5))
def test_new_items_share_a_bounded_number_of_points_of_similar_items(seed):
    X, Y = make_log(800, seed)
    items = np.arange(1, N_ITEMS + 1)
    is_known = Y.sum(axis=0) > 0
    texts = LabelTexts.of_lists([[f"theme{label % 5} word{label}"] * int(is_known[label]) for label in range(N_LABELS)])
    new = np.random.default_rng(seed).choice(items[is_known[items]], 4, replace=False)
    has_new = np.isin(items, new)
    X = sp.csr_array(X.toarray() * ~has_new)
    Y = Y.toarray()
    Y[:, new] = 0
    Y = sp.csr_array(Y)
    wider_X, wider_Y = share_points(X, Y, None, texts, items)
    assert wider_X.shape == X.shape
    assert wider_Y.shape == Y.shape
    added_X, added_Y = sp.coo_array(wider_X - X), sp.coo_array(wider_Y - Y)
    assert 0 < added_Y.nnz <= 0.05 * Y.nnz
    assert 0 < added_X.nnz <= 0.05 * Y.nnz
    assert set(added_Y.col) <= set(new)
    assert set(items[added_X.col]) <= set(new)
    for point, label in zip(added_Y.row, added_Y.col, strict=True):
        assert any(own % 5 == label % 5 for own in Y[[point]].indices)  # a label with a word of the new item
    in_X = wider_X.toarray() != 0
    assert not (in_X & (wider_Y.toarray()[:, 1 : N_ITEMS + 1] != 0)).any()  # no item is both


def test_where_most_items_are_new_none_shares_points():
    X, Y = make_log(12)
    texts = LabelTexts.of_lists([["red thing"]] * N_LABELS)
    wider_X, wider_Y = share_points(X, Y, None, texts, np.arange(1, N_ITEMS + 1))
    assert (wider_X != X).nnz == (wider_Y != Y).nnz == 0
