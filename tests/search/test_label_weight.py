"""Weights of labels inside the search: the same lists as weighting the score of every label."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.search import NodeValues, Searcher, SearchRequest

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_labels": st.integers(1, 60),
        "most_children": st.integers(2, 40),
        "n_features": st.sampled_from([5, 33, 600]),
        "stop": st.sampled_from([0.1, 0.9]),
    }
)


def random_weights(seed, n_labels):
    """Weights over several orders of magnitude, some of them 0."""
    rng = np.random.default_rng(seed)
    weights = np.exp(3 * rng.standard_normal(n_labels))
    weights[rng.random(n_labels) < 0.2] = 0
    return weights


def with_logs(weights):
    with np.errstate(divide="ignore"):
        return np.log(weights.astype(np.float32).astype(np.float64))


@given(shapes, st.integers(1, 70), st.sampled_from(["squared_hinge", "logistic"]))
@settings(max_examples=60, deadline=None)
def test_weighted_lists_equal_brute_force(twin, shape, k, loss):
    model = twin.random_model(**shape, values=None)
    X = twin.random_queries(shape["seed"], 6, model.n_features, values=None)
    weights = random_weights(shape["seed"], model.n_labels)
    power = 2.0 if loss == "squared_hinge" else 0
    labels, scores = twin.best_of(twin.path_scores(model, X, power) + with_logs(weights), k)
    searcher = Searcher(model.pack(), score_power=2.0, loss=loss)
    for search in ("best_first", "paths"):
        found = searcher.topk(X, SearchRequest(k, search=search, beam=None, label_weight=weights))
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_allclose(found.scores, scores, rtol=1e-4, atol=1e-30)
    one = searcher.predictor(SearchRequest(k, label_weight=weights))(X[:1].indices, X[:1].data)
    assert one[0].tolist() == labels[0][labels[0] >= 0].tolist()


@pytest.mark.parametrize("restriction", [{"candidates": list(range(0, 40, 2))}, {"exclude": [0, 1, 2, 7]}])
def test_weights_work_beside_candidates_and_exclusions(twin, restriction):
    model = twin.random_model(3, n_labels=40, values=None)
    X = twin.random_queries(3, 10, model.n_features, values=None)
    weights = random_weights(4, 40)
    expected = twin.path_scores(model, X) + with_logs(weights)
    allowed = np.zeros(40, bool)
    allowed[restriction.get("candidates", slice(None))] = True
    allowed[restriction.get("exclude", [])] = False
    labels, _ = twin.best_of(np.where(allowed, expected, -np.inf), 6)
    found = Searcher(model.pack()).topk(X, SearchRequest(6, label_weight=weights, **restriction))
    np.testing.assert_array_equal(found.labels, labels)


def test_an_ensemble_weights_the_mean_of_its_trees(toy_data):
    X, Y = toy_data
    model = lt.LabelTreeClassifier(n_trees=3, fanout=4, leaf_size=4, tradeoff=1, C=1.0).fit(X, Y)
    weights = random_weights(0, Y.shape[1]) + 0.01
    labels, scores = model.predict_topk(X, Y.shape[1], beam=None)
    rows = np.arange(len(labels))[:, np.newaxis]
    every = np.zeros(labels.shape)
    every[rows, labels] = scores
    found, products = model.predict_topk(X, 3, label_weight=weights)
    trees = [model.searcher_.of_tree(tree).topk(X, Y.shape[1]) for tree in range(3)]
    for row in range(len(found)):
        pooled = set()
        for tree in trees:
            weighted = tree.scores[row] * weights[tree.labels[row]]
            pooled |= set(tree.labels[row][np.argsort(-weighted, kind="stable")[:3]].tolist())
        expected = sorted(pooled, key=lambda label: (-every[row, label] * weights[label], label))[:3]
        np.testing.assert_allclose(products[row], [every[row, label] * weights[label] for label in expected], rtol=1e-4)


@pytest.fixture
def toy_data():
    rng = np.random.default_rng(1)
    X = rng.random((80, 12)) * (rng.random((80, 12)) < 0.5)
    Y = (X @ rng.standard_normal((12, 30)) > 1.2).astype(float)
    Y[Y.sum(axis=1) == 0, 0] = 1
    return X, Y


def test_a_model_takes_arrays_mappings_and_prepared_weights(toy_data):
    X, Y = toy_data
    names = [f"label {i}" for i in range(Y.shape[1])]
    model = lt.LabelTreeClassifier(fanout=4, leaf_size=4, C=1.0).fit(X, Y, label_names=names)
    weights = np.ones(Y.shape[1])
    weights[8], weights[5] = 50, 0
    by_array = model.predict_topk(X, 4, label_weight=weights)
    assert "label 5" not in by_array[0]
    assert (by_array[0][:, 0] == "label 8").mean() > (model.predict_topk(X, 4)[0][:, 0] == "label 8").mean()
    prepared = model.label_weights({"label 8": 50, "label 5": 0})
    for other in ({"label 8": 50, "label 5": 0}, prepared):
        labels, scores = model.predict_topk(X, 4, label_weight=other)
        assert labels.tolist() == by_array[0].tolist()
        assert scores.tobytes() == by_array[1].tobytes()
    one, _ = model.predictor(4, label_weight=prepared, names=True)(X[0].astype(np.float32))
    assert one == by_array[0][0].tolist()


def test_weights_make_a_search_exact_unless_a_beam_is_given(toy_data):
    X, Y = toy_data
    model = lt.LabelTreeClassifier(fanout=2, leaf_size=1, beam=1, C=1.0).fit(X, Y)
    weights = random_weights(5, Y.shape[1])
    by_default = model.predict_topk(X, 5, label_weight=weights)
    exact = model.predict_topk(X, 5, label_weight=weights, beam=None)
    narrow = model.predict_topk(X, 5, label_weight=weights, beam=1)
    assert by_default[1].tobytes() == exact[1].tobytes()
    assert narrow[1].sum() < exact[1].sum()


def test_weights_make_a_search_with_agreement_exact(toy_data):
    X, Y = toy_data
    model = lt.LabelTreeClassifier(fanout=2, leaf_size=1, C=1.0).fit(X, Y)
    model.calibrate(np.repeat(X, 2, axis=0), k=[5])
    weights = random_weights(5, Y.shape[1])
    exact = model.predict_topk(X, 5, label_weight=weights)
    assert model.predict_topk(X, 5, label_weight=weights, agreement=0.5)[1].tobytes() == exact[1].tobytes()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(4), "label_weight must be 30 numbers, one per label"),
        (np.full(30, -1.0), "label_weight must be numbers in"),
        (np.full(30, np.nan), "label_weight must be numbers in"),
        (["a"] * 30, "label_weight must be 30 numbers, one per label"),
        ({99: 1.0}, "label_weight must be a mapping with labels of Y as keys"),
        ({3: -1.0}, r"label_weight\[3\] must be"),
    ],
)
def test_other_weights_are_refused(toy_data, weights, message):
    model = lt.LabelTreeClassifier(C=1.0).fit(*toy_data)
    with pytest.raises(InputError, match=message):
        model.predict_topk(toy_data[0], label_weight=weights)


def test_prepared_weights_belong_to_one_model(toy_data):
    one, other = (lt.LabelTreeClassifier(C=1.0).fit(*toy_data) for _ in range(2))
    with pytest.raises(InputError, match="prepared for another model"):
        one.predict_topk(toy_data[0], label_weight=other.label_weights(np.ones(30)))


def test_weights_cannot_be_combined_with_discounts(twin):
    model = twin.random_model(0)
    request = SearchRequest(3, discounts=NodeValues(np.zeros(model.n_nodes)), label_weight=np.ones(model.n_labels))
    with pytest.raises(InputError, match="discounts must be None with label_weight"):
        Searcher(model.pack()).topk(twin.random_queries(0, 2, model.n_features), request)
