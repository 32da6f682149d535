"""choose searches over loss, C, evidence and the number of trees, on samples first, within a time budget."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.tuning import parameter_search, setting_trial
from labeltrees.tuning.parameter_search import TUNED, check_tuned
from labeltrees.tuning.trials import Variant
from tests.tuning.conftest import count_as_time, make_data

pytestmark = pytest.mark.usefixtures("counted_time")

PLAIN = lt.LabelTreeClassifier(C=1.0)
ONE_TREE = {"tradeoffs": [1], "fanouts": [8], "repeats": 1, "estimator": PLAIN}


@pytest.fixture(scope="module")
def data():
    return make_data(800)


def choose_by_work(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setting_trial, "measure_times", count_as_time)
        return lt.choose(data, metric="p3", **ONE_TREE)


@pytest.fixture(scope="module")
def choice(data):
    return choose_by_work(data)


def test_all_parameters_are_tried_and_the_most_precise_are_chosen(choice, data):
    assert set(choice.parameters) == set(TUNED) - {"features", "trend"}
    pairs = [trial for trial in choice.trials if "loss" in trial]
    assert {(trial["loss"], trial["C"]) for trial in pairs} == {
        *(("squared_hinge", cost) for cost in (0.1, 0.3, 1.0, 3.0)),
        *(("logistic", cost) for cost in (0.3, 1.0, 3.0, 10.0)),
    }
    highest = max(trial["p3"] for trial in pairs)
    best = [(trial["loss"], trial["C"]) for trial in pairs if trial["p3"] == highest]
    assert (choice.parameters["loss"], choice.parameters["C"]) in [*best, ("squared_hinge", 1.0)]  # or the own one
    others = [trial for trial in choice.trials if "n_trees" in trial]
    assert [(trial["evidence"], trial["n_trees"]) for trial in others] == [("auto", 1), (None, 3), ("auto", 3)]
    assert choice.record["p3"] >= max(trial["p3"] for trial in others)
    for name, value in choice.parameters.items():
        assert choice.model.get_params()[name] == value
    assert choice.model.n_points_ == data.n_points


def test_trials_equal_models_fitted_by_hand(choice, data):
    order = np.random.default_rng(0).permutation(800)
    train, validation = data[np.sort(order[160:])], data[np.sort(order[:160])]
    trial = next(trial for trial in choice.trials if trial.get("loss") == "logistic" and trial["C"] == 3.0)
    model = lt.LabelTreeClassifier(loss="logistic", C=3.0).fit(train.X, train.Y)
    labels, _ = model.predict_topk(validation.X, 3)
    assert trial["p3"] == pytest.approx(lt.metrics.precision_at_k(validation.Y, labels, 3))
    assert trial["n_points"] == 640


def test_the_explanation_names_the_choices_and_a_baseline(choice):
    assert "8 pairs of loss and C were tried on 640 points; chosen: loss" in choice.explanation
    assert "4 combinations of evidence and number of trees were tried on 640 points" in choice.explanation
    assert "The best baseline is" in choice.explanation
    assert "It is the only setting." in choice.explanation


def test_a_model_that_does_not_beat_the_baselines_is_reported_as_such():
    rng = np.random.default_rng(0)
    Y = sp.csr_array(rng.random((1200, 20)) < np.linspace(0.6, 0.02, 20))
    X = sp.csr_array(rng.random((1200, 200)) < 0.05, dtype=np.float32)  # says nothing about the labels
    explanation = lt.choose(
        (X, Y), tune=["C"], estimator=lt.LabelTreeClassifier(C=1.0, prune_below=0), repeats=1
    ).explanation
    assert "does not beat it" in explanation or "does not clearly beat it" in explanation


def test_only_the_named_parameters_are_tried(data):
    choice = lt.choose(data, tune=["C", "tradeoff"], tradeoffs=[0, 1], repeats=1, estimator=PLAIN)
    assert set(choice.parameters) == {"C", "tradeoff"}
    assert [trial["C"] for trial in choice.trials] == [1.0, 0.1, 0.3, 3.0]
    assert {trial["loss"] for trial in choice.trials} == {"squared_hinge"}
    assert {record["fanout"] for record in choice.result.table} == {256}


def test_a_cost_found_by_the_model_itself_is_tried_beside_the_numbers(data):
    choice = lt.choose(data, tune=["C"], repeats=1)
    assert [trial["C"] for trial in choice.trials] == ["auto", 0.1, 0.3, 1.0, 3.0]


def test_samples_come_first_where_there_are_enough_points(data, monkeypatch):
    monkeypatch.setattr(parameter_search, "_MIN_POINTS", 60)
    reported = []
    choice = lt.choose(
        data,
        tune=["loss", "C"],
        repeats=1,
        estimator=PLAIN,
        progress=lambda done, total: reported.append((done, total)),
    )
    sizes = [trial["n_points"] for trial in choice.trials]
    assert sizes == [71] * 8 + [213] * 5 + [640] * 3
    assert reported[-1][0] == reported[-1][1]


def test_the_same_data_and_seed_give_the_same_choice(data, choice):
    again = choose_by_work(data)
    assert again.parameters == choice.parameters
    assert [trial["p3"] for trial in again.trials] == [trial["p3"] for trial in choice.trials]


def test_a_time_budget_that_is_too_short_still_gives_a_model(data):
    choice = lt.choose(data, time_budget=1e-6, **ONE_TREE)
    assert len(choice.trials) == 1
    assert choice.parameters["loss"] == "squared_hinge"
    assert "The time budget of 1e-06 s left out 10 trials." in choice.explanation
    assert choice.model.predict_topk(data.X[:2], 3)[0].shape == (2, 3)


def test_limits_hold_for_the_last_step_too(data):
    choice = lt.choose(data, max_precision_loss=1.0, tune=["n_trees"], fanouts=[8], repeats=1, estimator=PLAIN)
    assert choice.parameters["n_trees"] == 1  # three trees take more work, and any loss is allowed


def test_a_text_model_has_only_its_own_parameters():
    assert check_tuned("all", lt.TextLabelTreeClassifier()) == ("tradeoff",)
    with pytest.raises(lt.InputError, match="parameters of a TextLabelTreeClassifier"):
        check_tuned(["C"], lt.TextLabelTreeClassifier())


def test_a_variant_costs_as_much_as_its_trainings():
    assert Variant.of(loss="logistic", C=1.0).cost == 1.0
    assert Variant.of(evidence="auto", n_trees=3).cost == 6.0
    assert Variant.of(C="auto").cost == 1.5
    assert Variant().name == "as given"


def test_a_trend_is_found_where_labels_come_and_go():
    # Features say little, and each label is frequent in its own month only.
    rng = np.random.default_rng(0)
    days = np.sort(rng.integers(0, 300, 3000))
    labels = np.where(rng.random(3000) < 0.8, days // 30, rng.integers(0, 10, 3000))
    X = np.ones((3000, 4)) + 0.1 * rng.random((3000, 4))
    train = lt.Dataset(X, np.eye(10)[labels], times=days)
    late = lt.Dataset(X[:300], np.eye(10)[np.where(rng.random(300) < 0.8, 9, rng.integers(0, 10, 300))])
    choice = lt.choose(train, metric="p1", validation=late, tune=["trend"], n_jobs=1)
    assert choice.parameters["trend"] == 14.0
    assert choice.model.trend_.argmax() == 9
    assert "trend" in choice.explanation


def test_trend_needs_times():
    with pytest.raises(lt.InputError, match="trend can only be chosen for a Dataset with times"):
        lt.choose((np.eye(50), np.eye(50)), tune=["trend"])
