"""The sentences about a choice: three, and a fourth one if something went wrong."""

import re

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.metrics.table import values_of_points
from labeltrees.tuning.limits import paired_difference
from labeltrees.tuning.study import Study
from tests.tuning.conftest import make_data

PLAIN = lt.LabelTreeClassifier(C=1.0, evidence=None, fanout=8)


def sentences(text):
    return re.split(r"(?<=\.) (?=[A-Z])", text)


@pytest.fixture(scope="module")
def data():
    return make_data(500, noise=3.0)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"tune": "tree"},
        {"tune": ["C"], "max_latency_us": 1e9},
        {"tune": {"tradeoff": [0, 1], "fanout": [2], "C": None}, "max_precision_loss": 0.05, "max_latency_us": 1e9},
        {"tune": ["C"], "rules": {"exclude": ["label a"]}},
        {"tune": ["C"], "validation": make_data(100, seed=3)},
    ],
)
@pytest.mark.usefixtures("counted_time")
def test_there_are_three_sentences(data, arguments):
    choice = lt.choose(data, estimator=PLAIN, **{"tune": ["loss", "C", "n_trees"]} | arguments)
    tried, chosen, costs, *warning = sentences(choice.explanation)
    assert tried.startswith("Tried ")
    assert re.search(r"each measured on .*\b[180]00 points", tried)
    assert ("under the rules exclude (1)" in tried) == ("rules" in arguments)
    assert chosen.startswith("Chosen: ")
    assert f"with P@1 {100 * choice.record['p1']:.2f} %" in chosen
    best = max(choice.result.baselines, key=lambda record: record["p1"])
    assert f"against the best baseline, {best['baseline']} ({100 * best['p1']:.2f} %)" in chosen
    assert costs.startswith("It costs ")
    assert costs.endswith("the model was then trained on all 500 points.")
    assert f"{choice.record['model_bytes'] / 1e6:.1f}" in costs
    assert f"(99th percentile {choice.record['top5_p99_us']:.1f})" in costs
    assert all(text.startswith("Warning: ") for text in warning)
    assert len(warning) <= 1


@pytest.mark.usefixtures("counted_time")
def test_the_gain_is_that_over_the_estimator_as_given(data, monkeypatch):
    trials, run = {}, Study.run
    monkeypatch.setattr(Study, "run", lambda own, *given, **more: trials.update(f := run(own, *given, **more)) or f)
    weak = lt.LabelTreeClassifier(C=1e-4, evidence=None, fanout=8)
    choice = lt.choose(data, estimator=weak, tune={"C": [1.0]}, metric="p3")
    found = paired_difference(*(values_of_points(trials[name].hits, "p3") for name in ("C 1.0", "as given")), 0.975)
    assert found.lower > 0
    interval = f"(95 % interval {100 * found.lower:+.2f} to {100 * found.upper:+.2f})"
    gain = f"{100 * found.mean:+.2f} percentage points {interval} against the estimator as given"
    assert f"Chosen: C 1.0, with P@3 {100 * choice.record['p3']:.2f} %: {gain}, and +" in choice.explanation
    own, best = choice.steps[0], choice.steps[1]
    assert f"{best['us_per_call']:.1f} instead of {own['us_per_call']:.1f} us per call" in choice.explanation


def test_an_estimator_that_stays_is_no_gain_over_itself(data):
    choice = lt.choose(data, estimator=PLAIN, tune={"C": [1e-4]})
    start = "Chosen: as given (no change gains more than luck explains), with P@1"
    assert start in choice.explanation
    assert "against the estimator as given" not in choice.explanation


def test_all_that_went_wrong_is_in_one_sentence():
    rng = np.random.default_rng(0)
    Y = rng.random((400, 20)) < np.linspace(0.6, 0.02, 20)
    noise = (np.float32(rng.random((400, 200)) < 0.05), Y)
    choice = lt.choose(noise, tune=["C", "loss"], estimator=PLAIN, time_budget=1e-6)
    found = sentences(choice.explanation)
    assert len(found) == 4
    assert "there was no time to try changes" in found[1]
    assert re.fullmatch(
        r"Warning: the time budget of 1e-06 s left out \d+ trials; the model does not( clearly)? beat the best baseline"
        r"(, so look at the features and the training data, or use the baseline)?\.",
        found[3],
    )
