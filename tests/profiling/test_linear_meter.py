"""What a search is said to have done is what it did: against the model's weights, node by node, in NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees.profiling.linear_meter import LinearMeter
from labeltrees.profiling.meter import Workload
from labeltrees.search import Searcher, SearchRequest
from labeltrees.storage.unpack import _HEADER, unpack_node


def count(searcher, X, k, **how):
    return LinearMeter(searcher).count(Workload(X, SearchRequest(k, **how)))


def visited(visits, query):
    own = slice(visits.ends[query], visits.ends[query + 1])
    return visits.nodes[own], visits.scores[own]


def headers(store, node):
    """The headers of a node's parts."""
    offset = int(store.offsets[node])
    while True:
        header = store.chunks[offset : offset + 64].view(_HEADER)[0]
        yield header
        if not header["more"]:
            return
        offset += 64 * int(header["lines"])


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([None, 1, 3]), st.sampled_from([4, 40]))
@settings(max_examples=40, deadline=None)
def test_counts_are_those_of_the_nodes_traced(twin, seed, k, beam, most_children):
    model = twin.random_model(seed, n_labels=60, most_children=most_children)
    store = model.pack()
    searcher = Searcher(store)
    X = twin.random_queries(seed, 4, model.n_features)
    counted = count(searcher, X, k, beam=beam)
    trace = searcher.trace(X, SearchRequest(k, beam=beam))
    np.testing.assert_array_equal(counted.visits.ends, trace.ends)
    np.testing.assert_array_equal(counted.visits.nodes, trace.nodes)
    np.testing.assert_allclose(counted.visits.scores, np.exp(trace.scores.astype(float)))
    weights = {node: unpack_node(store, node).weights for node in range(model.n_nodes)}
    for query in range(4):
        features = X[[query]].indices
        nodes = visited(counted.visits, query)[0].tolist()
        rows = [np.diff(weights[node].tocsc().indptr)[features] for node in nodes]
        n_levels = sum(int(h["n_levels"]) for node in nodes for h in headers(store, node) if h["n_rows"] > 0)
        each = {name: own[query] for name, own in counted.each.items()}
        assert each["queries"] == each["roots"] == 1
        assert each["nonzeros"] == len(features)
        assert each["visits"] == each["below_root"] + 1 == len(nodes)
        assert each["children"] == sum(weights[node].shape[0] for node in nodes)
        assert each["lookups"] == len(features) * n_levels
        assert each["hits"] == sum(np.count_nonzero(row) for row in rows)
        assert each["path_visits"] == 0
        if most_children == 4:  # one mask per row: each row is one vector
            assert each["vectors"] == each["hits"]
            assert each["weights"] == 0
        total = sum(row.sum() for row in rows)
        assert each["weights"] <= total <= each["weights"] + 16 * each["vectors"]


@pytest.mark.parametrize(("k", "beam"), [(1, None), (4, None), (4, 2)])
def test_heap_steps_are_those_of_a_plain_best_first_search(twin, k, beam):
    model = twin.random_model(3, n_labels=80, values=None)
    X = twin.random_queries(3, 20, model.n_features, values=None)
    counted = count(Searcher(model.pack()), X, k, beam=beam)
    edge = model.edge_scores(X)
    for query in range(20):
        nodes, scores = visited(counted.visits, query)
        found, steps = [], len(nodes) - 1  # all but the root were taken from the open nodes
        for node, score in zip(nodes.tolist(), np.log(scores), strict=True):
            own = range(model.child_ptr[node], model.child_ptr[node + 1])
            for at in own:
                worth = score + edge[query, at]
                if model.children[at] < 0 and (len(found) < k or worth >= found[-1]):
                    found = sorted([*found, worth], reverse=True)[:k]
                    steps += 1
            below = [score + edge[query, at] for at in own if model.children[at] >= 0]
            steps += bool(below) and (len(found) < k or max(below) >= found[-1])
        assert counted.each["heap_steps"][query] == steps


def test_an_ensemble_counts_the_paths_in_other_trees_too(twin):
    models = [twin.random_model(seed, n_labels=40) for seed in (0, 1, 2)]
    searcher = Searcher([model.pack() for model in models])
    X = twin.random_queries(0, 12, models[0].n_features)
    counted = count(searcher, X, 3)
    stats = searcher.topk(X, 3, stats=True).stats
    np.testing.assert_array_equal(counted.each["visits"], stats.chunks)
    np.testing.assert_array_equal(counted.each["children"], stats.classifiers)
    visits = counted.visits
    assert visits.on_path.any()
    np.testing.assert_array_equal(
        counted.each["path_visits"], np.bincount(visits.queries[visits.on_path], minlength=12)
    )
    for tree, model in enumerate(models):
        alone = count(Searcher(model.pack()), X, 3).visits
        np.testing.assert_array_equal(visits.nodes[(visits.trees == tree) & ~visits.on_path], alone.nodes)
    edge = [model.edge_scores(X) for model in models]
    for query, tree, node, depth, score in zip(
        visits.queries, visits.trees, visits.nodes, visits.depths, visits.scores, strict=True
    ):
        expected, steps, at = 0.0, 0, int(node)
        while at > 0:
            place, at = models[tree].parent_edge[at]
            expected, steps = expected + edge[tree][query, place], steps + 1
        assert depth == steps
        np.testing.assert_allclose(score, np.exp(expected), rtol=1e-4, atol=1e-7)


def test_dense_rows_are_counted_like_sparse_ones(twin):
    model = twin.random_model(5)
    X = twin.random_queries(5, 6, model.n_features)
    searcher = Searcher(model.pack())
    sparse, dense = count(searcher, X, 3), count(searcher, X.toarray(), 3)
    for name, own in sparse.each.items():
        np.testing.assert_array_equal(own, dense.each[name])


@pytest.mark.parametrize("stage", ["search", "prepare", "score"])
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_every_query_has_a_time(twin, stage, form):
    models = [twin.random_model(seed, n_labels=40) for seed in (0, 1)]
    meter = LinearMeter(Searcher([model.pack() for model in models]))
    X = twin.random_queries(0, 7, models[0].n_features)
    workload = Workload(X if form == "sparse" else X.toarray(), SearchRequest(3, beam=2), stage)
    times = meter.time(workload, meter.count(workload).visits)
    assert times.shape == (7,)
    assert (times >= 0).all()


def test_variants_queries_have_as_many_rows_and_fewer_or_other_features(twin):
    model = twin.random_model(0)
    X = twin.random_queries(0, 30, model.n_features)
    meter = LinearMeter(Searcher(model.pack()))
    variants = meter.variants(Workload(X, SearchRequest(3)), np.random.default_rng(0))
    assert [other.stage for other in variants[:2]] == ["prepare", "score"]
    assert variants[2].request.beam == 1
    thinned, exchanged = variants[3].queries, variants[5].queries
    assert thinned.shape == exchanged.shape == X.shape
    assert 0 < thinned.nnz < X.nnz
    assert (abs(thinned - X) > 0).nnz == X.nnz - thinned.nnz
    assert (abs(exchanged - X) > 0).nnz > 0


@pytest.mark.parametrize("form", ["sparse", "dense"])
@pytest.mark.parametrize("stage", ["search", "score"])
def test_many_queries_are_timed_some_at_a_time(twin, monkeypatch, form, stage):
    model = twin.random_model(0)
    X = twin.random_queries(0, 7, model.n_features)
    meter = LinearMeter(Searcher(model.pack()))
    workload = Workload(X if form == "sparse" else X.toarray(), SearchRequest(3), stage)
    visits = meter.count(workload).visits
    seen = []

    class Recorder:
        """Records the queries, and the nodes, of every native call."""

        def time_each(self, rows, request, first, microseconds):
            seen.extend(range(first, first + len(microseconds)))
            microseconds[:] = 1.0

        def time_scoring(self, rows, first, ends, nodes, trees, microseconds):
            own = [nodes[a:b].tolist() for a, b in itertools.pairwise(ends)]
            seen.extend(zip(range(first, first + len(microseconds)), own, strict=True))
            microseconds[:] = 1.0

    monkeypatch.setattr("labeltrees.profiling.linear_meter.BLOCK_SIZE", 3)
    monkeypatch.setattr(meter, "_engine", Recorder())
    assert meter.time(workload, visits).tolist() == [1.0] * 7
    nodes = [visited(visits, query)[0].tolist() for query in range(7)]
    assert seen == (list(range(7)) if stage == "search" else list(enumerate(nodes)))
