"""The trained classifiers against liblinear's, through scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import labeltrees as lt
from labeltrees.models.training import LinearSettings, train_linear

TIGHT = {"eps": 1e-4, "max_iter": 5000, "prune_below": 0.0}


def problem(seed=0, n_points=150, n_features=20, n_labels=6, *, dense=False):
    """Points with a few labels that their features tell, with noise."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n_points, n_labels)) < 0.3
    Y[np.arange(n_labels), np.arange(n_labels)] = True
    Y[np.arange(n_labels), (np.arange(n_labels) + 1) % n_labels] = False  # no label that all points have
    X = Y @ rng.standard_normal((n_labels, n_features)) + 0.7 * rng.standard_normal((n_points, n_features))
    if not dense:
        X *= rng.random(X.shape) < 0.6
    X = (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return (X if dense else sp.csr_array(X)), sp.csr_array(Y.astype(np.float32))


def matrix(weights, n_features):
    parts = (weights.values, weights.features, weights.indptr)
    return sp.csr_array(parts, shape=(len(weights.bias), n_features)).toarray()


def reference(loss, C, class_weight=None):
    if loss == "logistic":
        tight = {"solver": "liblinear", "dual": True, "tol": 1e-6, "max_iter": 20000}
        return LogisticRegression(C=C, class_weight=class_weight, **tight)
    return LinearSVC(C=C, tol=1e-6, max_iter=100000, class_weight=class_weight, random_state=0)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_one_against_all_equals_liblinear(loss, C, dense):
    X, Y = problem(dense=dense)
    weights = train_linear(X, Y, lt.flat_tree(Y.shape[1]), LinearSettings(loss=loss, C=C, **TIGHT))
    W = matrix(weights, X.shape[1])
    for label in range(Y.shape[1]):
        target = Y[:, [label]].toarray().ravel() > 0
        expected = reference(loss, C).fit(X, target)
        scale = np.abs(expected.coef_).max()
        np.testing.assert_allclose(W[label], expected.coef_.ravel(), atol=5e-3 * scale)
        assert weights.bias[label] == pytest.approx(expected.intercept_[0], abs=5e-3 * scale)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_nodes_children_learn_from_the_points_of_the_node(loss):
    X, Y = problem(1)
    tree = lt.LabelTree([0, 2, 5, 8], [1, 2, ~0, ~1, ~2, ~3, ~4, ~5], 6)
    weights = train_linear(X, Y, tree, LinearSettings(loss=loss, **TIGHT))
    W = matrix(weights, X.shape[1])
    dense = Y.toarray() > 0
    inside = dense[:, :3].any(axis=1)
    expected = reference(loss, 1.0).fit(X, inside)
    np.testing.assert_allclose(W[0], expected.coef_.ravel(), atol=5e-3 * np.abs(expected.coef_).max())
    expected = reference(loss, 1.0).fit(X[inside], dense[inside, 1])
    np.testing.assert_allclose(W[3], expected.coef_.ravel(), atol=5e-3 * np.abs(expected.coef_).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_weights_of_points_relevances_and_costs_are_liblinears_sample_weights(loss):
    X, Y = problem(2)
    rng = np.random.default_rng(0)
    point_weight = rng.integers(1, 4, X.shape[0]).astype(float)
    Y = Y.copy()
    Y.data[:] = rng.integers(1, 3, Y.nnz)
    cost = np.array([1, 2, 1, 3, 1, 1], np.float32)
    settings = LinearSettings(loss=loss, label_cost=cost, **TIGHT)
    weights = train_linear(X, Y, lt.flat_tree(6), settings, sample_weight=point_weight)
    W = matrix(weights, X.shape[1])
    for label in range(6):
        relevance = Y[:, [label]].toarray().ravel()
        sample_weight = point_weight * np.where(relevance > 0, relevance * cost[label], 1)
        expected = reference(loss, 1.0).fit(X, relevance > 0, sample_weight=sample_weight)
        np.testing.assert_allclose(W[label], expected.coef_.ravel(), atol=5e-3 * np.abs(expected.coef_).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_balanced_costs_are_liblinears(loss):
    X, Y = problem(3)
    weights = train_linear(X, Y, lt.flat_tree(6), LinearSettings(loss=loss, balanced=True, **TIGHT))
    W = matrix(weights, X.shape[1])
    for label in range(6):
        expected = reference(loss, 1.0, "balanced").fit(X, Y[:, [label]].toarray().ravel() > 0)
        np.testing.assert_allclose(W[label], expected.coef_.ravel(), atol=5e-3 * np.abs(expected.coef_).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_further_negatives_are_points_of_the_node_without_its_labels(loss):
    X, Y = problem(4)
    tree = lt.LabelTree([0, 2, 5, 8], [1, 2, ~0, ~1, ~2, ~3, ~4, ~5], 6)
    dense = Y.toarray() > 0
    inside = dense[:, :3].any(axis=1)
    outside = np.flatnonzero(~inside)[::2]
    extra = sp.csr_array((np.ones(len(outside)), (outside, np.ones(len(outside), int))), shape=(X.shape[0], 3))
    weights = train_linear(X, Y, tree, LinearSettings(loss=loss, **TIGHT), negatives=extra)
    rows = np.union1d(np.flatnonzero(inside), outside)
    expected = reference(loss, 1.0).fit(X[rows], dense[rows, 2])
    W = matrix(weights, X.shape[1])
    np.testing.assert_allclose(W[4], expected.coef_.ravel(), atol=5e-3 * np.abs(expected.coef_).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("dense", [False, True])
def test_the_weights_are_the_same_for_any_number_of_threads(loss, dense):
    X, Y = problem(5, n_points=400, n_labels=40, dense=dense)
    tree = lt.build_tree(X, Y, fanout=8)
    one, two = (train_linear(X, Y, tree, LinearSettings(loss=loss), n_jobs=n_jobs) for n_jobs in (1, 2))
    for name in ("indptr", "features", "values", "bias"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_small_weights_are_dropped_and_the_bias_is_kept():
    X, Y = problem(6)
    weights = train_linear(X, Y, lt.flat_tree(6), LinearSettings(prune_below=0.5))
    assert (np.abs(weights.values) >= 0.5).all()
    assert (weights.bias != 0).all()


@pytest.mark.parametrize(("loss", "at_least"), [("squared_hinge", 1.0), ("logistic", 2.0)])
def test_a_child_of_all_points_needs_no_weights(loss, at_least):
    X, Y = problem(7, n_labels=3)
    tree = lt.LabelTree([0, 1, 4], [1, ~0, ~1, ~2], 3)
    keep = np.flatnonzero(np.diff(Y.indptr) > 0)
    weights = train_linear(X[keep], Y[keep], tree, LinearSettings(loss=loss))
    assert weights.bias[0] >= at_least
    assert weights.indptr[1] == 0


def test_an_error_in_progress_stops_the_work():
    X, Y = problem(8, n_points=20_000, n_labels=200)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_linear(X, Y, lt.flat_tree(200), LinearSettings(eps=1e-9, max_iter=10**6), progress=stop)
