"""A study: what it trains, what it knows already, and its time budget."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tuning.candidates import fingerprint
from labeltrees.tuning.data import as_tuning_data
from labeltrees.tuning.study import Study, TimeBudget, open_place
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
    assert trial.n_points == 300
    assert trial.details.keys() > {"height", "intervals", "looks"}


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


def test_a_trial_without_timing_has_metrics_only_and_is_measured_again_for_more(study, fits):
    (light,) = study.run({"a": {"C": 0.3}}, 100, timing=None).values()
    assert light.details == {}
    assert "model_bytes" not in light.record
    assert not (study.place.temporary / "models").exists() or not list((study.place.temporary / "models").iterdir())
    (full,) = study.run({"a": {"C": 0.3}}, 100).values()
    assert full.details
    assert len(fits) == 2
    assert full.record["p1"] == light.record["p1"]
    study.run({"a": {"C": 0.3}}, 100, timing=None)
    assert len(fits) == 2


def test_fingerprints_differ_with_the_content():
    a, b = np.arange(3), np.array([0, 1, 3])
    assert fingerprint({"x": a}) == fingerprint({"x": a.copy()}) != fingerprint({"x": b})
