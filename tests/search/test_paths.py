"""The search over paths: at most `beam` paths survive at each depth, those that have ended included."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.search import Searcher, SearchRequest

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_labels": st.integers(1, 60),
        "most_children": st.integers(2, 40),
        "fill": st.sampled_from([0.05, 0.5, 1.0]),
    }
)


def children_of(model, node):
    edges = range(model.child_ptr[node], model.child_ptr[node + 1])
    return [(edge, int(model.children[edge])) for edge in edges]


def has_ended(model, place):
    """A path ends at a label (~label), or at a leaf: a node whose children are all labels."""
    return place < 0 or all(child < 0 for _, child in children_of(model, place))


def leads_to(model, place, allowed):
    """Whether a path can reach an allowed label from here."""
    return (
        ~place in allowed
        if place < 0
        else any(leads_to(model, child, allowed) for _, child in children_of(model, place))
    )


def rank(path):
    score, place = path
    return -score, place < 0, ~place if place < 0 else place


def best_paths(model, row, beam, allowed=None):
    """The paths that survive, from the definition: (score, node or ~label)."""
    paths = [(0.0, 0)]
    while not all(has_ended(model, place) for _, place in paths):
        longer = []
        for score, place in paths:
            if has_ended(model, place):
                longer.append((score, place))
            else:
                longer += [(score + row[edge], child) for edge, child in children_of(model, place)]
        if allowed is not None:
            longer = [path for path in longer if leads_to(model, path[1], allowed)]
        paths = sorted(longer, key=rank)[:beam]
    return paths


def labels_of(model, row, paths, k, allowed=None):
    found = []
    for score, place in paths:
        if place < 0:
            found.append((-score, ~place))
        else:
            found += [(-(score + row[edge]), ~child) for edge, child in children_of(model, place)]
    best = [label for _, label in sorted(found) if allowed is None or label in allowed][:k]
    return best + [-1] * (k - len(best))


@given(shapes, st.integers(1, 8), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_the_lists_equal_brute_force(twin, shape, k, beam):
    model = twin.random_model(**shape)
    X = twin.random_queries(shape["seed"], 6, model.n_features)
    rows = model.edge_scores(X)
    expected = [labels_of(model, row, best_paths(model, row, beam), k) for row in rows]
    found = Searcher(model.pack()).topk(X, SearchRequest(k, search="paths", beam=beam))
    np.testing.assert_array_equal(found.labels, expected)


@given(shapes, st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_excluded_labels_take_no_place(twin, shape, beam):
    model = twin.random_model(**shape)
    X = twin.random_queries(shape["seed"], 4, model.n_features)
    allowed = set(range(1, shape["n_labels"], 2))
    excluded = np.arange(0, shape["n_labels"], 2)
    rows = model.edge_scores(X)
    expected = [labels_of(model, row, best_paths(model, row, beam, allowed), 3, allowed) for row in rows]
    found = Searcher(model.pack()).topk(X, SearchRequest(3, search="paths", beam=beam, exclude=excluded))
    np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("beam", [1, 3, 10])
def test_no_more_leaves_are_opened_than_there_are_paths(twin, beam):
    model = twin.random_model(5, n_labels=300, most_children=5, n_features=60, values=None)
    X = twin.random_queries(6, 20, 60, values=None)
    rows = model.edge_scores(X)
    found = Searcher(model.pack()).topk(X, SearchRequest(5, search="paths", beam=beam), stats=True)
    depth = max(model.depth(int(child)) for child in model.children)
    for i, row in enumerate(rows):
        leaves = [place for _, place in best_paths(model, row, beam) if place >= 0]
        assert len(leaves) <= beam
        assert found.stats.chunks[i] <= 1 + beam * depth


def test_without_a_limit_the_search_is_exact(twin):
    model = twin.random_model(7, n_labels=80)
    X = twin.random_queries(8, 10, model.n_features)
    searcher = Searcher(model.pack())
    exact = searcher.topk(X, 5)
    for beam in (None, 1000):
        found = searcher.topk(X, SearchRequest(5, search="paths", beam=beam))
        np.testing.assert_array_equal(found.labels, exact.labels)


def test_a_budget_returns_what_was_reached(twin):
    model = twin.random_model(9, n_labels=80, most_children=6)
    X = twin.random_queries(10, 10, model.n_features)
    found = Searcher(model.pack()).topk(X, SearchRequest(5, search="paths", beam=4, max_chunks=2), stats=True)
    assert found.stats.partial.any()
    assert (found.stats.chunks[found.stats.partial] == 2).all()


def test_threads_and_company_change_nothing(twin):
    model = twin.random_model(9, n_labels=300, most_children=20, n_features=200, values=None)
    X = twin.random_queries(10, 150, 200, values=None)
    searcher = Searcher(model.pack())
    request = SearchRequest(5, search="paths", beam=4)
    one, two = (searcher.topk(X, request, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(searcher.topk(X[[77]], request).scores[0], one.scores[77])


def test_parabel_searches_paths_alone_in_ensembles_and_after_loading(tmp_path):
    train, test = lt.datasets.load_debian()
    train, queries = train[:600], sp.csr_array(test.X[:30])
    model = lt.LabelTreeClassifier.parabel(leaf_size=10, n_trees=2, n_jobs=2).fit(train.X, train.Y)
    labels, scores = model.predict_topk(queries, 5)
    model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    assert again.get_params()["search"] == "paths"
    np.testing.assert_array_equal(again.predict_topk(queries, 5)[0], labels)
    predict = model.predictor(5)
    row = queries[[0]]
    one_labels, one_scores = predict(row.indices.astype(np.int32), row.data.astype(np.float32))
    np.testing.assert_array_equal(one_labels, labels[0])
    np.testing.assert_allclose(one_scores, scores[0], rtol=1e-6)
