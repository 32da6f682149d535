"""The trained classifiers against liblinear's, through scikit-learn."""

import itertools
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.models.linear.cost import costs_of_nodes
from labeltrees.models.linear.pieces import LANES, NodeTasks
from labeltrees.models.linear.problem import make_problem
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.train import DenseWeights, estimate_memory, train_linear, train_tasks
from tests.strategies import children_of, label_trees, labels_below

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
    if isinstance(weights, DenseWeights):
        return weights.matrix
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
    costs = LinearSettings(loss=loss, label_cost=cost, **TIGHT)
    weights = train_linear(X, Y, lt.flat_tree(6), costs, sample_weight=point_weight)
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
@pytest.mark.parametrize("dense", [False, True])
def test_the_weights_are_the_same_for_any_number_of_threads(loss, dense):
    X, Y = problem(5, n_points=400, n_labels=40, dense=dense)
    tree = lt.build_tree(X, Y, fanout=8)
    one, two = (train_linear(X, Y, tree, LinearSettings(loss=loss), n_jobs=n_jobs) for n_jobs in (1, 2))
    assert asdict(one).keys() == asdict(two).keys()
    for name, array in asdict(one).items():
        assert array.tobytes() == getattr(two, name).tobytes()


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


def test_points_of_weight_zero_do_not_count():
    X, Y = problem(9)
    weight = (np.arange(X.shape[0]) % 3 > 0).astype(float)
    kept = np.flatnonzero(weight)
    tree = lt.LabelTree([0, 2, 5, 8], [1, 2, ~0, ~1, ~2, ~3, ~4, ~5], 6)
    weighted = train_linear(X, Y, tree, LinearSettings(**TIGHT), sample_weight=weight)
    fewer = train_linear(X[kept], Y[kept], tree, LinearSettings(**TIGHT))
    np.testing.assert_allclose(matrix(weighted, X.shape[1]), matrix(fewer, X.shape[1]), atol=1e-3)


def test_a_child_without_points_is_almost_never_chosen():
    X, Y = problem(10, n_labels=3)
    Y = sp.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], 5))
    weights = train_linear(X, Y, lt.LabelTree([0, 4, 6], [~0, ~1, ~2, 1, ~3, ~4], 5), LinearSettings())
    assert (weights.bias[3:] <= -1).all()
    assert weights.indptr[3] == weights.indptr[6]


@settings(deadline=None, max_examples=40)
@given(label_trees(max_labels=40), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_any_tree_is_trained_and_threads_change_nothing(tree, seed, n_jobs):
    rng = np.random.default_rng(seed)
    X = sp.csr_array(np.where(rng.random((30, 8)) < 0.4, rng.standard_normal((30, 8)), 0).astype(np.float32))
    Y = sp.csr_array((rng.random((30, tree.n_labels)) < 0.1).astype(np.float32))
    one = train_linear(X, Y, tree, LinearSettings(prune_below=0.01), n_jobs=1)
    many = train_linear(X, Y, tree, LinearSettings(prune_below=0.01), n_jobs=n_jobs)
    assert len(one.bias) == len(tree.children)
    for name, array in asdict(one).items():
        assert array.tobytes() == getattr(many, name).tobytes()
    # Every classifier is the one that its points alone give.
    below = labels_below(tree)
    node = int(rng.integers(tree.n_nodes))
    children = children_of(tree, node)
    positive = [
        np.asarray(Y[:, sorted(below[child]) if child >= 0 else [~child]].sum(axis=1)).ravel() > 0 for child in children
    ]
    inside = np.any(positive, axis=0) | ((node == 0) & (np.diff(Y.indptr) >= 0) & (_n_placed(tree, Y) == 0))
    rows = np.flatnonzero(inside)
    if len(rows) > 0:
        flat = lt.LabelTree([0, len(children)], [~i for i in range(len(children))], len(children))
        alone = train_linear(X[rows], sp.csr_array(np.array(positive).T[rows]), flat, LinearSettings(**TIGHT))
        exact = train_linear(X, Y, tree, LinearSettings(**TIGHT))
        edges = slice(tree.child_ptr[node], tree.child_ptr[node + 1])
        np.testing.assert_allclose(matrix(exact, 8)[edges], matrix(alone, 8), atol=2e-2)
        np.testing.assert_allclose(exact.bias[edges], alone.bias, atol=2e-2)


def _n_placed(tree, Y):
    return Y @ (tree.label_parent >= 0).astype(np.float32)


def test_progress_counts_the_classifiers():
    X, Y = problem(11)
    calls = []
    train_linear(X, Y, lt.flat_tree(6), LinearSettings(), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (6, 6)


@pytest.mark.parametrize("dense", [False, True])
def test_a_memory_limit_does_not_change_the_weights(dense):
    X, Y = problem(12, n_points=500, n_labels=60, dense=dense)
    tree = lt.build_tree(X, Y, fanout=20)
    estimate = estimate_memory(X, Y, tree, LinearSettings(), n_jobs=2)
    assert 0 < estimate.least <= estimate.working
    tight = LinearSettings(max_memory=estimate.fixed + estimate.least + estimate.result)
    limited, free = (train_linear(X, Y, tree, chosen, n_jobs=2) for chosen in (tight, LinearSettings()))
    for name, array in asdict(free).items():
        assert array.tobytes() == getattr(limited, name).tobytes()


def test_too_little_memory_is_refused_before_or_while_training():
    X, Y = problem(13, n_points=200, n_features=200, n_labels=200)
    tree = lt.build_tree(X, Y, fanout=20)
    estimate = estimate_memory(X, Y, tree, LinearSettings(prune_below=0))
    with pytest.raises(InputError, match="max_memory must be at least"):
        train_linear(X, Y, tree, LinearSettings(max_memory=1000))
    enough_to_start = LinearSettings(prune_below=0, max_memory=estimate.fixed + estimate.least)
    with pytest.raises(InputError, match="not enough"):
        train_linear(X, Y, tree, enough_to_start)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of 'squared_hinge', 'logistic', got 'hinge'"),
        ({"C": 0}, "C must be a number in"),
        ({"eps": -1}, "eps must be"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        ({"prune_below": np.nan}, "prune_below must be"),
        ({"bias": np.inf}, "bias must be"),
        ({"balanced": "yes"}, "balanced must be True or False"),
        ({"max_memory": 0.5}, "max_memory must be"),
        ({"label_cost": [1, 2]}, "label_cost must be 6 numbers above 0"),
        ({"label_cost": [1, 2, 3, 4, 5, 0]}, "label_cost must be 6 numbers above 0"),
    ],
)
def test_bad_settings_are_refused_by_name(change, message):
    X, Y = problem()
    with pytest.raises(InputError, match=message):
        train_linear(X, Y, lt.flat_tree(6), LinearSettings(**change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.full((150, 20), np.nan)}, "X has a NaN at row 0, column 0"),
        ({"X": np.full((150, 20), 1e30)}, "X must be of values up to"),
        ({"X": np.ones((3, 20))}, "same number of rows, got 3 and 150"),
        ({"tree": lt.flat_tree(5)}, "tree must be a LabelTree over the 6 labels of Y"),
        ({"sample_weight": np.ones(3)}, "sample_weight must be of shape"),
        ({"sample_weight": np.full(150, 1e30)}, "sample_weight must be of values up to"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_arguments_are_refused_by_name(change, message):
    X, Y = problem()
    arguments = {"X": X, "Y": Y, "tree": lt.flat_tree(6), **change}
    with pytest.raises(InputError, match=message):
        train_linear(settings=LinearSettings(), **arguments)


# Node tasks give the same bytes in whatever partition they are trained.

N_POINTS, N_LABELS, N_FEATURES = 300, 60, 80


def node_data(seed=0):
    rng = np.random.default_rng(seed)
    Y = sp.csr_array((rng.random((N_POINTS, N_LABELS)) < 0.06).astype(np.float32))
    centres = rng.normal(size=(N_LABELS, N_FEATURES))
    X = np.asarray(Y @ centres) + rng.normal(size=(N_POINTS, N_FEATURES))
    X[rng.random(X.shape) < 0.7] = 0
    return sp.csr_array(X.astype(np.float32)), Y


def make_node_problem(case="plain", seed=0):
    rng = np.random.default_rng(7)
    X, Y = node_data(seed)
    settings, weights = LinearSettings(prune_below=0.01), None
    tree = lt.build_tree(X, Y, fanout=24 if case != "binary" else 2)
    if case == "flat":
        tree = lt.flat_tree(N_LABELS)
    if case == "dense":
        X = X.toarray()
    if case == "logistic":
        settings = LinearSettings(loss="logistic")
    if case == "weighted":
        weights = np.where(rng.random(N_POINTS) < 0.1, 0, rng.random(N_POINTS) + 0.1)
        settings = LinearSettings(balanced=True, label_cost=rng.random(N_LABELS).astype(np.float32) + 0.5)
        Y = sp.csr_array(Y * (1 + rng.random((N_POINTS, N_LABELS))))
    if case == "unlabelled":  # negatives at the root
        Y = sp.csr_array(Y.toarray() * (np.arange(N_POINTS) % 7 > 0)[:, None])
    native = make_problem(X, Y, tree, settings.label_cost, weights)
    return native, tree, settings


CASES = ["plain", "binary", "flat", "dense", "logistic", "weighted", "unlabelled"]


def train_nodes(case, tasks, n_threads=1):
    """Return the bytes of each classifier, by its number."""
    native, tree, settings = make_node_problem(case)
    costs = np.ascontiguousarray(costs_of_nodes(tree, settings.C)[tasks.node])
    weights = train_tasks(native, tasks, settings, 3, n_threads, costs)
    if isinstance(weights, DenseWeights):
        rows = [row.tobytes() for row in weights.matrix]
    else:
        slices = [slice(*weights.indptr[i : i + 2]) for i in range(len(weights.bias))]
        rows = [weights.features[own].tobytes() + weights.values[own].tobytes() for own in slices]
    return dict(zip(tasks.edges().tolist(), zip(rows, weights.bias.tolist(), strict=True), strict=True))


def split_tasks(tree, max_edges):
    """Return tasks of at most `max_edges` children, which never cut a group of lanes; None: one per node."""
    if max_edges is None:
        return NodeTasks.of_tree(tree)
    found = []
    for node, n_edges in enumerate(np.diff(tree.child_ptr).tolist()):
        n_groups = -(-n_edges // LANES)
        bounds = [n_edges * group // n_groups for group in [*range(0, n_groups, max(max_edges // LANES, 1)), n_groups]]
        found += [(node, tree.child_ptr[node] + low, high - low) for low, high in itertools.pairwise(bounds)]
    return NodeTasks(*(np.array(values, np.int64) for values in zip(*found, strict=True)))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("max_edges", [None, 16, 40])
def test_any_partition_of_the_tasks_gives_the_same_bytes(case, max_edges):
    tree = make_node_problem(case)[1]
    tasks = split_tasks(tree, max_edges)
    rng = np.random.default_rng(1)
    part = rng.integers(0, 3, len(tasks.node))
    pieces = [rng.permutation(np.flatnonzero(part == number)) for number in range(3)]
    found = {}
    for piece in pieces:
        found |= train_nodes(case, NodeTasks(*(values[piece] for values in tasks))) if len(piece) else {}
    assert found == train_nodes(case, NodeTasks.of_tree(tree), n_threads=2)
    assert sorted(found) == list(range(len(tree.children)))


@pytest.mark.parametrize(("node", "first_edge", "n_edges"), [(10**6, 0, 1), (-1, 0, 1), (0, 1, 3), (0, 0, 10**6)])
def test_tasks_that_the_tree_does_not_have_are_refused(node, first_edge, n_edges):
    native, _, settings = make_node_problem("flat")
    tasks = NodeTasks(*(np.array([value]) for value in (node, first_edge, n_edges)))
    with pytest.raises(lt.errors.InputError, match="task"):
        train_tasks(native, tasks, settings, 3, 1, np.ones(1, np.float32))
