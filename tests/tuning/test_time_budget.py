"""A time budget leaves out trials that would not leave enough time for the final training."""

import pytest

from labeltrees.tuning.time_budget import TimeBudget


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
