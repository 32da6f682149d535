"""C="auto": chosen from the training data, by depth."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees._losses import LOSSES
from labeltrees.errors import InputError
from labeltrees.models.linear import cost
from labeltrees.models.linear.cost import (
    CostSample,
    HeldOutLosses,
    choose_by_losses,
    costs_of_nodes,
    draw_samples,
    nearest_to_one,
)
from labeltrees.models.linear.problem import make_problem
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.train import train_linear


def make_data(noise, n=900, n_labels=40, seed=0):
    """Points whose features name their label; a share `noise` of the labels is drawn at random."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, n_labels, n)
    X = sp.csr_array(rng.random((n, 200)) * (rng.random((n, 200)) < 0.05))
    X = sp.csr_array(X + sp.csr_array((np.ones(n), (np.arange(n), topic)), shape=(n, 200)))
    label = np.where(rng.random(n) < noise, rng.integers(0, n_labels, n), topic)
    return X, sp.csr_array((np.ones(n), (np.arange(n), label)), shape=(n, n_labels))


def fit(X, Y, **options):
    return lt.LabelTreeClassifier(fanout=8, leaf_size=8, tradeoff=0.0, **options).fit(X, Y)


def test_auto_is_the_default_and_reports_a_cost_for_each_depth():
    model = fit(*make_data(0.1))
    assert model.get_params()["C"] == "auto"
    assert len(model.stats_["C"]) == model.tree_.node_depth.max() + 1
    tried = model.stats_["C_tried"]
    assert all(tried[0] <= chosen <= tried[-1] for chosen in model.stats_["C"])
    assert len(model.stats_["C_losses"][0]) == len(model.stats_["C_tried"])


def test_noise_lowers_the_cost():
    clean, noisy = (fit(*make_data(noise)).stats_["C"][0] for noise in (0.0, 0.9))
    assert noisy < clean


def test_the_held_out_loss_equals_that_of_training_without_those_points():
    X, Y = make_data(0.3, n=400, n_labels=12)
    tree = lt.flat_tree(12)
    settings = LinearSettings(eps=1e-4, max_iter=5000, prune_below=0.2)
    held_out = np.zeros(400, np.uint8)
    held_out[::5] = 1
    losses, constants, positives = make_problem(X, Y, tree).validate(
        nodes=np.array([0]),
        first_edges=np.array([0]),
        n_edges=np.array([6]),
        strides=np.array([2]),
        held_out=held_out,
        costs=np.array([0.1, 1.0], np.float32),
        settings=settings,
        seed=0,
        n_threads=1,
    )
    sampled = slice(0, 12, 2)
    signs = np.where(Y[held_out == 1].toarray()[:, sampled] > 0, 1, -1)
    share = (signs > 0).mean(axis=0)
    for C, loss in zip((0.1, 1.0), losses, strict=True):
        weights = train_linear(
            X[held_out == 0], Y[held_out == 0], tree, LinearSettings(eps=1e-4, max_iter=5000, prune_below=0.2, C=C)
        )
        W = sp.csr_array((weights.values, weights.features, weights.indptr), shape=(12, 200))
        margins = ((X[held_out == 1] @ W.T).toarray() + weights.bias)[:, sampled]
        # A weight near prune_below can fall on either side of it.
        assert loss == pytest.approx((np.maximum(0, 1 - signs * margins) ** 2).sum(), rel=0.02)
    assert constants[0] == pytest.approx((4 * share * (1 - share)).sum() * len(signs))
    assert positives[0] == (signs > 0).sum()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_choice_does_not_depend_on_threads(loss):
    X, Y = make_data(0.5)
    one, two = (fit(X, Y, loss=loss, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.stats_["C_losses"] == two.stats_["C_losses"]
    assert one.predict_topk(X, 3)[1].tobytes() == two.predict_topk(X, 3)[1].tobytes()


def test_dense_points_get_the_costs_of_sparse_points():
    X, Y = make_data(0.5)
    all_weights = lt.Solver(prune_below=0)
    assert fit(X.toarray(), Y, loss=all_weights).stats_["C"] == fit(X, Y, loss=all_weights).stats_["C"]


def test_costs_by_depth_train_each_node_at_its_own():
    X, Y = make_data(0.2)
    tree = fit(X, Y).tree_
    mixed = train_linear(X, Y, tree, LinearSettings(C=(0.1, 1.0)))
    parts = {C: train_linear(X, Y, tree, LinearSettings(C=C)) for C in (0.1, 1.0)}
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr))
    for edge in range(len(tree.children)):
        own = parts[0.1 if tree.node_depth[node[edge]] == 0 else 1.0]
        assert mixed.bias[edge] == own.bias[edge]
    assert costs_of_nodes(tree, (0.1, 1.0)).tolist() == [
        np.float32(0.1 if depth == 0 else 1.0) for depth in tree.node_depth
    ]


@pytest.mark.parametrize("noise", [0.2, 0.8])
def test_few_passes_choose_the_cost_of_many(noise, monkeypatch):
    X, Y = make_data(noise)
    few = fit(X, Y, loss=lt.Solver(eps=1e-3)).stats_
    monkeypatch.setattr(cost, "PASSES", 1)
    one = fit(X, Y, loss=lt.Solver(eps=1e-3)).stats_
    monkeypatch.setattr(cost, "PASSES", 10_000)
    many = fit(X, Y, loss=lt.Solver(eps=1e-3, max_iter=10_000)).stats_
    assert one["C_losses"] != few["C_losses"]
    assert np.log(few["C"]) == pytest.approx(np.log(many["C"]), abs=0.3)


def test_few_points_use_a_cost_of_one():
    assert draw_samples(99, lt.flat_tree(40), np.ones(1, np.int64), np.full(1, 99), 0) == []
    assert choose_by_losses([], [], "squared_hinge").C == (1.0,)
    assert fit(*make_data(0.0, n=99)).stats_["C"] == [1.0]


def test_with_few_points_the_cost_is_higher_than_that_of_the_lowest_loss():
    losses = LOSSES["squared_hinge"].costs
    curve = 100 + 10 * np.square(np.log(losses) - np.log(0.25))
    found = HeldOutLosses(curve[None], np.array([1000.0]), np.array([500]))
    for n_points, factor in ((100, 2.0), (400, 1.5), (10**6, 1.0)):
        none, marks = np.zeros(1, np.int64), np.zeros(n_points, np.uint8)
        sample = CostSample(marks, np.zeros((1, 4), np.int64), none, none, marks)
        (cost,) = choose_by_losses([sample], [found], "squared_hinge").C
        assert cost == pytest.approx(factor * nearest_to_one(curve, 1000.0, losses), rel=0.05)


def test_a_cost_near_one_is_chosen_if_its_loss_is_close_to_the_lowest():
    tried = (1 / 16, 1 / 4, 1.0, 4.0)
    assert nearest_to_one(np.array([56.0, 51.0, 50.0, 52.0]), 100.0, tried) == 1.0
    assert nearest_to_one(np.array([90.0, 70.0, 50.0, 49.8]), 100.0, tried) == 1.0
    assert nearest_to_one(np.array([90.0, 70.0, 50.0, 40.0]), 100.0, tried) == pytest.approx(3.8, abs=0.3)


def test_the_cost_is_interpolated_around_the_lowest_loss():
    tried = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0)
    # Worse than constant scores, so the lowest counts: a parabola in log C with its lowest point at C = 0.2.
    curve = 120 + 3 * np.log(np.array(tried) / 0.2) ** 2
    assert nearest_to_one(curve, 100.0, tried) == pytest.approx(0.2, rel=0.1)
    # On a parabola that saves 60 and rises by 3 per square of the factor's logarithm, 1.5 % are a factor of 1.73.
    assert nearest_to_one(curve - 80, 100.0, tried) == pytest.approx(0.2 * np.exp(np.sqrt(0.005 * 60 / 3)), rel=0.1)
    assert nearest_to_one(np.array([120.0, 140.0, 160.0]), 100.0, (0.1, 0.3, 1.0)) == 0.1


def test_costs_after_a_rise_of_the_loss_continue_its_parabola():
    X, Y = make_data(0.8, n=600, n_labels=12)
    held_out = np.zeros(600, np.uint8)
    held_out[::5] = 1
    problem, costs = make_problem(X, Y, lt.flat_tree(12)), np.array([0.001, 0.01, 0.1, 1, 10], np.float32)
    group = {name: np.array([value]) for name, value in (("nodes", 0), ("first_edges", 0), ("n_edges", 12))}
    settings = LinearSettings(eps=0.01, max_iter=1000, prune_below=0.0)
    losses, _, _ = problem.validate(
        **group, strides=np.array([1]), held_out=held_out, costs=costs, settings=settings, seed=0, n_threads=1
    )
    steps = np.diff(losses)
    first = int(np.flatnonzero(steps > 0.002 * losses[:-1])[0])
    assert 0 < first < len(steps) - 1
    assert steps[first + 1 :] == pytest.approx(
        steps[first] + (steps[first] - steps[first - 1]) * np.arange(1, len(steps) - first)
    )


def test_a_number_turns_it_off_and_other_values_are_refused():
    X, Y = make_data(0.2)
    model = fit(X, Y, C=0.5)
    assert model.stats_["C"] == [0.5]
    assert "C_losses" not in model.stats_
    for wrong in ("best", None, (0.1, -1.0)):
        with pytest.raises(InputError, match=r"^C must be"):
            fit(X, Y, C=wrong)


def test_the_costs_are_saved_with_the_model(tmp_path):
    model = fit(*make_data(0.2))
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model")
    assert loaded.get_params()["C"] == "auto"
    assert loaded.stats_["C"] == model.stats_["C"]


def test_with_few_points_several_sets_are_held_out():
    tree, work = lt.flat_tree(40), np.ones(1, np.int64)
    few, many = (draw_samples(n, tree, work, np.full(1, n), 0) for n in (500, 20_000))
    assert (len(few), len(many)) == (10, 1)
    assert all(sample.held_out.sum() == 50 for sample in few)
    assert len({sample.held_out.tobytes() for sample in few}) == 10
    assert all(np.array_equal(sample.groups, few[0].groups) for sample in few)


def test_losses_that_differ_between_held_out_points_leave_the_cost_near_one():
    tried = (0.1, 0.3, 1.0, 3.0)
    curve = np.array([60.0, 50.0, 55.0, 80.0])
    clear, unclear = (nearest_to_one(curve, 100.0, tried, errors=np.full(4, error)) for error in (0.1, 6.0))
    assert clear < 0.5
    assert unclear == 1.0


def test_nodes_with_many_points_are_tried_on_some_of_them():
    tree = fit(*make_data(0.1)).tree_
    rows = np.full(tree.n_nodes, cost.MAX_ROWS)
    rows[0] = 3_000_000
    (sample,) = draw_samples(3_000_000, tree, np.full(tree.n_nodes, 10**6), rows, 0)
    assert np.array_equal(sample.halvings, np.where(sample.groups[:, 0] == 0, 3, 0))
    for halvings in (1, 2, 3):
        survive = sample.point_halvings >= halvings
        assert survive.mean() == pytest.approx(0.5**halvings, rel=0.02)
        assert sample.held_out[survive].mean() == pytest.approx(0.1, rel=0.05)


def test_the_work_tried_at_each_depth_has_a_bound():
    tree, n_points = fit(*make_data(0.1)).tree_, 10**6
    rows = np.full(tree.n_nodes, 1000)
    few, many = (draw_samples(n_points, tree, np.full(tree.n_nodes, work), rows, 0)[0] for work in (10**5, 10**12))
    n_of_few, n_of_many = (np.bincount(sample.level) for sample in (few, many))
    assert np.array_equal(n_of_many, np.minimum(n_of_few, cost.ENOUGH_GROUPS))
    assert n_of_few.max() > cost.ENOUGH_GROUPS


@pytest.mark.parametrize("weighted", [False, True])
def test_points_in_parts_are_halved_alike(weighted, monkeypatch, tmp_path):
    X, Y = make_data(0.3, n=2000)
    Y = sp.csr_array(sp.diags_array((np.arange(2000) % 50 > 0).astype(float)) @ Y)  # some points have no label
    Y.eliminate_zeros()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 2000) if weighted else None
    lt.write_parts(lt.Dataset(X, Y, sample_weight=weights), tmp_path / "parts", 300)
    model = lt.LabelTreeClassifier(fanout=8, leaf_size=8, tradeoff=0.0)
    whole = model.fit(X, Y, sample_weight=weights).stats_
    monkeypatch.setattr(cost, "MAX_ROWS", 300)
    here = model.fit(X, Y, sample_weight=weights).stats_
    parts = model.fit(lt.open_parts(tmp_path / "parts")).stats_
    assert here["C_losses"] == parts["C_losses"]
    assert here["C_losses"][0] != whole["C_losses"][0]
