"""With discounts a search opens nodes by priority, stops by priority, and returns undiscounted scores."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.search import NodeValues, Searcher, SearchRequest
from labeltrees.search.searcher import PRIORITY_SCALE

seeds = st.integers(0, 2**32 - 1)


def python_search(model, edge, discounts, k):
    """The nodes that one query's search opens and the labels it finds, in Python: `edge` (n_edges,)."""
    found, opened, waiting = [], [], [(-0.0, 0, 0, 0.0)]
    while waiting:
        priority, depth, node, score = heapq.heappop(waiting)
        if len(found) == k and -priority < found[-1][0]:
            break
        opened.append(node)
        for at in range(model.child_ptr[node], model.child_ptr[node + 1]):
            child, own = int(model.children[at]), score + edge[at]
            if child < 0:
                found = sorted([*found, (own, ~child)], key=lambda entry: (-entry[0], entry[1]))[:k]
            else:
                priority = own - discounts[child] * (PRIORITY_SCALE - own)
                heapq.heappush(waiting, (-priority, depth + 1, child, own))
    return opened, found


@given(seeds, st.integers(1, 8), st.sampled_from([0.05, 0.5, 3.0]))
@settings(max_examples=60, deadline=None)
def test_nodes_are_opened_in_the_order_of_priority(twin, seed, k, scale):
    check_order(twin, seed, k, scale)


@pytest.mark.parametrize("seed", range(5))
def test_every_vector_path_uses_priorities(twin, kernels, seed):
    check_order(twin, seed, 3, 0.5, n_labels=300, most_children=40)


def check_order(twin, seed, k, scale, **shape):
    model = twin.random_model(seed, values=None, **shape)
    rng = np.random.default_rng(seed)
    discounts = np.where(rng.random(model.n_nodes) < 0.3, 0, scale * rng.random(model.n_nodes)).astype(np.float32)
    X = twin.random_queries(seed, 5, model.n_features, values=None)
    searcher = Searcher(model.pack(), loss="logistic")  # no margin is good enough for a score of 0: nothing ties
    request = SearchRequest(k, discounts=NodeValues(discounts))
    trace, result = searcher.trace(X, request), searcher.topk(X, request, stats=True)
    edge = model.edge_scores(X, power=0)
    for query in range(5):
        opened, found = python_search(model, edge[query], discounts, k)
        assert trace.nodes[trace.ends[query] : trace.ends[query + 1]].tolist() == opened
        assert result.stats.chunks[query] == len(opened)
        assert result.labels[query, : len(found)].tolist() == [label for _, label in found]


@given(seeds, st.integers(1, 8), st.sampled_from([0.0, 0.1, 1.0, 1e6, 3e38]))
@settings(max_examples=60, deadline=None)
def test_scores_are_the_true_ones_whatever_the_discounts(twin, seed, k, scale):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 6, model.n_features)
    discounts = (scale * np.random.default_rng(seed).random(model.n_nodes)).astype(np.float32)
    searcher = Searcher(model.pack())
    every = searcher.topk(X, model.n_labels)
    score_of = np.zeros((6, model.n_labels + 1), np.float32)
    np.put_along_axis(score_of, every.labels, every.scores, axis=1)
    result = searcher.topk(X, SearchRequest(k, discounts=NodeValues(discounts)))
    found = result.labels >= 0
    assert (found.sum(axis=1) == np.minimum((every.labels >= 0).sum(axis=1), k)).all()  # as many as without discounts
    expected = np.take_along_axis(score_of, result.labels, axis=1)
    assert (result.scores[found] == expected[found]).all()


@given(seeds, st.integers(1, 8), st.sampled_from([None, 2]))
@settings(max_examples=40, deadline=None)
def test_discounts_of_zero_are_the_exact_search(twin, seed, k, beam):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 6, model.n_features)
    searcher = Searcher(model.pack())
    exact = searcher.topk(X, SearchRequest(k, beam=beam), stats=True)
    same = searcher.topk(X, SearchRequest(k, beam=beam, discounts=NodeValues(np.zeros(model.n_nodes))), stats=True)
    assert exact.labels.tolist() == same.labels.tolist()
    assert exact.scores.tobytes() == same.scores.tobytes()
    assert exact.stats.chunks.tolist() == same.stats.chunks.tolist()
    assert exact.stats.classifiers.tolist() == same.stats.classifiers.tolist()


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_with_huge_discounts_the_first_label_found_ends_the_search(twin, seed):
    model = twin.random_model(seed, stop=0.6)
    X = twin.random_queries(seed, 5, model.n_features)
    trace = Searcher(model.pack()).trace(X, SearchRequest(1, discounts=NodeValues(np.full(model.n_nodes, 1e30))))
    for query in range(5):
        *before, last = trace.nodes[trace.ends[query] : trace.ends[query + 1]]
        own = [model.children[model.child_ptr[node] : model.child_ptr[node + 1]] for node in (*before, last)]
        assert all((children >= 0).all() for children in own[:-1])
        assert (own[-1] < 0).any()


def test_predictor_and_batch_agree(twin):
    model = twin.random_model(7)
    X = twin.random_queries(7, 30, model.n_features)
    searcher = Searcher(model.pack())
    discounts = np.random.default_rng(0).random(model.n_nodes).astype(np.float32)
    expected = searcher.topk(X, SearchRequest(5, discounts=NodeValues(discounts)))
    predictor = searcher.predictor(SearchRequest(3, discounts=NodeValues(discounts), n_searched=5))
    del discounts  # the predictor keeps what it needs
    for row in range(30):
        labels, scores = predictor(X[[row]])
        assert labels.tolist() == expected.labels[row, :3].tolist()
        assert scores.tolist() == expected.scores[row, :3].tolist()
        assert predictor(X[[row]], k=5)[0].tolist() == expected.labels[row].tolist()
    with pytest.raises(lt.errors.InputError, match="k must be at most 5"):
        predictor(X[[0]], k=6)


def test_each_tree_of_an_ensemble_has_its_own_discounts(twin):
    models = [twin.random_model(seed, n_labels=20) for seed in (0, 1)]
    X = twin.random_queries(0, 20, models[0].n_features)
    rng = np.random.default_rng(0)
    discounts = [rng.random(model.n_nodes) for model in models]
    searcher = Searcher([model.pack() for model in models])
    for tree, model in enumerate(models):
        alone = Searcher(model.pack()).trace(X, SearchRequest(3, discounts=NodeValues(discounts[tree])))
        together = searcher.trace(X, SearchRequest(3, discounts=NodeValues(np.concatenate(discounts))), tree=tree)
        assert together.nodes.tolist() == alone.nodes.tolist()
    exact = searcher.topk(X, 3, stats=True)
    second_only = NodeValues(np.concatenate([np.zeros(models[0].n_nodes), discounts[1]]))
    half = searcher.topk(X, SearchRequest(3, discounts=second_only), stats=True)
    second = SearchRequest(3, discounts=NodeValues(discounts[1]))
    saved = Searcher(models[1].pack()).topk(X, second, stats=True).stats.chunks
    assert half.stats.chunks.sum() < exact.stats.chunks.sum()
    assert saved.sum() < Searcher(models[1].pack()).topk(X, 3, stats=True).stats.chunks.sum()


@pytest.mark.parametrize(
    ("discounts", "mode", "message"),
    [
        (np.zeros(3), "best_first", "discounts must be"),
        (-1.0, "best_first", "discounts must be"),
        (np.nan, "best_first", "discounts must be"),
        (np.inf, "best_first", "discounts must be"),
        (0.0, "paths", "discounts must be None with search"),
    ],
)
def test_invalid_discounts_are_refused(twin, discounts, mode, message):
    model = twin.random_model(0)
    X = twin.random_queries(0, 2, model.n_features)
    if np.ndim(discounts) == 0:
        discounts = np.full(model.n_nodes, discounts)
    with pytest.raises(lt.errors.InputError, match=message):
        Searcher(model.pack()).topk(X, SearchRequest(discounts=NodeValues(discounts), search=mode))
