"""Costs of points, labels and pairs enter each classifier as they would in liblinear."""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.models.common.error_costs import label_costs, point_costs
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.linear import train
from tests.models.twin import TIGHT, all_scores, any_tree, tight, tree_scores

RNG = np.random.default_rng(1)
WEIGHTS = RNG.integers(1, 5, 120).astype(np.float64)
COSTS = RNG.uniform(0.2, 5, 12)


@pytest.fixture(scope="module", params=["tree", "flat"])
def tree(request):
    return any_tree() if request.param == "tree" else lt.flat_tree(12)


def fitted_scores(tree, problem, sample_weight=None, **options):
    X, Y = problem
    return all_scores(lt.LabelTreeClassifier(tree=tree, **tight(**options)).fit(X, Y, sample_weight), X)


@pytest.mark.parametrize("how", ["sample_weight", "class_weight", "balanced", "relevance", "all"])
def test_the_model_is_liblinears_under_the_same_costs(problem, tree, how):
    X, Y = problem
    weight = WEIGHTS if how in ("sample_weight", "all") else None
    cost = COSTS if how in ("class_weight", "all") else None
    if how in ("relevance", "all"):
        Y = Y.copy()
        Y.data = np.random.default_rng(2).uniform(0.2, 5, Y.nnz).astype(np.float32)
    class_weight = "balanced" if how == "balanced" else cost
    found = fitted_scores(tree, (X, Y), weight, class_weight=class_weight, C=0.5)
    expected = tree_scores(tree, X, Y, X, C=0.5, sample_weight=weight, label_cost=cost, balanced=how == "balanced")
    np.testing.assert_allclose(found, expected, atol=3e-3)
    plain = tree_scores(tree, *problem, X, C=0.5)
    assert np.abs(expected - plain).max() > 0.05  # the costs do matter here


def test_whole_weights_are_repetitions(problem, tree):
    X, Y = problem
    rows = np.repeat(np.arange(120), WEIGHTS.astype(int))
    repeated = lt.LabelTreeClassifier(tree=tree, **TIGHT).fit(X[rows], Y[rows])
    np.testing.assert_allclose(fitted_scores(tree, problem, WEIGHTS, C=1.0), all_scores(repeated, X), atol=2e-3)


def test_whole_weights_are_repetitions_for_the_tree_too(problem):
    X, Y = problem
    rows = np.repeat(np.arange(120), WEIGHTS.astype(int))
    options = {"tree": lt.TreeBuilder(embeddings=lt.pifa(X, Y)), "tradeoff": 1.5, "fanout": 2}
    weighted = lt.LabelTreeClassifier(**options).fit(X, Y, WEIGHTS)
    assert weighted.tree_ == lt.LabelTreeClassifier(**options).fit(X[rows], Y[rows]).tree_
    assert weighted.tree_ != lt.LabelTreeClassifier(**options).fit(X, Y).tree_


def test_points_of_weight_zero_are_not_there(problem):
    X, Y = problem
    weight = np.ones(120)
    weight[40:] = 0
    model = lt.LabelTreeClassifier(**TIGHT).fit(X, Y, weight)
    alone = lt.LabelTreeClassifier(tree=model.tree_, **TIGHT).fit(X[:40], Y[:40])
    np.testing.assert_allclose(all_scores(model, X), all_scores(alone, X), atol=2e-3)
    unseen = np.flatnonzero(Y[:40].sum(axis=0) == 0)
    assert set(unseen) == set(model.tree_.unplaced_labels)


def test_equal_weights_scale_C(problem, tree):
    doubled = fitted_scores(tree, problem, np.full(120, 2.0))
    np.testing.assert_allclose(doubled, fitted_scores(tree, problem, C=2.0), atol=2e-3)


@pytest.mark.parametrize(
    ("class_weight", "label_names"),
    [
        (COSTS, None),
        (COSTS.tolist(), None),
        (tuple(COSTS.tolist()), None),
        (dict(enumerate(COSTS)), None),
        ({np.int64(label): np.float32(cost) for label, cost in enumerate(COSTS)}, None),
        ({f"label {label:02}": cost for label, cost in enumerate(COSTS)}, [f"label {label:02}" for label in range(12)]),
    ],
    ids=["array", "list", "tuple", "mapping", "numpy mapping", "names"],
)
def test_class_weights_come_in_many_forms(class_weight, label_names):
    names = None if label_names is None else LabelNames(np.array(label_names, dtype=object))
    np.testing.assert_allclose(label_costs(class_weight, 12, names), COSTS, rtol=1e-6)


def test_labels_a_mapping_leaves_out_cost_one():
    assert label_costs({2: 3.0}, 4).tolist() == [1, 1, 3, 1]
    assert label_costs(None, 4) is None
    assert label_costs("balanced", 4) is None


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({12: 1.0}, "a mapping with labels of Y as keys, got 12"),
        ({-1: 1.0}, "a mapping with labels of Y as keys, got -1"),
        ({"a": 1.0}, "a mapping with labels of Y as keys, got 'a'"),
        ({True: 1.0}, "a mapping with labels of Y as keys, got True"),
        ({1: 0.0}, r"class_weight\[1\] must be a number in"),
        ({1: "2"}, r"class_weight\[1\] must be a number in"),
        ({1: np.nan}, r"class_weight\[1\] must be a number in"),
        (np.ones(11), "12 numbers, one per label"),
        (np.ones((12, 1)), "12 numbers, one per label"),
        (["1"] * 12, "12 numbers, one per label"),
        ([[1], [1, 2]], "12 numbers, one per label"),
        ([True] * 12, "12 numbers, one per label"),
        (np.zeros(12), "within"),
        (np.full(12, -1.0), "within"),
        (np.full(12, np.nan), "within"),
        (np.full(12, 1e30), "within"),
    ],
)
def test_wrong_class_weights_are_refused(problem, class_weight, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.LabelTreeClassifier(class_weight=class_weight).fit(*problem)


def test_class_weights_of_unknown_names_are_refused(problem, name_lists):
    with pytest.raises(lt.errors.InputError, match="a mapping with labels of Y as keys, got 3"):
        lt.LabelTreeClassifier(class_weight={3: 1.0}).fit(problem[0], name_lists)


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.ones(119), r"sample_weight must be of shape \(120,\)"),
        (np.ones((120, 1)), r"sample_weight must be of shape \(120,\)"),
        (2.0, r"sample_weight must be of shape \(120,\)"),
        (np.zeros(120), "sample_weight is zero for every point"),
        (-np.ones(120), r"sample_weight\[0\] must be a finite number of at least 0, got -1"),
        (np.full(120, np.nan), r"sample_weight\[0\] must be a finite number"),
        (np.full(120, 1e13), "sample_weight must be 0 or within"),
        (np.full(120, 1e-30), "sample_weight must be 0 or within"),
        (["a"] * 120, "sample_weight must be an array of numbers"),
    ],
)
def test_wrong_point_weights_are_refused(problem, sample_weight, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.LabelTreeClassifier().fit(*problem, sample_weight=sample_weight)


def test_without_weights_there_are_no_costs():
    assert point_costs(None, 3) is None


@pytest.mark.parametrize("value", [1e-30, 1e30])
def test_relevance_beyond_the_solver_is_refused(problem, value):
    X, Y = problem
    with pytest.raises(lt.errors.InputError, match="Y must be 0 or within"):
        lt.LabelTreeClassifier().fit(X, sp.csr_array(Y * np.float32(value)))


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1e8, 1e12])
def test_the_most_extreme_costs_stay_finite_or_are_refused(problem, size):
    X, Y = problem
    model = lt.LabelTreeClassifier(C=size, class_weight=np.full(12, size), loss=lt.Solver(max_iter=5))
    with contextlib.suppress(lt.errors.InputError):
        model.fit(X, sp.csr_array(Y * np.float32(size)), np.full(120, size))
        assert np.isfinite(model.predict_topk(X)[1]).all()


def test_weights_that_are_not_finite_are_refused(problem, monkeypatch):
    def diverge(*args, **options):
        trained = usual(*args, **options)
        trained.bias[3] = np.nan
        return trained

    usual = train.train_tasks
    monkeypatch.setattr(train, "train_tasks", diverge)
    with pytest.raises(lt.errors.InputError, match="training left the range of float32"):
        lt.LabelTreeClassifier().fit(*problem)
