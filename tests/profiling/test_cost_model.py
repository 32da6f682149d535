"""Costs are found again from counts and times, and checked on queries they were not fitted to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees.errors import InputError
from labeltrees.profiling.cost_model import CostModel, fit_costs
from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.profiling.measure_costs import measure_costs
from labeltrees.profiling.meter import Workload

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
    with pytest.raises(InputError, match="microseconds must be times above 0"):
        fit_costs(counts, times, PARTS)


class KnownSearches:
    """Searches of known costs on a machine with fits of doing other things."""

    parts = PARTS
    stages = {"prepare": ("queries", "nonzeros")}  # noqa: RUF012

    def __init__(self, slow=lambda block: 1.0):
        self.known = CostModel(dict(zip(NAMES, (50.0, 2.0, 300.0, 40.0), strict=True)), PARTS)
        self.slow, self.calls, self.seen = slow, 0, []

    def count(self, workload):
        self.seen.append(workload)
        n = len(workload.queries)
        counts = random_counts(workload.k, n)
        none = np.zeros(0, np.int32)
        return SearchCounts(counts, Visits(np.zeros(n + 1, np.int64), none, none, none, none, none))

    def time(self, workload, visits):
        self.calls += 1
        counts = random_counts(workload.k, len(workload.queries))
        if workload.stage == "prepare":
            counts = {name: own * (name in self.stages["prepare"]) for name, own in counts.items()}
        noise = np.random.default_rng(self.calls).random(len(workload.queries)) < 0.2
        slow = np.array([self.slow(query // 2) for query in range(len(workload.queries))])
        return self.known.microseconds(counts) * slow + 100 * noise

    def variants(self, workload, random):
        return [workload._replace(stage="prepare")]


def test_the_best_of_the_rounds_counts_and_costs_come_out():
    searches = KnownSearches()
    workload = Workload(np.arange(100), 5, {})
    rounds = []
    measured = measure_costs(searches, workload, repeats=20, advance=rounds.append)
    assert rounds == list(range(1, 21))
    np.testing.assert_allclose(list(measured.costs.nanoseconds.values()), (50, 2, 300, 40), rtol=1e-6)
    np.testing.assert_allclose(measured.microseconds, searches.known.microseconds(measured.counts.each))
    assert abs(measured.error) < 1e-9
    assert [(other.k, other.stage) for other in searches.seen] == [
        (5, "search"),
        (1, "search"),
        (10, "search"),
        (5, "prepare"),
    ]


def test_the_error_is_that_of_queries_not_fitted_to():
    # Every other block of two queries takes a quarter longer than the costs of the rest say.
    measured = measure_costs(KnownSearches(lambda block: 1.25 if block % 2 else 1.0), Workload(np.arange(100), 5, {}))
    assert measured.error == pytest.approx(-0.2, abs=1e-6)


def test_one_query_alone_has_no_error_to_tell():
    measured = measure_costs(KnownSearches(), Workload(np.arange(1), 5, {}), repeats=20)
    assert np.isnan(measured.error)
    assert measured.microseconds.shape == (1,)
