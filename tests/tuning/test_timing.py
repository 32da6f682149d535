"""Interleaved timing, with a clock that advances only on demand."""

import itertools

import numpy as np
import pytest

from labeltrees.profiling.call_times import single_call_microseconds
from labeltrees.tuning.timing import measure_in_turns, measure_times


class Clock:
    """A clock that changes only when it is set."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Model:
    """A predictor that takes a given time."""

    def __init__(self, clock, log, name, microseconds):
        self.clock, self.log, self.name, self.microseconds = clock, log, name, microseconds

    def predictor(self, k):
        def answer(row):
            self.log.append((self.name, k))
            self.clock.now += int(1000 * self.microseconds * k * (1 + row[0]))

        return answer

    def predict_topk(self, points, k, n_jobs=None):
        self.log.append((self.name, "batch"))
        self.clock.now += int(1000 * self.microseconds * len(points))


def test_times_are_those_of_each_model():
    clock, log = Clock(), []
    models = [Model(clock, log, "slow", 10), Model(clock, log, "fast", 1)]
    points = np.arange(101.0)[:, np.newaxis]
    slow, fast = measure_times(
        models, points, [1, 5], repeats=3, max_points=101, random_state=0, n_jobs=None, clock=clock
    )
    assert slow == pytest.approx(
        {"top1_p50_us": 510, "top1_p99_us": 1000, "top5_p50_us": 2550, "top5_p99_us": 5000, "batch_us": 10}
    )
    assert fast == pytest.approx({name: value / 10 for name, value in slow.items()})


def test_models_take_turns_and_none_is_always_first():
    log = []
    tasks = [lambda name=name: log.append(name) or np.zeros(1) for name in "abc"]
    rounds = []
    measure_in_turns(tasks, 4, rounds.append)
    assert ["".join(log[i : i + 3]) for i in range(0, 12, 3)] == ["abc", "bca", "cab", "abc"]
    assert rounds == [1, 2, 3, 4]


def test_one_disturbed_round_does_not_count():
    values = itertools.chain([1.0, 500.0, 1.0])
    (median,) = measure_in_turns([lambda: np.array([next(values)])], 3)
    assert median.tolist() == [1.0]


def test_a_single_call_of_a_text_is_the_text():
    asked = []
    texts = np.array(["one", "two"], dtype=object)
    single_call_microseconds(asked.append, texts)
    assert sorted(asked) == ["one", "one", "two", "two"]
