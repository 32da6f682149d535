"""The trace of a search is what the search did."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees.search import Searcher, SearchRequest


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([None, 1, 3]))
@settings(max_examples=40, deadline=None)
def test_every_opened_node_is_reported_with_its_score(twin, seed, k, beam):
    model = twin.random_model(seed)
    X = twin.random_queries(seed, 5, model.n_features)
    searcher = Searcher(model.pack())
    trace = searcher.trace(X, SearchRequest(k, beam=beam))
    np.testing.assert_array_equal(
        np.diff(trace.ends), searcher.topk(X, SearchRequest(k, beam=beam), stats=True).stats.chunks
    )
    edge = model.edge_scores(X)
    for query in range(5):
        nodes = trace.nodes[trace.ends[query] : trace.ends[query + 1]]
        scores = trace.scores[trace.ends[query] : trace.ends[query + 1]]
        assert nodes[0] == 0
        assert len(set(nodes.tolist())) == len(nodes)
        for node, score in zip(nodes.tolist(), scores, strict=True):
            expected = 0.0
            while node > 0:
                at, node = model.parent_edge[node]
                expected += edge[query, at]
            np.testing.assert_allclose(score, expected, rtol=1e-5, atol=1e-6)
        assert (np.diff(scores) <= 0).all()  # best first, and scores never rise on the way down


def test_dense_rows_and_the_trees_of_an_ensemble_have_traces(twin):
    models = [twin.random_model(seed, n_labels=20) for seed in (0, 1)]
    searcher = Searcher([model.pack() for model in models])
    X = twin.random_queries(0, 4, models[0].n_features)
    for tree, model in enumerate(models):
        alone = Searcher(model.pack()).trace(X, 3)
        for rows in (X, X.toarray()):
            np.testing.assert_array_equal(searcher.trace(rows, 3, tree=tree).nodes, alone.nodes)
