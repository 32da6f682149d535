"""Every baseline against plain loops over the definition, and what all of them share."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.baselines import similar
from labeltrees.errors import InputError

MAKERS = {
    "popularity": lt.baselines.popularity,
    "co-occurrence": lt.baselines.co_occurrence,
    "neighbours": lambda train: lt.baselines.neighbours(train, n_neighbours=3),
}


def make_data(n_points=40, n_features=12, n_labels=9, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n_points, n_features)) < density, rng.random((n_points, n_features)) + 0.1, 0)
    Y = rng.random((n_points, n_labels)) < 0.5 / (1 + np.arange(n_labels))
    Y[0, 0] = True
    return X.astype(np.float32), Y, rng.integers(1, 5, n_points).astype(float)


def best_of(scores, k):
    """The k best labels by score as float32, then by id, padded."""
    scores = np.asarray(scores).astype(np.float32)
    order = [
        label for label in sorted(range(len(scores)), key=lambda label: (-scores[label], label)) if scores[label] > 0
    ]
    order = order[:k]
    padding = k - len(order)
    return order + [-1] * padding, [float(scores[label]) for label in order] + [0.0] * padding


def check(baseline, X, expected_scores, k):
    labels, scores = baseline.predict_topk(X, k)
    for row, expected in enumerate(expected_scores):
        best, values = best_of(expected, k)
        np.testing.assert_allclose(scores[row], values, rtol=1e-5, atol=1e-7)
        for place, label in enumerate(labels[row].tolist()):
            # Equal scores may differ by rounding between the two computations.
            assert label == best[place] or expected[label] == pytest.approx(values[place], rel=1e-5)


@st.composite
def cases(draw):
    data = make_data(
        draw(st.integers(1, 30)), draw(st.integers(1, 10)), draw(st.integers(1, 9)), draw(st.integers(0, 9999)),
        draw(st.sampled_from([0.1, 0.5, 1.0])),
    )  # fmt: skip
    return *data, draw(st.integers(1, 12))


@settings(max_examples=30)
@given(cases())
def test_popularity_is_the_weighted_share_of_points(case):
    X, Y, weights, k = case
    shares = [sum(w for w, has in zip(weights, column, strict=True) if has) / weights.sum() for column in Y.T]
    check(lt.baselines.popularity(lt.Dataset(X, Y, sample_weight=weights)), X[:3], [shares] * len(X[:3]), k)


@settings(max_examples=30)
@given(cases())
def test_co_occurrence_averages_the_probability_given_each_feature(case):
    X, Y, weights, k = case
    expected = []
    for point in X[:5]:
        score = np.zeros(Y.shape[1])
        for feature, value in enumerate(point):
            having = X[:, feature] != 0
            if value:
                score += value * (weights[having] @ Y[having]) / weights[having].sum()
        expected.append(score / max(point.sum(), 1e-9))
    check(lt.baselines.co_occurrence(lt.Dataset(X, Y, sample_weight=weights)), X[:5], expected, k)


def cosine(a, b):
    return float(a @ b) / (np.sqrt(float(a @ a) * float(b @ b)) or 1.0)


@settings(max_examples=30)
@given(cases(), st.integers(1, 8))
def test_neighbours_vote_with_their_similarity(case, n_neighbours):
    X, Y, _, k = case
    queries = make_data(4, X.shape[1], Y.shape[1], seed=77)[0]
    expected = []
    for point in queries.astype(np.float64):
        similarity = np.array([cosine(point, other) for other in X.astype(np.float64)])
        nearest = sorted(range(len(X)), key=lambda row: (-np.float32(similarity[row]), row))[:n_neighbours]
        nearest = [row for row in nearest if similarity[row] > 0]
        votes = similarity[nearest]
        expected.append(votes @ Y[nearest] / votes.sum() if len(nearest) else np.zeros(Y.shape[1]))
    ranked = [np.sort([cosine(point, other) for other in X])[::-1] for point in queries]
    clear = [
        len(X) <= n_neighbours or s[n_neighbours - 1] - s[n_neighbours] > 1e-4 or s[n_neighbours - 1] == 0
        for s in ranked
    ]
    rows = np.flatnonzero(clear)  # where rounding cannot decide who the last neighbour is
    if len(rows):
        check(lt.baselines.neighbours((X, Y), n_neighbours), queries[rows], [expected[row] for row in rows], k)


def test_neighbours_are_those_of_scikit_learn():
    from sklearn.neighbors import NearestNeighbors

    X, Y, _ = make_data(200, 30, 9, density=0.15)
    queries = make_data(20, 30, 9, seed=5, density=0.15)[0]
    nearest = NearestNeighbors(n_neighbors=7, metric="cosine", algorithm="brute").fit(X)
    distances, rows = nearest.kneighbors(queries)
    votes = np.maximum(1 - distances, 0)
    expected = [vote @ Y[found] / vote.sum() for vote, found in zip(votes, rows, strict=True)]
    check(lt.baselines.neighbours((X, Y), 7), queries, expected, 5)


def test_equally_near_neighbours_are_taken_in_order():
    X = np.ones((4, 1))
    labels, _ = lt.baselines.neighbours((X, np.eye(4)), n_neighbours=2).predict_topk([[2.0]], k=4)
    assert labels.tolist() == [[0, 1, -1, -1]]


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_equal_scores_go_to_the_smaller_label(name):
    labels, scores = MAKERS[name](([[1.0, 1.0]], [[0, 1, 1, 1]])).predict_topk([[1.0, 0.0]], k=2)
    assert labels.tolist() == [[1, 2]]
    assert scores.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_names_are_returned_where_labels_have_names(name):
    X, Y = np.eye(2), np.array([[1, 0], [0, 1]])
    baseline = MAKERS[name](lt.Dataset(X, Y, label_names=["ant", "bee"]))
    labels, scores = baseline.predict_topk(X, k=3)
    assert labels[0, 0] == "ant"
    assert labels[1, 2] is None
    assert scores[1, 2] == 0
    assert scores.dtype == np.float32
    ids, _ = baseline.rank(X, k=3)
    assert ids.dtype == np.int64
    assert ids[0, 0] == 0


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_texts_are_vectorised(name):
    texts = ["red cat", "red dog", "blue bird"]
    baseline = MAKERS[name]((texts, np.eye(3)))
    labels, _ = baseline.predict_topk(["a blue one", "red dog"], k=1)
    assert labels.shape == (2, 1)
    if name != "popularity":
        assert labels[0, 0] == 2


def test_a_dataset_with_texts_and_features_takes_both():
    train, test = lt.datasets.load_debian()
    baseline = lt.baselines.popularity(train)
    np.testing.assert_array_equal(baseline.predict_topk(test.X[:3])[0][0], baseline.predict_topk(train.X[:1])[0][0])


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_dense_and_sparse_points_give_the_same(name, form):
    X, Y, _ = make_data()
    expected = MAKERS[name]((sp.csr_array(X), Y)).predict_topk(X, 4)
    for one, other in zip(MAKERS[name]((form(X), Y)).predict_topk(form(X), 4), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["co-occurrence", "neighbours"])
def test_blocks_do_not_change_the_answers(name, monkeypatch):
    X, Y, _ = make_data(60, density=0.1)
    expected = MAKERS[name]((X, Y)).predict_topk(X, 4)
    monkeypatch.setattr(similar, "_MAX_PRODUCTS", 5)
    monkeypatch.setattr(similar, "_MAX_SIMILARITIES", 70)
    for one, other in zip(MAKERS[name]((X, Y)).predict_topk(X, 4), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_dense_and_sparse_products_agree(monkeypatch):
    X, Y, _ = make_data(density=0.5)
    dense = lt.baselines.neighbours((X, Y), 5).predict_topk(X, 4)
    monkeypatch.setattr(similar, "_DENSE", 2)
    sparse = lt.baselines.neighbours((X, Y), 5).predict_topk(X, 4)
    np.testing.assert_allclose(dense[1], sparse[1], rtol=1e-5)


def test_only_the_most_probable_labels_of_a_feature_are_kept():
    X, Y, _ = make_data(200, 3, 9)
    full = lt.baselines.co_occurrence((X, Y)).probabilities_.toarray()
    kept = lt.baselines.co_occurrence((X, Y), labels_per_feature=2).probabilities_.toarray()
    for row, kept_row in zip(full, kept, strict=True):
        order = np.lexsort((np.arange(9), -row))
        assert set(np.flatnonzero(kept_row)) == set(order[:2])
        np.testing.assert_array_equal(kept_row[order[:2]], row[order[:2]])


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_no_points_give_empty_lists(name):
    X, Y, _ = make_data()
    labels, scores = MAKERS[name]((X, Y)).predict_topk(X[:0], 3)
    assert labels.shape == scores.shape == (0, 3)


@pytest.mark.parametrize("name", ["co-occurrence", "neighbours"])
def test_a_point_without_features_gets_no_labels(name):
    X, Y, _ = make_data()
    labels, _ = MAKERS[name]((X, Y)).predict_topk(np.zeros((2, X.shape[1])), 3)
    assert (labels == -1).all()


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize(
    ("queries", "k", "message"),
    [
        (np.ones((1, 3)), 5, "X must be a matrix with 12 columns, as in train, got '3 columns'"),
        (["a text"], 5, "because train had no texts"),
        (np.full((1, 12), np.nan), 5, "X has a NaN"),
        (np.ones((1, 12)), 0, "k must be an integer of at least 1"),
    ],
)
def test_bad_queries_are_refused(name, queries, k, message):
    X, Y, _ = make_data()
    with pytest.raises(InputError, match=message):
        MAKERS[name]((X, Y)).predict_topk(queries, k)


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize(
    ("train", "message"),
    [
        ((np.eye(2), np.zeros((2, 3))), "train must have points with labels, got 2 points with 0 labels"),
        ("words", "train must be a Dataset or a pair"),
        ((["!", "?"], np.eye(2)), "no features can be made from its 2 texts"),
    ],
)
def test_bad_training_data_is_refused(name, train, message):
    with pytest.raises(InputError, match=message):
        MAKERS[name](train)


def test_a_baseline_says_what_it_is():
    assert repr(lt.baselines.popularity((np.eye(2), np.eye(2)))) == "Popularity(2 labels)"
    names = [make((np.eye(2), np.eye(2))).name for make in MAKERS.values()]
    assert names == list(MAKERS)


def test_a_huge_k_is_the_number_of_labels():
    baseline = lt.baselines.popularity((np.eye(3), np.eye(3)))
    assert baseline.predict_topk(np.eye(3), 10**8)[0].shape == (3, 3)
