"""Which candidate is chosen, for measurements where the answer is plain, and paired comparisons."""

import numpy as np
import pytest
from scipy import stats

import labeltrees as lt
from labeltrees.metrics.hits import Hits
from labeltrees.tuning.limits import Limits, paired_difference
from labeltrees.tuning.study import Trial


def make_trial(hit, p50=1.0, p99=1.0):
    """A trial from one hit or miss per point, and times of single calls."""
    record = {"p1": hit.mean(), "ndcg1": hit.mean(), "top1_p50_us": p50, "top1_p99_us": p99}
    hits = Hits(np.asarray(hit, dtype=bool)[:, np.newaxis], np.ones(len(hit), np.int64), 1)
    return Trial({}, len(hit), record, hits, {})


def make_trials(settings, n_points=1000):
    """Trials name -> (share of right points, p50, p99); a better one is right wherever a worse one is."""
    return {
        name: make_trial(np.arange(n_points) < share * n_points, *times) for name, (share, *times) in settings.items()
    }


SETTINGS = {
    "precise": (0.800, 10.0, 30.0),
    "close": (0.796, 5.0, 20.0),
    "fast": (0.780, 2.0, 8.0),
    "poor": (0.500, 1.0, 4.0),
    "useless": (0.700, 20.0, 60.0),
}


@pytest.mark.parametrize(
    ("loss", "latency", "chosen"),
    [
        (0.0, None, "precise"),
        (0.004, None, "precise"),  # 0.004 below on average, but the bound says up to 0.0073
        (0.008, None, "close"),
        (0.03, None, "fast"),
        (1.0, None, "poor"),
        (None, 1000, "precise"),
        (None, 25, "close"),
        (None, 8, "fast"),
        (None, 5, "poor"),
        (0.03, 25, "fast"),
        (0.008, 25, "close"),
        (1.0, 4, "poor"),
    ],
)
def test_the_expected_setting_is_chosen(loss, latency, chosen):
    verdict = Limits(loss, latency, "p1", 1).judge(make_trials(SETTINGS))
    assert verdict.best == "precise"
    assert verdict.choose() == chosen


def test_noise_does_not_decide():
    # A setting that is as good on average, but right on other points: few points cannot decide.
    right = np.arange(40) < 20
    few = {"a": make_trial(right, 2.0, 2.0), "b": make_trial(right[::-1])}
    assert Limits(0.05, None, "p1", 1).judge(few).choose() == "a"


def test_of_those_about_as_fast_the_most_precise_is_taken():
    settings = {"best": (0.8, 2.0, 2.0), "slower": (0.79, 1.04, 2.0), "fastest": (0.78, 1.0, 2.0)}
    assert Limits(0.1, None, "p1", 1).judge(make_trials(settings)).choose() == "slower"


def test_too_strict_a_latency_names_the_fastest_seen():
    with pytest.raises(lt.errors.LabelTreesError, match=r"max_latency_us=1: the fastest, poor, takes 4\.0 us"):
        Limits(None, 1, "p1", 1).judge(make_trials(SETTINGS)).choose()


def test_limits_that_contradict_each_other_say_what_is_closest():
    with pytest.raises(lt.errors.LabelTreesError, match=r"fast has the best p1, 0\.0200 below"):
        Limits(0.005, 10, "p1", 1).judge(make_trials(SETTINGS)).choose()


@pytest.mark.parametrize(
    ("loss", "latency", "kept"),
    [
        (0.008, None, {"precise", "close"}),
        (None, 8, {"precise", "close", "poor", "fast"}),
    ],
)
def test_early_rounds_keep_candidates_that_may_be_chosen(loss, latency, kept):
    verdict = Limits(loss, latency, "p1", 1).judge(make_trials(SETTINGS))
    assert set(verdict.promising(len(kept))) == kept


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((-0.1, None, "p1", 5), "max_precision_loss must be"),
        ((None, 0, "p1", 5), "max_latency_us must be"),
        ((0.1, None, "p7", 5), "metric must be"),
        ((0.1, None, "psp1", 5), "metric must be"),
        ((0.1, None, "precision", 5), "metric must be"),
        ((0.1, None, 3, 5), "metric must be"),
    ],
)
def test_limits_that_are_not_allowed_are_refused(limits, message):
    with pytest.raises(lt.errors.InputError, match=message):
        Limits(*limits).validate()


def noisy_trials(gain, n_points=400):
    """Trials that differ on many points: the other one is right on `gain` * n_points more."""
    rng = np.random.default_rng(0)
    own = rng.random(n_points) < 0.5
    other = own.copy()
    wrong, right = np.flatnonzero(~own), np.flatnonzero(own)
    other[rng.choice(wrong, 40 + round(gain * n_points), replace=False)] = True
    other[rng.choice(right, 40, replace=False)] = False
    return {"own": make_trial(own), "other": make_trial(other)}


@pytest.mark.parametrize(
    ("gain", "n_tried", "chosen"),
    # 80 to 92 of 400 points differ, so the standard error is 0.022 to 0.024.
    [(0.01, None, "own"), (0.03, None, "other"), (0.03, 9, "own"), (0.05, 9, "other"), (0.05, 100, "own")],
)
def test_a_gain_within_luck_keeps_the_own_setting(gain, n_tried, chosen):
    verdict = Limits(None, None, "p1", 1).judge(noisy_trials(gain), "own", n_tried)
    assert verdict.best == "other"
    assert verdict.choose() == chosen
    assert verdict.keeps_own(chosen) == (chosen == "own")
    assert "own" in verdict.promising(2)


def test_a_default_setting_that_is_too_slow_is_replaced():
    trials = noisy_trials(0.01)
    trials["own"].record["top1_p99_us"] = 50.0
    assert Limits(None, 10, "p1", 1).judge(trials, "own").choose() == "other"


def test_equal_settings_replace_the_own_by_luck_in_few_cases_only():
    rng, n_points = np.random.default_rng(0), 500
    replaced = 0
    for _ in range(200):
        trials = {name: make_trial(rng.random(n_points) < 0.5) for name in ("own", *"abcdefghi")}
        replaced += Limits(None, None, "p1", 1).judge(trials, "own").choose() != "own"
    assert replaced < 90  # of 200; without the rule 180


def test_no_limit_is_allowed_and_means_the_most_precise():
    Limits(None, None, "p1", 5).validate()


def test_a_known_case():
    # Differences 1, -1, 0, 0: mean 0, standard deviation sqrt(2/3), t(0.95, 3) = 2.3534.
    found = paired_difference(np.array([1.0, 0, 1, 0]), np.array([0.0, 1, 1, 0]))
    assert found.mean == 0
    assert found.upper == -found.lower == pytest.approx(2.3534 * np.sqrt(2 / 3) / 2, rel=1e-4)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_it_is_the_bound_of_the_one_sided_t_test(confidence):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 50))
    found = paired_difference(a, b, confidence)
    lower = stats.ttest_rel(a, b, alternative="greater").confidence_interval(confidence).low
    upper = stats.ttest_rel(a, b, alternative="less").confidence_interval(confidence).high
    assert found == pytest.approx((np.mean(a - b), lower, upper))


def test_guarantees_hold_as_often_as_promised():
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(2000):
        hard = rng.random(400)  # points differ far more than models do
        a, b = hard < 0.79, (hard + 0.05 * rng.standard_normal(400)) < 0.8
        truth = 0.79 - 0.8  # to 0.0005
        wrong += paired_difference(a.astype(float), b.astype(float)).lower > truth + 0.001
    assert wrong / 2000 < 0.07


def test_equal_models_are_equal_for_certain():
    values = np.array([1.0, 0.0])
    assert paired_difference(values, values) == (0, 0, 0)


def test_one_point_gives_no_information():
    found = paired_difference(np.array([1.0]), np.array([0.0]))
    assert (found.lower, found.upper) == (-np.inf, np.inf)
