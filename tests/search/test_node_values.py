"""With losses a search goes by hope: in its order, to its end, and with true scores."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.search import Searcher
from labeltrees.search.searcher import HOPE_SCALE

seeds = st.integers(0, 2**32 - 1)


def plain_hopeful_search(model, edge, losses, k):
    """The nodes that one query's search opens and the labels it finds, in plain Python: `edge` (n_edges,)."""
    found, opened, waiting = [], [], [(-0.0, 0, 0, 0.0)]
    while waiting:
        hope, depth, node, score = heapq.heappop(waiting)
        if len(found) == k and -hope < found[-1][0]:
            break
        opened.append(node)
        for at in range(model.child_ptr[node], model.child_ptr[node + 1]):
            child, own = int(model.children[at]), score + edge[at]
            if child < 0:
                found = sorted([*found, (own, ~child)], key=lambda entry: (-entry[0], entry[1]))[:k]
            else:
                hoped = own - losses[child] * (HOPE_SCALE - own)
                heapq.heappush(waiting, (-hoped, depth + 1, child, own))
    return opened, found


@given(seeds, st.integers(1, 8), st.sampled_from([0.05, 0.5, 3.0]))
@settings(max_examples=60, deadline=None)
def test_nodes_are_opened_in_the_order_of_hope(twin, seed, k, scale):
    check_order(twin, seed, k, scale)


@pytest.mark.parametrize("seed", range(5))
def test_every_vector_path_goes_by_hope(twin, kernels, seed):
    check_order(twin, seed, 3, 0.5, n_labels=300, most_children=40)


def check_order(twin, seed, k, scale, **shape):
    model = twin.random_model(seed, values=None, **shape)
    rng = np.random.default_rng(seed)
    losses = np.where(rng.random(model.n_nodes) < 0.3, 0, scale * rng.random(model.n_nodes)).astype(np.float32)
    X = twin.random_queries(seed, 5, model.n_features, values=None)
    searcher = Searcher(model.pack(), loss="logistic")  # no margin is good enough for a score of 0: nothing ties
    trace, result = searcher.trace(X, k, losses=losses), searcher.topk(X, k, losses=losses, stats=True)
    edge = model.edge_scores(X, power=0)
    for query in range(5):
        opened, found = plain_hopeful_search(model, edge[query], losses, k)
        assert trace.nodes[trace.ends[query] : trace.ends[query + 1]].tolist() == opened
        assert result.stats.chunks[query] == len(opened)
        assert result.labels[query, : len(found)].tolist() == [label for _, label in found]


@given(seeds, st.integers(1, 8), st.sampled_from([0.0, 0.1, 1.0, 1e6, 3e38]))
@settings(max_examples=60, deadline=None)
def test_scores_are_the_true_ones_whatever_the_losses(twin, seed, k, scale):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 6, model.n_features)
    losses = (scale * np.random.default_rng(seed).random(model.n_nodes)).astype(np.float32)
    searcher = Searcher(model.pack())
    every = searcher.topk(X, model.n_labels)
    score_of = np.zeros((6, model.n_labels + 1), np.float32)
    np.put_along_axis(score_of, every.labels, every.scores, axis=1)
    result = searcher.topk(X, k, losses=losses)
    found = result.labels >= 0
    assert (found.sum(axis=1) == np.minimum((every.labels >= 0).sum(axis=1), k)).all()  # as many as without losses
    expected = np.take_along_axis(score_of, result.labels, axis=1)
    assert (result.scores[found] == expected[found]).all()


@given(seeds, st.integers(1, 8), st.sampled_from([None, 2]))
@settings(max_examples=40, deadline=None)
def test_losses_of_zero_are_the_exact_search(twin, seed, k, beam):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 6, model.n_features)
    searcher = Searcher(model.pack())
    exact = searcher.topk(X, k, beam=beam, stats=True)
    same = searcher.topk(X, k, beam=beam, losses=np.zeros(model.n_nodes), stats=True)
    assert exact.labels.tolist() == same.labels.tolist()
    assert exact.scores.tobytes() == same.scores.tobytes()
    assert exact.stats.chunks.tolist() == same.stats.chunks.tolist()
    assert exact.stats.classifiers.tolist() == same.stats.classifiers.tolist()


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_with_huge_losses_the_first_label_found_ends_the_search(twin, seed):
    model = twin.random_model(seed, stop=0.6)
    X = twin.random_queries(seed, 5, model.n_features)
    trace = Searcher(model.pack()).trace(X, 1, losses=np.full(model.n_nodes, 1e30))
    for query in range(5):
        *before, last = trace.nodes[trace.ends[query] : trace.ends[query + 1]]
        own = [model.children[model.child_ptr[node] : model.child_ptr[node + 1]] for node in (*before, last)]
        assert all((children >= 0).all() for children in own[:-1])
        assert (own[-1] < 0).any()


def test_predictor_and_batch_agree(twin):
    model = twin.random_model(7)
    X = twin.random_queries(7, 30, model.n_features)
    searcher = Searcher(model.pack())
    losses = np.random.default_rng(0).random(model.n_nodes).astype(np.float32)
    expected = searcher.topk(X, 5, losses=losses)
    predictor = searcher.predictor(3, losses=losses, most=5)
    del losses  # the predictor keeps what it needs
    for row in range(30):
        labels, scores = predictor(X[[row]])
        assert labels.tolist() == expected.labels[row, :3].tolist()
        assert scores.tolist() == expected.scores[row, :3].tolist()
        assert predictor(X[[row]], k=5)[0].tolist() == expected.labels[row].tolist()
    with pytest.raises(lt.InputError, match="k must be at most 5"):
        predictor(X[[0]], k=6)


def test_each_tree_of_an_ensemble_has_its_own_losses(twin):
    models = [twin.random_model(seed, n_labels=20) for seed in (0, 1)]
    X = twin.random_queries(0, 20, models[0].n_features)
    rng = np.random.default_rng(0)
    losses = [rng.random(model.n_nodes) for model in models]
    searcher = Searcher([model.pack() for model in models])
    for tree, model in enumerate(models):
        alone = Searcher(model.pack()).trace(X, 3, losses=losses[tree])
        together = searcher.trace(X, 3, losses=np.concatenate(losses), tree=tree)
        assert together.nodes.tolist() == alone.nodes.tolist()
    exact = searcher.topk(X, 3, stats=True)
    half = searcher.topk(X, 3, losses=np.concatenate([np.zeros(models[0].n_nodes), losses[1]]), stats=True)
    saved = Searcher(models[1].pack()).topk(X, 3, losses=losses[1], stats=True).stats.chunks
    assert half.stats.chunks.sum() < exact.stats.chunks.sum()
    assert saved.sum() < Searcher(models[1].pack()).topk(X, 3, stats=True).stats.chunks.sum()


@pytest.mark.parametrize(
    ("losses", "mode", "message"),
    [
        (np.zeros(3), "best_first", "losses must be"),
        (-1.0, "best_first", "losses must be"),
        (np.nan, "best_first", "losses must be"),
        (np.inf, "best_first", "losses must be"),
        (0.0, "beam", "losses must be None with mode"),
    ],
)
def test_unsound_losses_are_refused(twin, losses, mode, message):
    model = twin.random_model(0)
    X = twin.random_queries(0, 2, model.n_features)
    if np.ndim(losses) == 0:
        losses = np.full(model.n_nodes, losses)
    with pytest.raises(lt.InputError, match=message):
        Searcher(model.pack()).topk(X, losses=losses, mode=mode)
