"""The time budget: how long trials will take, and which of them there is time for."""

import pytest

from labeltrees.tuning.budget import TimeBudget


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_trials_are_allowed_while_they_and_the_final_training_fit():
    clock = Clock()
    budget = TimeBudget(30.0, n_final=1000, clock=clock, costs={"slow": 1.7, "slower": 1.9})
    assert budget.allows("as given", 1000)  # nothing is known yet
    budget.record("as given", 1000, 5.0)
    clock.now += 9
    assert budget.allows("as given", 1000)  # 5 s for the trial, 6 s for the final training, 1.2 s for baselines
    assert budget.allows("slow", 1000)
    assert not budget.allows("slower", 1000)
    clock.now += 11
    assert not budget.allows("as given", 1000)
    assert budget.allows("as given", 500)
    assert budget.n_skipped == 2
    assert (budget.elapsed, budget.left) == (20, 10)


def test_a_stage_ends_before_its_share_of_the_time():
    clock = Clock()
    budget = TimeBudget(30.0, n_final=100, clock=clock)
    budget.record("as given", 100, 1.0)
    clock.now += 15
    assert budget.allows("as given", 100)
    assert not budget.allows("as given", 100, until=0.5)


def test_changes_together_take_less_than_the_product_of_their_times():
    budget = TimeBudget(30.0, n_final=0, clock=lambda: 0.0, costs={"unmeasured": 4.0})
    budget.record("as given", 100, 1.0)
    budget.record("features", 100, 3.0)
    budget.record("trees", 100, 2.0)
    budget.record("as given", 300, 3.0)  # ratios are taken where both are known
    assert budget.expected("features + trees", 100) == pytest.approx(5.0)
    assert budget.expected("features + trees", 600) == pytest.approx(30.0)
    assert budget.expected("features + unmeasured", 100) == pytest.approx(9.0)
    budget.record("features + trees", 100, 4.0)  # its own time counts, once it is known
    assert budget.expected("features + trees", 600) == pytest.approx(24.0)
    assert budget.expected("features + unmeasured + trees", 100) == pytest.approx(16.0)  # and of those that contain it


def test_times_are_extrapolated_along_their_curve():
    budget = TimeBudget(30.0, n_final=0, clock=lambda: 0.0)
    budget.record("as given", 100, 1.0)
    budget.record("as given", 400, 4.0 * 4**0.2)  # grows like the power 1.2
    assert budget.expected("as given", 1600) == pytest.approx(16.0 * 16**0.2)
    budget.record("as given", 400, 1.5)  # a large constant part
    assert budget.expected("as given", 1600) == pytest.approx(2.25)


def test_time_is_kept_for_the_final_training_of_the_best_so_far():
    budget = TimeBudget(30.0, n_final=100, clock=lambda: 0.0)
    budget.record("as given", 100, 1.0)
    budget.record("slow", 100, 24.0)
    assert budget.allows("as given", 100)
    assert not budget.has_time("as given", 100, best="slow")


def test_without_a_limit_everything_is_allowed():
    budget = TimeBudget(None, n_final=10**9)
    budget.record("as given", 1, 1e9)
    assert budget.allows("as given", 10**9)
    assert budget.n_skipped == 0
