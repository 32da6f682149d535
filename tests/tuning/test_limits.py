"""Which setting is taken, for tables where the answer is plain."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tuning.limits import Limits
from labeltrees.tuning.quality import Hits


def make_result(settings, n_points=1000):
    """A result of settings name -> (share of right points, p50, p99); a better one is right wherever a worse one is."""
    hits = {
        name: Hits((np.arange(n_points) < share * n_points)[:, np.newaxis], np.ones(n_points, np.int64))
        for name, (share, _, _) in settings.items()
    }
    table = [
        {"setting": name, "p1": share, "ndcg1": share, "top1_p50_us": p50, "top1_p99_us": p99}
        for name, (share, p50, p99) in settings.items()
    ]
    return lt.SweepResult(table, {"k": [1]}, {}, hits=hits)


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
def test_the_right_setting_is_taken(loss, latency, chosen):
    verdict = Limits(loss, latency, "p1", 1).judge(make_result(SETTINGS))
    assert verdict.best == "precise"
    assert verdict.choose() == chosen


def test_noise_does_not_decide():
    # A setting that is as good on average, but right on other points: few points cannot tell.
    few = make_result({"a": (0.5, 2.0, 2.0), "b": (0.5, 1.0, 1.0)}, 40)
    few._hits["b"] = Hits(few._hits["a"].hit[::-1], few._hits["b"].labels_per_point)
    assert Limits(0.05, None, "p1", 1).judge(few).choose() == "a"


def test_of_those_about_as_fast_the_most_precise_is_taken():
    settings = {"best": (0.8, 2.0, 2.0), "slower": (0.79, 1.04, 2.0), "fastest": (0.78, 1.0, 2.0)}
    assert Limits(0.1, None, "p1", 1).judge(make_result(settings)).choose() == "slower"


def test_too_strict_a_latency_names_the_fastest_seen():
    with pytest.raises(lt.LabelTreesError, match=r"max_latency_us=1: the fastest, poor, takes 4\.0 us"):
        Limits(None, 1, "p1", 1).judge(make_result(SETTINGS)).choose()


def test_limits_that_contradict_each_other_say_what_is_closest():
    with pytest.raises(lt.LabelTreesError, match=r"fast has the best p1, 0\.0200 below"):
        Limits(0.005, 10, "p1", 1).judge(make_result(SETTINGS)).choose()


@pytest.mark.parametrize(
    ("loss", "latency", "kept"),
    [
        (0.008, None, {"precise", "close"}),
        (None, 8, {"precise", "close", "poor", "fast"}),
    ],
)
def test_early_rounds_keep_what_may_be_chosen(loss, latency, kept):
    verdict = Limits(loss, latency, "p1", 1).judge(make_result(SETTINGS))
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
    with pytest.raises(lt.InputError, match=message):
        Limits(*limits).validate()


def noisy_result(gain, n_points=400, names=("own", "other")):
    """Results that differ on many points: each setting after the first is right on `gain` * n_points more."""
    rng = np.random.default_rng(0)
    own = rng.random(n_points) < 0.5
    settings = {name: (0.5, 1.0, 1.0) for name in names}
    result = make_result(settings, n_points)
    for number, name in enumerate(names):
        hit = own.copy()
        if number:
            wrong, right = np.flatnonzero(~own), np.flatnonzero(own)
            hit[rng.choice(wrong, 40 + round(gain * n_points), replace=False)] = True
            hit[rng.choice(right, 40, replace=False)] = False
        result._hits[name] = Hits(hit[:, np.newaxis], np.ones(n_points, np.int64))
        result.table[number]["p1"] = hit.mean()
    return result


@pytest.mark.parametrize(
    ("gain", "n_tried", "chosen"),
    # 80 to 92 of 400 points differ, so the standard error is 0.022 to 0.024.
    [(0.01, None, "own"), (0.03, None, "other"), (0.03, 9, "own"), (0.05, 9, "other"), (0.05, 100, "own")],
)
def test_a_gain_within_luck_keeps_the_own_setting(gain, n_tried, chosen):
    verdict = Limits(None, None, "p1", 1).judge(noisy_result(gain), "own", n_tried)
    assert verdict.best == "other"
    assert verdict.choose() == chosen
    assert verdict.keeps_own(chosen) == (chosen == "own")
    assert "own" in verdict.promising(2)


def test_an_own_setting_that_is_too_slow_is_replaced_by_any():
    result = noisy_result(0.01)
    result.table[0]["top1_p99_us"] = 50.0
    assert Limits(None, 10, "p1", 1).judge(result, "own").choose() == "other"


def test_equal_settings_replace_the_own_by_luck_in_few_cases_only():
    rng, n_points = np.random.default_rng(0), 500
    replaced = 0
    for _ in range(200):
        names = ["own", *"abcdefghi"]
        result = make_result({name: (0.5, 1.0, 1.0) for name in names}, n_points)
        for number, name in enumerate(names):
            hit = rng.random(n_points) < 0.5
            result._hits[name] = Hits(hit[:, np.newaxis], np.ones(n_points, np.int64))
            result.table[number]["p1"] = hit.mean()
        replaced += Limits(None, None, "p1", 1).judge(result, "own").choose() != "own"
    assert replaced < 90  # of 200; without the rule 180


def test_no_limit_is_allowed_and_means_the_most_precise():
    Limits(None, None, "p1", 5).validate()
