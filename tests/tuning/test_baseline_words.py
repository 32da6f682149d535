"""What is said about a model and the best baseline."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tuning.baseline_table import BaselineTable
from labeltrees.tuning.baseline_words import compare_with_baselines
from labeltrees.tuning.quality import Hits


def result_of(model, rows=None, **baselines):
    """A result of one setting and some baselines, from one hit or miss per point."""
    ones = np.ones(len(model), dtype=np.int64)
    rows = np.arange(len(model)) if rows is None else rows
    hits = {name: Hits(np.array(found, dtype=bool)[:, None], ones[: len(found)]) for name, found in baselines.items()}
    return lt.SweepResult(
        [{"setting": "one"}],
        {"k": [1]},
        {},
        hits={"one": Hits(np.array(model, dtype=bool)[:, None], ones)},
        baselines=BaselineTable([], rows, hits),
    )


def words(*arguments, **baselines):
    return compare_with_baselines(result_of(*arguments, **baselines), "one", "p1", "The chosen model")


def test_a_better_model_is_above_the_best_baseline():
    text = words([1] * 80 + [0] * 20, popularity=[1] * 10 + [0] * 90, neighbours=[1] * 50 + [0] * 50)
    assert text.startswith(
        "The best baseline is neighbours (labels of the 50 most similar training points), with P@1 50.00 %."
    )
    assert "The chosen model is 30.00 percentage points above it (95 % confidence interval +20." in text


def test_a_worse_model_is_said_not_to_beat_it():
    text = words([1] * 20 + [0] * 80, popularity=[1] * 50 + [0] * 50)
    assert "The chosen model does not beat it: it is 30.00 percentage points below it" in text
    assert "use the baseline" in text


@pytest.mark.parametrize(("model", "direction"), [([1, 1, 1, 0], "above"), ([0, 0, 1, 0], "below")])
def test_a_small_difference_is_within_the_noise(model, direction):
    text = words(model, popularity=[1, 0, 1, 0])
    assert f"does not clearly beat it: it is 25.00 percentage points {direction} it, which is within the noise" in text


def test_equal_answers_do_not_beat_the_baseline():
    assert "does not clearly beat it: it is 0.00 percentage points above it" in words([1, 0], popularity=[1, 0])


def test_a_model_is_compared_on_the_points_of_the_baselines():
    text = words([0] * 90 + [1] * 10, rows=np.arange(90, 100), popularity=[0, 1] * 5)
    assert "P@1 50.00 % on 10 of the 100 validation points" in text
    assert "The chosen model is 50.00 percentage points above it" in text


def test_without_baselines_nothing_is_said():
    assert words([1, 0]) is None
