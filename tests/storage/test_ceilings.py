"""Ceilings spare a search chunks and change nothing that it returns."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labeltrees.errors import FileFormatError
from labeltrees.search import Searcher, SearchRequest
from labeltrees.storage import ChunkStore, LinearWeights, logistic_ceilings, pack_chunks

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_labels": st.integers(1, 60),
        "most_children": st.integers(2, 20),
        "n_features": st.sampled_from([1, 5, 33, 300]),
        "fill": st.sampled_from([0.0, 0.05, 0.5]),
    }
)


def with_ceilings(model):
    store = model.pack()
    return replace(store, ceilings=logistic_ceilings(model, model.weights))


def searcher(store):
    return Searcher(store, loss="logistic", normalize=True)


def unit_rows(X):
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ X)


def positive_queries(twin, seed, n, n_features):
    X = twin.random_queries(seed, n, n_features, values=None)
    X.data = np.abs(X.data)
    return X


@given(shapes)
@settings(max_examples=60, deadline=None)
def test_no_label_scores_above_the_ceiling_of_a_node_over_it(twin, shape):
    model = twin.random_model(**shape, values=None)
    X = unit_rows(positive_queries(twin, shape["seed"], 8, model.n_features).astype(np.float64))
    edge = model.edge_scores(X, 0)
    best = np.zeros((X.shape[0], model.n_nodes))
    for node in range(model.n_nodes - 1, -1, -1):
        edges = np.arange(model.child_ptr[node], model.child_ptr[node + 1])
        below = [best[:, child] if child >= 0 else np.zeros(X.shape[0]) for child in model.children[edges]]
        best[:, node] = np.max(edge[:, edges] + np.stack(below, axis=1), axis=1)
    assert np.all(best <= logistic_ceilings(model, model.weights) + 1e-9)


def test_the_ceiling_is_reached_by_the_query_along_the_positive_weights():
    tree = type("Tree", (), {"child_ptr": np.array([0, 2, 3]), "children": np.array([1, ~0, ~1], np.int32)})()
    weights = LinearWeights(
        np.array([0, 2, 2, 4]),
        np.array([0, 1, 0, 1], np.int32),
        np.array([3, 4, 3, 4], np.float32),
        np.array([-4, -9, -6], np.float32),
    )
    expected = [np.log(1 / (1 + np.exp(-1.0)) / (1 + np.exp(1.0))), np.log(1 / (1 + np.exp(1.0)))]
    np.testing.assert_allclose(logistic_ceilings(tree, weights), expected, atol=2e-3)


@given(shapes, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_exact_search_equals_brute_force(twin, shape, k):
    model = twin.random_model(**shape, values=None)
    X = positive_queries(twin, shape["seed"], 6, model.n_features)
    scores = twin.path_scores(model, unit_rows(X.astype(np.float64)), 0)
    _, best = twin.best_of(scores, k)
    found = searcher(with_ceilings(model)).topk(X, k)
    np.testing.assert_allclose(found.scores, best, rtol=1e-5, atol=1e-30)


@given(shapes, st.integers(1, 8), st.sampled_from([None, 1, 3]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_lists_and_scores_are_those_of_a_search_without(twin, shape, k, beam, negative):
    model = twin.random_model(**shape, values=None)
    X = (twin.random_queries if negative else lambda *a, **_: positive_queries(twin, *a))(
        shape["seed"], 6, model.n_features, values=None
    )
    store = with_ceilings(model)
    plain, spared = (
        searcher(s).topk(X, SearchRequest(k, beam=beam), stats=True) for s in (replace(store, ceilings=None), store)
    )
    np.testing.assert_array_equal(spared.labels, plain.labels)
    np.testing.assert_array_equal(spared.scores, plain.scores)
    assert np.all(spared.stats.chunks <= plain.stats.chunks)


@pytest.fixture
def low_node():
    """A root with a label of score 0.88 and a node whose only label reaches 0.02 at most if no value is negative."""
    ptr, children = np.array([0, 2, 3]), np.array([~0, 1, ~1], np.int32)
    tree = type("Tree", (), {"child_ptr": ptr, "children": children, "n_labels": 2})()
    weights = LinearWeights(
        np.array([0, 0, 1, 2]),
        np.array([0, 0], np.int32),
        np.array([-1.5, -8], np.float32),
        np.array([2, 2.5, -4], np.float32),
    )
    store = pack_chunks(tree, weights, n_features=2, node_mass=[2, 1])
    return replace(store, ceilings=logistic_ceilings(tree, weights))


def test_a_node_below_which_nothing_can_reach_the_list_is_not_opened(low_node):
    X = np.array([[0.01, 1.0]])
    plain = searcher(replace(low_node, ceilings=None)).topk(X, 1, stats=True)
    spared = searcher(low_node).topk(X, 1, stats=True)
    assert plain.labels[0, 0] == spared.labels[0, 0] == 0
    assert (plain.stats.chunks[0], spared.stats.chunks[0]) == (2, 1)


@pytest.mark.parametrize(("features", "values"), [([0], [-1.0]), ([0, 1], [-1.0, 0.2])])
def test_a_query_that_ceilings_do_not_hold_for_is_searched_without(low_node, features, values):
    labels, scores = searcher(low_node).predictor(1)(np.array(features, np.int32), np.array(values, np.float32))
    assert labels.tolist() == [1]
    assert scores[0] > 0.9


def test_a_feature_given_twice_is_searched_without():
    """The sum of its values may make the query longer than 1."""
    ptr, children = np.array([0, 2, 3]), np.array([~0, 1, ~1], np.int32)
    tree = type("Tree", (), {"child_ptr": ptr, "children": children, "n_labels": 2})()
    weights = LinearWeights(
        np.array([0, 0, 0, 1]), np.zeros(1, np.int32), np.array([10], np.float32), np.array([1, 6, -9.5], np.float32)
    )
    store = replace(pack_chunks(tree, weights, 1, [2, 1]), ceilings=logistic_ceilings(tree, weights))
    twice = np.zeros(2, np.int32), np.ones(2, np.float32)
    assert searcher(store).predictor(1)(*twice)[0].tolist() == [1]


def test_ceilings_are_for_unit_length_and_the_logistic_loss_only(low_node):
    X = np.array([[0.01, 1.0]])
    for other in (Searcher(low_node, loss="logistic"), Searcher(low_node, normalize=True)):
        without = Searcher(replace(low_node, ceilings=None), loss=other.loss, normalize=other.normalize)
        assert other.topk(X, 1, stats=True).stats.chunks == without.topk(X, 1, stats=True).stats.chunks


@pytest.mark.parametrize("ceilings", [np.array([0.0], np.float32), np.array([0, 1], np.float32), np.array([0, np.nan])])
def test_ceilings_that_cannot_be_are_refused(low_node, ceilings):
    arrays = {**low_node.arrays(), "ceilings": ceilings.astype(np.float32)}
    with pytest.raises(FileFormatError, match="ceilings"):
        ChunkStore.from_arrays(arrays, n_labels=2, n_features=2)


def test_ceilings_are_saved_with_the_chunks(low_node):
    again = ChunkStore.from_arrays(low_node.arrays("t."), n_labels=2, n_features=2, prefix="t.")
    np.testing.assert_array_equal(again.ceilings, low_node.ceilings)
    assert again.in_memory().ceilings is again.ceilings
