"""Tasks give the same bytes wherever and in whatever partition they are trained, and their hash tells what changed."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.models.linear.node_tasks import (
    LANES,
    NodeTask,
    TaskWeights,
    ThreadExecutor,
    TrainingProblem,
    assemble,
    extract_task,
    plan_tasks,
)
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.training import train_linear
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
    return TrainingProblem(native, tree, settings, 3)


CASES = ["plain", "binary", "flat", "dense", "logistic", "weighted", "negatives"]


def all_weights(problem):
    (result,) = ThreadExecutor(2).run(problem, plan_tasks(problem))
    return assemble([result], len(problem.tree.children))


def assert_same(one, other):
    assert type(one) is type(other)
    for name, array in vars(one).items():
        assert array.dtype == getattr(other, name).dtype, name
        assert array.tobytes() == getattr(other, name).tobytes(), name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("max_edges", [None, 16, 40])
def test_any_partition_of_the_tasks_gives_the_same_bytes(case, max_edges):
    problem = make(case)
    tasks = plan_tasks(problem, max_edges)
    rng = np.random.default_rng(1)
    part = rng.integers(0, 3, len(tasks))
    pieces = [rng.permutation(np.flatnonzero(part == number)) for number in range(3)]
    results = [result for piece in pieces if len(piece) for result in ThreadExecutor(1).run(problem, tasks[piece])]
    assert_same(assemble(results, len(problem.tree.children)), all_weights(problem))


@pytest.mark.parametrize("case", CASES)
def test_every_extracted_task_gives_the_same_bytes(case):
    problem = make(case)
    tasks = plan_tasks(problem, max_edges=LANES)
    results = [extract_task(problem, task).train() for task in tasks]
    assert_same(assemble(results, len(problem.tree.children)), all_weights(problem))


def test_train_linear_runs_the_tasks_of_any_executor():
    X, Y = data()
    tree = lt.build_tree(X, Y, fanout=8)

    class OneByOne:
        def run(self, problem, tasks, advance=None):
            for task in reversed(tasks):
                yield extract_task(problem, task).train()

    settings = LinearSettings()
    assert_same(train_linear(X, Y, tree, settings, executor=OneByOne()), train_linear(X, Y, tree, settings))


@pytest.mark.parametrize("max_edges", [None, 1, 16, 17, 32, 1000])
def test_tasks_cover_every_classifier_once_and_keep_to_the_limit(max_edges):
    problem = make("flat")
    tasks = plan_tasks(problem, max_edges)
    np.testing.assert_array_equal(np.sort(tasks.edges()), np.arange(len(problem.tree.children)))
    if max_edges is not None:
        assert max(task.n_edges for task in tasks) <= max(max_edges, LANES)


def test_estimates_are_upper_bounds_of_what_a_task_takes():
    problem = make("negatives")
    for task in plan_tasks(problem):
        extracted = extract_task(problem, task)
        assert task.n_points >= extracted.n_rows
        assert task.n_pairs >= len(extracted.y_columns)
        assert task.cost >= len(extracted.x_values) * task.n_edges
        assert task.n_bytes > 4 * len(extracted.x_values) / 2


def digests(problem):
    return np.array([extract_task(problem, task).digest() for task in plan_tasks(problem)])


def points_of_nodes(problem, Y):
    """Return for each node the points that have a label below it."""
    tree = problem.tree
    below = [set() for _ in range(tree.n_nodes)]
    for node in reversed(range(tree.n_nodes)):
        for child in tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]:
            below[node] |= set(Y[:, [~child]].nonzero()[0].tolist()) if child < 0 else below[child]
    return below


def test_the_hash_changes_exactly_for_the_nodes_whose_points_change():
    X, Y = data()
    tree = lt.build_tree(X, Y, fanout=8)
    problem = TrainingProblem(make_problem(X, Y, tree), tree, LinearSettings(), 0)
    before = digests(problem)
    assert len(set(before)) == len(before)
    np.testing.assert_array_equal(before, digests(problem))
    changed = X.copy()
    point = 17
    changed.data[changed.indptr[point]] += 0.5
    after = digests(TrainingProblem(make_problem(changed, Y, tree), tree, LinearSettings(), 0))
    expected = [point in points for points in points_of_nodes(problem, Y)]
    assert 0 < sum(expected) < len(expected)
    np.testing.assert_array_equal(before != after, expected)


@pytest.mark.parametrize(
    "change",
    [{"settings": LinearSettings(C=2.0)}, {"settings": LinearSettings(loss="logistic")}, {"seed": 4}],
    ids=["C", "loss", "seed"],
)
def test_the_hash_changes_with_settings_and_seed(change):
    problem = replace(make(), settings=LinearSettings())
    assert (digests(problem) != digests(replace(problem, **change))).all()


def test_the_memory_limit_does_not_change_the_hash():
    problem = make()
    limited = LinearSettings(prune_below=0.01, max_memory=10**9)
    np.testing.assert_array_equal(digests(problem), digests(replace(problem, settings=limited)))


def test_missing_or_repeated_tasks_are_refused():
    problem = make()
    tasks = plan_tasks(problem)
    (result,) = ThreadExecutor().run(problem, tasks[1:])
    n_edges = len(problem.tree.children)
    with pytest.raises(lt.InputError, match="exactly once"):
        assemble([result], n_edges)
    (again,) = ThreadExecutor().run(problem, tasks[:2])
    with pytest.raises(lt.InputError, match="exactly once"):
        assemble([result, again], n_edges)


@pytest.mark.parametrize(("node", "first_edge", "n_edges"), [(10**6, 0, 1), (-1, 0, 1), (0, 1, 3), (0, 0, 10**6)])
def test_tasks_that_the_tree_does_not_have_are_refused(node, first_edge, n_edges):
    problem = make("flat")
    tasks = type(plan_tasks(problem)).of(NodeTask(node, first_edge, n_edges, 0, 0, 0, 0))
    with pytest.raises(lt.InputError, match="task"):
        ThreadExecutor().run(problem, tasks)


def test_results_know_their_tasks():
    problem = make()
    tasks = plan_tasks(problem)
    (result,) = ThreadExecutor().run(problem, tasks[:2])
    assert isinstance(result, TaskWeights)
    assert len(result.weights.bias) == tasks[0].n_edges + tasks[1].n_edges
