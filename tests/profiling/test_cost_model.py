"""Costs are recovered from counts and times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees.errors import InputError
from labeltrees.profiling.cost_model import CostModel, fit_costs

PARTS = {"prepare": ("queries", "nonzeros"), "visits": ("visits",), "heap": ("steps",)}
NAMES = [name for own in PARTS.values() for name in own]
COSTS = st.lists(st.one_of(st.just(0.0), st.floats(1, 1000)), min_size=4, max_size=4).filter(any)


def random_counts(seed, n):
    rng = np.random.default_rng(seed)
    return {"queries": np.ones(n, np.int64), **{name: rng.integers(1, 200, n) for name in NAMES[1:]}}


@given(COSTS, st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_known_costs_are_recovered(costs, seed):
    known = CostModel(dict(zip(NAMES, costs, strict=True)), PARTS)
    counts = random_counts(seed, 60)
    fitted = fit_costs(counts, known.microseconds(counts), PARTS)
    np.testing.assert_allclose(list(fitted.nanoseconds.values()), costs, rtol=1e-6, atol=1e-6 * max(costs))


def test_what_weighs_more_is_met_better():
    counts = {"queries": np.ones(2), "nonzeros": np.zeros(2), "visits": np.zeros(2), "steps": np.zeros(2)}
    even, uneven = (fit_costs(counts, [1.0, 2.0], PARTS, weights) for weights in (None, [1.0, 1e6]))
    assert 1000 < even.nanoseconds["queries"] < 1900
    assert uneven.nanoseconds["queries"] == pytest.approx(2000, rel=1e-3)


def test_no_cost_is_negative():
    counts = {"queries": np.ones(4), "nonzeros": np.arange(1, 5), "visits": np.ones(4), "steps": np.zeros(4)}
    fitted = fit_costs(counts, [4.0, 3.0, 2.0, 1.0], PARTS)  # the more nonzeros the sooner: no cost says that
    assert min(fitted.nanoseconds.values()) == 0.0
    assert fitted.nanoseconds["steps"] == 0.0  # never seen


def test_parts_add_up():
    model = CostModel(dict(zip(NAMES, (10.0, 2.0, 300.0, 40.0), strict=True)), PARTS)
    counts = random_counts(0, 9)
    parts = model.by_part(counts)
    np.testing.assert_allclose(parts["prepare"], (10 + 2 * counts["nonzeros"]) / 1000)
    np.testing.assert_allclose(sum(parts.values()), model.microseconds(counts))


@pytest.mark.parametrize("times", [[], [1.0, 0.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_times_that_cannot_be_are_refused(times):
    counts = {name: np.ones(2) for name in NAMES}
    with pytest.raises(InputError, match="microseconds must be positive times"):
        fit_costs(counts, times, PARTS)
