"""The solver on every vector path: optimal for many children side by side, whatever their number and the rows' form."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import labeltrees as lt
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.train import DenseWeights, train_linear


def rows(rng, n_points, n_features, density=0.5):
    X = rng.standard_normal((n_points, n_features)) * (rng.random((n_points, n_features)) < density)
    return (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def matrix(weights, n_features):
    if isinstance(weights, DenseWeights):
        return weights.matrix
    parts = (weights.values, weights.features, weights.indptr)
    return sp.csr_array(parts, shape=(len(weights.bias), n_features)).toarray()


def objective(loss, w, X, sign, cost, bias):
    """The primal, its bias a weight as any other, and its gradient."""
    margin = sign * (X @ w[:-1] + bias * w[-1])
    if loss == "squared_hinge":
        short = np.maximum(0, 1 - margin)
        value, slope = (cost * short**2).sum(), -2 * cost * short * sign
    else:
        value, slope = (cost * np.logaddexp(0, -margin)).sum(), -cost * sign / (1 + np.exp(margin))
    return 0.5 * w @ w + value, w + np.append(X.T @ slope, bias * slope.sum())


def optimum(loss, X, positive, cost, bias):
    sign = np.where(positive, 1.0, -1.0)
    start = np.zeros(X.shape[1] + 1)
    found = minimize(
        lambda w: objective(loss, w, X, sign, cost, bias), start, jac=True, method="BFGS", options={"gtol": 1e-7}
    )
    return found.x


@pytest.mark.parametrize("n_children", [1, 2, 4, 5, 8, 9, 16, 17, 40])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("dense", [False, True])
def test_each_child_gets_its_own_optimum(kernels, n_children, loss, dense):
    rng = np.random.default_rng(n_children)
    X = rows(rng, 60, 7)
    Y = rng.random((60, n_children)) < 0.3
    Y[0], Y[1] = True, False  # no child of all points, and a point without labels
    exact = LinearSettings(loss=loss, eps=1e-5, max_iter=5000, prune_below=0)
    weights = train_linear(X if dense else sp.csr_array(X), Y, lt.flat_tree(n_children), exact)
    W = matrix(weights, 7)
    for child in range(0, n_children, 3):
        expected = optimum(loss, X.astype(float), Y[:, child], np.ones(60), 1.0)
        np.testing.assert_allclose(np.append(W[child], weights.bias[child]), expected, atol=1e-3)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(2, 30), st.integers(1, 6)),
    loss=st.sampled_from(["squared_hinge", "logistic"]),
    bias=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    C=st.sampled_from([0.01, 1.0, 20.0]),
    scale=st.sampled_from([0.1, 1.0, 5.0]),
)
# A row that is left out too early has to come back, though float32 never lets the others be done.
@example(seed=0, shape=(14, 2), loss="squared_hinge", bias=0.5, C=20.0, scale=5.0)
def test_costs_and_bias_of_any_size_give_the_optimum(seed, shape, loss, bias, C, scale):
    rng = np.random.default_rng(seed)
    n_points = shape[0]
    X = rows(rng, *shape) * scale
    positive = rng.random(n_points) < 0.5
    positive[:2] = True, False
    weight = rng.choice([0.0, 0.5, 1.0, 4.0], n_points)
    weight[:2] = 1.0
    exact = LinearSettings(loss=loss, C=C, bias=bias, eps=1e-5, max_iter=20000, prune_below=0)
    X = X.astype(np.float32)
    weights = train_linear(
        X, np.column_stack([positive, ~positive]), lt.flat_tree(2), exact, sample_weight=weight, random_state=1
    )
    cost = C * weight
    expected = optimum(loss, X.astype(float), positive, cost, bias)
    found = np.append(weights.matrix[0], weights.bias[0] / bias if bias else 0.0)
    sign = np.where(positive, 1.0, -1.0)
    values = [objective(loss, w, X.astype(float), sign, cost, bias)[0] for w in (found, expected)]
    assert values[0] <= values[1] + 1e-3 * abs(values[1]) + 1e-5


def test_rows_without_features_and_features_without_rows_are_no_problem(kernels):
    X = sp.csr_array(np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0], [0.6, 0, 0.8]], np.float32))
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    weights = train_linear(X, Y, lt.flat_tree(2), LinearSettings(eps=1e-6, max_iter=1000, prune_below=0))
    W = matrix(weights, 3)
    expected = optimum("squared_hinge", X.toarray().astype(float), Y[:, 0] > 0, np.ones(4), 1.0)
    np.testing.assert_allclose(np.append(W[0], weights.bias[0]), expected, atol=1e-4)
    assert W[0, 1] == 0


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("dense", [False, True])
def test_sparse_and_dense_rows_of_the_same_points_agree(kernels, loss, dense):
    rng = np.random.default_rng(5)
    X, Y = rows(rng, 200, 30, 0.3), rng.random((200, 50)) < 0.1
    Y[:, 49] = ~Y[:, :49].any(axis=1)
    tree = lt.build_tree(X, Y, fanout=5)
    exact = LinearSettings(loss=loss, eps=1e-5, max_iter=5000, prune_below=0)
    one = train_linear(sp.csr_array(X), Y, tree, exact)
    other = train_linear(X, Y, tree, exact)
    np.testing.assert_allclose(matrix(one, 30), other.matrix, atol=2e-3)


def test_many_passes_do_not_let_weights_drift():
    # C far too large: thousands of passes, each with rounding errors.
    rng = np.random.default_rng(0)
    X = rows(rng, 200, 40)
    Y = rng.random((200, 2)) < 0.5
    weights = train_linear(X, Y, lt.flat_tree(2), LinearSettings(C=30, eps=1e-5, max_iter=5000))
    expected = optimum("squared_hinge", X.astype(float), Y[:, 0], np.full(200, 30.0), 1.0)
    np.testing.assert_allclose(weights.matrix[0], expected[:-1], atol=5e-3 * np.abs(expected).max())


def test_dropped_weights_are_the_small_ones(kernels):
    rng = np.random.default_rng(2)
    X, Y = sp.csr_array(rows(rng, 300, 60, 0.2)), rng.random((300, 20)) < 0.2
    tree = lt.build_tree(X, Y, fanout=4)
    full = matrix(train_linear(X, Y, tree, LinearSettings(prune_below=0)), 60)
    kept = train_linear(X, Y, tree, LinearSettings(prune_below=0.3))
    assert np.array_equal(matrix(kept, 60), np.where(np.abs(full) >= np.float32(0.3), full, 0))
    assert all(np.all(np.diff(kept.features[a:b]) > 0) for a, b in zip(kept.indptr, kept.indptr[1:], strict=False))
