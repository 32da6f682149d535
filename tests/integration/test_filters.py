"""Searches among given labels, without given labels, and within a budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labeltrees.errors import InputError
from labeltrees.search import Searcher, SearchRequest

seeds = st.integers(0, 2**32 - 1)


def masks(seed, n, n_labels, share):
    return np.random.default_rng(seed).random((n, n_labels)) < share


def expected(twin, model, X, k, allowed):
    scores = twin.path_scores(model, X)
    return twin.best_of(np.where(allowed, scores, -np.inf), k)


@given(seeds, st.sampled_from([0.0, 0.1, 0.5]), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_candidates_of_each_query_equal_brute_force_among_them(twin, seed, share, k):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 5, model.n_features)
    allowed = masks(seed, 5, model.n_labels, share)
    labels, _ = expected(twin, model, X, k, allowed)
    searcher = Searcher(model.pack())
    forms = (sparse.csr_array(allowed), [np.flatnonzero(row) for row in allowed])
    for form in forms:
        np.testing.assert_array_equal(searcher.topk(X, SearchRequest(k, candidates=form)).labels, labels)


@given(seeds, st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=20, deadline=None)
def test_candidates_for_all_queries_equal_brute_force_among_them(twin, seed, share):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 5, model.n_features)
    allowed = masks(seed, 1, model.n_labels, share)
    labels, _ = expected(twin, model, X, 6, allowed)
    found = Searcher(model.pack()).topk(X, SearchRequest(6, candidates=np.flatnonzero(allowed[0]).tolist()))
    np.testing.assert_array_equal(found.labels, labels)


@given(seeds, st.sampled_from([0.1, 0.5, 1.0]))
@settings(max_examples=30, deadline=None)
def test_excluded_labels_are_passed_over(twin, seed, share):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 5, model.n_features)
    excluded, allowed = masks(seed, 5, model.n_labels, share), masks(seed + 1, 5, model.n_labels, 0.5)
    searcher = Searcher(model.pack())
    labels, _ = expected(twin, model, X, 6, ~excluded)
    found = searcher.topk(X, SearchRequest(6, exclude=[np.flatnonzero(row) for row in excluded]))
    np.testing.assert_array_equal(found.labels, labels)
    labels, _ = expected(twin, model, X, 6, ~excluded & allowed)
    both = searcher.topk(X, SearchRequest(6, exclude=sparse.csr_array(excluded), candidates=sparse.csr_array(allowed)))
    np.testing.assert_array_equal(both.labels, labels)
    for beam in (2, 1000):  # a search with a beam excludes the same labels
        found = searcher.topk(X, SearchRequest(6, beam=beam, exclude=sparse.csr_array(excluded)))
        assert not any(excluded[row, label] for row, list_ in enumerate(found.labels) for label in list_ if label >= 0)
    np.testing.assert_array_equal(found.labels, expected(twin, model, X, 6, ~excluded)[0])


def test_only_ancestors_of_candidates_are_opened(twin):
    model = twin.random_model(3, n_labels=300, most_children=4)
    X = twin.random_queries(4, 10, model.n_features)
    label = int(~model.children[model.children < 0][-1])
    found = Searcher(model.pack()).topk(X, SearchRequest(5, candidates=[label]), stats=True)
    assert (found.labels == [label, -1, -1, -1, -1]).all()
    assert set(found.stats.chunks) == {model.depth(~label)}


def test_filters_of_one_query_do_not_reach_the_next(twin):
    model = twin.random_model(5)
    X = twin.random_queries(6, 2, model.n_features)[[0, 0]]
    searcher = Searcher(model.pack())
    free = searcher.topk(X[[0]], 3).labels[0]
    found = searcher.topk(X, SearchRequest(3, exclude=[[int(free[0])], []])).labels
    assert free[0] not in found[0]
    np.testing.assert_array_equal(found[1], free)
    np.testing.assert_array_equal(searcher.topk(X[[0]], 3).labels[0], free)


@pytest.mark.parametrize(
    "lists",
    [
        [[0], [30]],
        [[-1], [0]],
        [0, 30],
        [[0]],
        "ab",
        [[0.5], [1]],
        sparse.csr_array((2, 31)),
        sparse.csr_array((3, 30)),
        np.array([["a"]]),
        5,
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["candidates", "exclude"])
def test_labels_that_are_not_there_are_refused(twin, name, lists):
    model = twin.random_model(5)
    X = twin.random_queries(6, 2, model.n_features)
    with pytest.raises(InputError, match=name):
        Searcher(model.pack()).topk(X, SearchRequest(3, **{name: lists}))


def test_a_budget_of_chunks_is_kept_and_reported(twin):
    model = twin.random_model(7, n_labels=200, most_children=3)
    X = twin.random_queries(8, 30, model.n_features)
    searcher = Searcher(model.pack())
    exact = searcher.topk(X, 5, stats=True)
    previous = -1
    for budget in (1, 3, 10, 1000):
        found = searcher.topk(X, SearchRequest(5, max_chunks=budget), stats=True)
        assert found.stats.chunks.max() <= budget
        np.testing.assert_array_equal(found.stats.partial, exact.stats.chunks > budget)
        recall = np.mean([len(np.intersect1d(a[a >= 0], b)) for a, b in zip(found.labels, exact.labels, strict=True)])
        assert recall >= previous
        previous = recall
    np.testing.assert_array_equal(searcher.topk(X, SearchRequest(5, max_chunks=1000)).labels, exact.labels)


def test_a_time_budget_is_reported(twin):
    model = twin.random_model(9, n_labels=3000, most_children=2, stop=0.0)
    X = twin.random_queries(10, 5, model.n_features)
    found = Searcher(model.pack()).topk(X, SearchRequest(3000, max_microseconds=1), stats=True)
    assert found.stats.partial.all()
    unhurried = Searcher(model.pack()).topk(X, SearchRequest(5, max_microseconds=10**9), stats=True)
    assert not unhurried.stats.partial.any()
