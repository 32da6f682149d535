"""A study: what it trains, what it knows already, and its time budget."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tuning.candidates import fingerprint
from labeltrees.tuning.data import as_tuning_data
from labeltrees.tuning.study import Study, TimeBudget, open_place, relative_cost
from labeltrees.tuning.trial import TrialInputs


@pytest.fixture
def fits(monkeypatch):
    """The parameters and the number of points of all models that are trained."""
    found, fit = [], lt.LabelTreeClassifier.fit

    def counting(self, X, *args, **kwargs):
        found.append((self.C, X.shape[0]))
        return fit(self, X, *args, **kwargs)

    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", counting)
    return found


@pytest.fixture
def study(train, validation, counted_time):
    estimator = lt.LabelTreeClassifier(C=1.0)
    data = (as_tuning_data(part, "train", estimator) for part in (train, validation))
    with open_place() as place:
        yield Study(TrialInputs(estimator, *data, (1, 3), 0), place)


def test_a_trial_equals_a_model_fitted_by_hand(study, train, validation):
    (trial,) = study.run({"own": {"C": 0.3, "tradeoff": 0.5}}).values()
    model = lt.LabelTreeClassifier(C=0.3, tradeoff=0.5).fit(train.X, train.Y)
    labels, _ = model.predict_topk(validation.X, 3)
    assert trial.record["p3"] == lt.metrics.precision_at_k(validation.Y, labels, 3)
    assert trial.hits.hit.sum(axis=1).mean() / 3 == pytest.approx(trial.record["p3"])
    assert (trial.n_points, trial.details) == (300, {})


def test_a_candidate_is_measured_at_several_sizes_and_not_twice_at_the_same(study, fits):
    candidates = {"a": {"C": 0.3}, "b": {"C": 3.0}}
    small, large = study.run(candidates, 100), study.run(candidates)
    assert fits == [(0.3, 100), (3.0, 100), (0.3, 300), (3.0, 300)]
    assert [trial.n_points for trial in (small["a"], large["a"])] == [100, 300]
    again = study.run({"b": {"C": 3.0}, "c": {"C": 1.0}}, 100)  # C = 3 is known
    assert fits[4:] == [(1.0, 100)]
    assert again["b"].record == small["b"].record


def test_a_smaller_sample_is_a_part_of_a_larger_one(study):
    inputs = study.inputs
    small, large = (inputs.sample(size).train.points.toarray() for size in (50, 100))
    assert {row.tobytes() for row in small} <= {row.tobytes() for row in large}


def test_candidates_that_give_the_same_model_are_trained_once(study, fits):
    trials = study.run({name: {"tradeoff": 0.5, "tree__cover": name} for name in ("marginal", "greedy")})
    assert len(fits) == 1
    assert trials["marginal"].record == trials["greedy"].record
    assert trials["greedy"].parameters["tree__cover"] == "greedy"


def test_without_time_only_the_first_candidate_is_measured(train, validation, fits, counted_time):
    estimator = lt.LabelTreeClassifier(C=1.0)
    data = (as_tuning_data(part, "train", estimator) for part in (train, validation))
    budget = TimeBudget(1e-9, n_final=300)
    with open_place() as place:
        study = Study(TrialInputs(estimator, *data, (1,), 0), place, budget)
        candidates = {str(cost): {"C": cost} for cost in (0.3, 1.0, 3.0)}
        assert list(study.run(candidates)) == ["0.3"]
        assert budget.n_skipped == 2
        assert list(
            study.run(
                {"b": {"C": 0.3}, "d": {"C": 9.0}},
            )
        ) == ["b"]  # known already
    assert len(fits) == 1


def test_models_are_removed_after_timing_unless_they_are_reported(study):
    study.run({"a": {"C": 0.3}}, 100)
    assert list((study.place.temporary / "models").iterdir()) == []
    study.run({"a": {"C": 0.3}}, report=True)
    assert [path.name for path in (study.place.temporary / "models").iterdir()] == [
        "tradeoff-1_fanout-256_marginal_weighted_C-0.3"
    ]


def test_fingerprints_differ_with_the_content():
    a, b = np.arange(3), np.array([0, 1, 3])
    assert fingerprint({"x": a}) == fingerprint({"x": a.copy()}) != fingerprint({"x": b})


def test_a_candidate_costs_as_much_as_its_trainings():
    assert relative_cost({"loss": "logistic", "C": 1.0}) == 1.0
    assert relative_cost({"evidence": "auto", "n_trees": 3}) == 6.0
    assert relative_cost({"C": "auto"}) == 1.5


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_trials_are_allowed_while_they_and_the_final_training_fit():
    clock = Clock()
    budget = TimeBudget(30.0, n_final=1000, clock=clock)
    assert budget.allows(1000)  # nothing is known yet
    budget.record(5.0, 1000)
    clock.now += 10
    assert budget.allows(1000)  # 5 s for the trial, 5 s for the final training
    assert budget.allows(1000, cost=2.0)  # 10 s and 10 s
    assert not budget.allows(1000, cost=2.1)
    clock.now += 11
    assert not budget.allows(1000)
    assert budget.allows(500)
    assert budget.n_skipped == 2
    assert budget.elapsed == pytest.approx(21)


def test_the_slowest_training_counts():
    budget = TimeBudget(30.0, n_final=0, clock=lambda: 0.0)
    budget.record(6.0, 100, cost=3.0)
    budget.record(1.0, 100)
    assert budget.allows(1500)
    assert not budget.allows(1501)


def test_a_training_known_from_a_sample_is_expected_to_take_its_own_time():
    budget = TimeBudget(30.0, n_final=0, clock=lambda: 0.0)
    budget.record(10.0, 100, name="slow")
    budget.record(1.0, 100, name="fast")
    assert budget.allows(3000, name="fast")
    assert not budget.allows(3000, name="slow")
    assert not budget.allows(3000, name="unknown")
    budget.adopt("fast")
    assert budget.allows(3000)


def test_without_a_limit_everything_is_allowed():
    budget = TimeBudget(None, n_final=10**9)
    budget.record(1e9, 1)
    assert budget.allows(10**9, cost=100.0)
    assert budget.n_skipped == 0
