"""Discounts of node classes: compared with trying every threshold, and every label of every node."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.models.common.early_stop_tables import COSTS, SHARES, Visits, learn_tables, visits_of
from labeltrees.search.result import SearchTrace
from tests.strategies import labels_below


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([3, 1000]))
@settings(max_examples=60, deadline=None)
def test_tables_are_the_best_of_all_thresholds(seed, n, n_values):
    rng = np.random.default_rng(seed)
    classes, required = rng.integers(0, 3, n), rng.integers(0, n_values, n) / 64  # some equal
    needed = rng.random(n) < 0.3
    table = learn_tables(Visits(classes, required, needed), 4)
    assert table.shape == (len(SHARES) + 2 * len(COSTS) - 1, 4)
    assert (np.diff(table, axis=0) >= 0).all()
    assert (table[:, 3] == 0).all()  # a class that was never met
    for number in range(3):
        own, lost = required[classes == number], needed[classes == number]

        def gain(discount, cost, own=own, lost=lost):
            skipped = own < discount
            return skipped.sum() - cost * (lost[skipped].sum() + 0.5) if skipped.any() else 0.0

        # The first table is not yet raised by others: no threshold does better.
        first = gain(table[len(SHARES), number], COSTS[0])
        assert first == max([gain(value + 1e-4, COSTS[0]) for value in own] + [0.0])
        best = 0.0
        for setting, cost in enumerate(COSTS):
            own_best = max([0.0, *own], key=lambda value: gain(value + 1e-4, cost))
            if gain(own_best + 1e-4, cost) > 0:
                best = max(best, own_best)
            skipped = own < table[len(SHARES) + 2 * setting, number]
            assert skipped.sum() >= (own <= best).sum() * (best > 0)
    own = table[len(SHARES) :].astype(float)
    np.testing.assert_allclose(own[1::2], (own[:-1:2] + own[2::2]) / 2, rtol=1e-6, atol=1e-30)
    np.testing.assert_allclose(table[: len(SHARES)], SHARES[:, None] * table[len(SHARES)], rtol=1e-6, atol=1e-30)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_visits_are_compared_with_the_labels_elsewhere(seed, k):
    rng = np.random.default_rng(seed)
    tree = lt.contract(lt.random_tree(20, random_state=seed % 1000), int(rng.integers(2, 6)))
    n, n_found = 4, int(rng.integers(0, 2 * k + 1))
    labels = np.stack([rng.permutation(20)[: 2 * k] for _ in range(n)])
    scores = np.sort(-rng.random((n, 2 * k)), axis=1)[:, ::-1]
    labels[:, n_found:] = -1
    nodes = [np.concatenate([[0], rng.permutation(np.arange(1, tree.n_nodes))[:5]]) for _ in range(n)]
    ends = np.concatenate([[0], np.cumsum([len(own) for own in nodes])])
    trace = SearchTrace(ends, np.concatenate(nodes).astype(np.int32), -rng.random(ends[-1]).astype(np.float32))
    visits = visits_of(tree, trace, labels, scores, k, lambda at, limit: at - limit)
    below = labels_below(tree)
    at = 0
    for query in range(n):
        for place, node in enumerate(nodes[query][1:], start=1):
            assert visits.nodes[at] == node
            assert visits.needed[at] == bool(set(labels[query, :k].tolist()) & set(below[node]))
            elsewhere = [rank for rank in range(n_found) if labels[query, rank] not in below[node]]
            limit = scores[query, elsewhere[k - 1]] if len(elsewhere) >= k else -80.0
            assert visits.required[at] == np.float64(trace.scores[ends[query] + place]) - limit
            at += 1
    assert at == len(visits.nodes)


def test_no_visits_are_joined_to_none():
    joined = Visits.joined([])
    assert [part.shape for part in joined] == [(0,)] * 3
    assert [part.dtype for part in joined] == [np.int64, np.float64, np.bool_]
