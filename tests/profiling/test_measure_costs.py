"""Costs are measured in rounds, and checked on queries that they were not fitted to."""

import numpy as np
import pytest

from labeltrees.profiling.cost_model import CostModel
from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.profiling.measure_costs import measure_costs
from labeltrees.profiling.meter import Workload
from labeltrees.search import SearchRequest
from tests.profiling.test_cost_model import NAMES, PARTS, random_counts


class KnownMeter:
    """Searches with known costs, on a machine that is sometimes busy with other work."""

    parts = PARTS
    stages = {"prepare": ("queries", "nonzeros")}  # noqa: RUF012

    def __init__(self, slow=lambda block: 1.0):
        self.known = CostModel(dict(zip(NAMES, (50.0, 2.0, 300.0, 40.0), strict=True)), PARTS)
        self.slow, self.calls, self.seen = slow, 0, []

    def count(self, workload):
        self.seen.append(workload)
        n = len(workload.queries)
        counts = random_counts(workload.request.k, n)
        none = np.zeros(0, np.int32)
        return SearchCounts(counts, Visits(np.zeros(n + 1, np.int64), none, none, none, none, none))

    def time(self, workload, visits):
        self.calls += 1
        counts = random_counts(workload.request.k, len(workload.queries))
        if workload.stage == "prepare":
            counts = {name: own * (name in self.stages["prepare"]) for name, own in counts.items()}
        noise = np.random.default_rng(self.calls).random(len(workload.queries)) < 0.2
        slow = np.array([self.slow(query // 2) for query in range(len(workload.queries))])
        return self.known.microseconds(counts) * slow + 100 * noise

    def variants(self, workload, random):
        return [workload._replace(stage="prepare")]


def test_the_best_of_the_rounds_counts_and_costs_come_out():
    meter = KnownMeter()
    workload = Workload(np.arange(100), SearchRequest(5))
    rounds = []
    measured = measure_costs(meter, workload, repeats=20, advance=rounds.append)
    assert rounds == list(range(1, 21))
    np.testing.assert_allclose(list(measured.costs.nanoseconds.values()), (50, 2, 300, 40), rtol=1e-6)
    np.testing.assert_allclose(measured.microseconds, meter.known.microseconds(measured.counts.each))
    assert abs(measured.error) < 1e-9
    assert [(other.request.k, other.stage) for other in meter.seen] == [
        (5, "search"),
        (1, "search"),
        (10, "search"),
        (5, "prepare"),
    ]


def test_the_error_is_that_of_queries_not_fitted_to():
    # Every other block of two queries takes a quarter longer than the costs of the rest say.
    meter = KnownMeter(lambda block: 1.25 if block % 2 else 1.0)
    measured = measure_costs(meter, Workload(np.arange(100), SearchRequest(5)))
    assert measured.error == pytest.approx(-0.2, abs=1e-6)


def test_one_query_alone_has_no_error_to_tell():
    measured = measure_costs(KnownMeter(), Workload(np.arange(1), SearchRequest(5)), repeats=20)
    assert np.isnan(measured.error)
    assert measured.microseconds.shape == (1,)
