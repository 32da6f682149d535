"""Tasks give the same bytes in whatever partition they are trained."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.models.linear.auto_cost import costs_of_nodes
from labeltrees.models.linear.node_tasks import LANES, DenseWeights, NodeTasks, train_tasks
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.training_data import make_problem

N_POINTS, N_LABELS, N_FEATURES = 300, 60, 80


def data(seed=0):
    rng = np.random.default_rng(seed)
    Y = sp.csr_array((rng.random((N_POINTS, N_LABELS)) < 0.06).astype(np.float32))
    centres = rng.normal(size=(N_LABELS, N_FEATURES))
    X = np.asarray(Y @ centres) + rng.normal(size=(N_POINTS, N_FEATURES))
    X[rng.random(X.shape) < 0.7] = 0
    return sp.csr_array(X.astype(np.float32)), Y


def make(case="plain", seed=0):
    rng = np.random.default_rng(7)
    X, Y = data(seed)
    settings, weights, negatives = LinearSettings(prune_below=0.01), None, None
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
    if case == "negatives":
        negatives = sp.csr_array((rng.random((N_POINTS, tree.n_nodes)) < 0.1).astype(np.float32))
    native = make_problem(X, Y, tree, settings.label_cost, weights, negatives)
    return native, tree, settings


CASES = ["plain", "binary", "flat", "dense", "logistic", "weighted", "negatives"]


def train(case, tasks, n_threads=1):
    """Return the bytes of each classifier, by its number."""
    native, tree, settings = make(case)
    costs = np.ascontiguousarray(costs_of_nodes(tree, settings.C)[tasks.node])
    weights = train_tasks(native, tasks, settings, 3, n_threads, costs=costs)
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
    tree = make(case)[1]
    tasks = split_tasks(tree, max_edges)
    rng = np.random.default_rng(1)
    part = rng.integers(0, 3, len(tasks.node))
    pieces = [rng.permutation(np.flatnonzero(part == number)) for number in range(3)]
    found = {}
    for piece in pieces:
        found |= train(case, NodeTasks(*(values[piece] for values in tasks))) if len(piece) else {}
    assert found == train(case, NodeTasks.of_tree(tree), n_threads=2)
    assert sorted(found) == list(range(len(tree.children)))


@pytest.mark.parametrize(("node", "first_edge", "n_edges"), [(10**6, 0, 1), (-1, 0, 1), (0, 1, 3), (0, 0, 10**6)])
def test_tasks_that_the_tree_does_not_have_are_refused(node, first_edge, n_edges):
    native, _, settings = make("flat")
    tasks = NodeTasks(*(np.array([value]) for value in (node, first_edge, n_edges)))
    with pytest.raises(lt.InputError, match="task"):
        train_tasks(native, tasks, settings, 3, 1)
