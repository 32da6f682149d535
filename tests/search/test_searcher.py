"""Searches find exactly what looking at every label, or at every path, would find."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.search import Searcher, SearchRequest

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_labels": st.integers(1, 60),
        "most_children": st.integers(2, 40),
        "n_features": st.sampled_from([1, 5, 31, 32, 33, 600]),
        "fill": st.sampled_from([0.0, 0.05, 0.5, 1.0]),
        "full_features": st.sampled_from([0, 1]),
    }
)

EXACT = -4000  # sums of multiples of 2**-12 above this are exact in float32; below, ties are decided by rounding


@given(shapes, st.integers(1, 70), st.sampled_from([2.0, 3.0]))
@settings(max_examples=60, deadline=None)
def test_best_first_equals_brute_force_ties_included(twin, shape, k, power):
    model = twin.random_model(**shape)
    X = twin.random_queries(shape["seed"], 6, model.n_features)
    sums = twin.path_scores(model, X, power)
    labels, scores = twin.best_of(sums, k)
    found = Searcher(model.pack(), score_power=power).topk(X, k)
    exact = (labels < 0) | (np.take_along_axis(sums, np.maximum(labels, 0), axis=1) > EXACT)
    np.testing.assert_array_equal(found.labels[exact], labels[exact])
    np.testing.assert_allclose(found.scores, scores, rtol=1e-6, atol=1e-30)


def plain_beam(model, X, k, beam, log_weights=None):
    """The level-wise beam of the papers, in NumPy."""
    edge = model.edge_scores(X)
    best_below = weights_below(model, np.zeros(model.n_labels) if log_weights is None else log_weights)
    labels = []
    for row in edge:
        level, found = [(0.0, 0)], []
        while level:
            nexts = []
            for score, node in level:
                for e in range(model.child_ptr[node], model.child_ptr[node + 1]):
                    child = int(model.children[e])
                    bound = -(score + row[e] + best_below[child])
                    if child < 0:
                        found.append((bound, ~child))
                    else:
                        nexts.append((bound, child, score + row[e]))
            level = [(score, node) for _, node, score in sorted(nexts)[:beam]]
        best = [label for _, label in sorted(found)[:k]]
        labels.append(best + [-1] * (k - len(best)))
    return np.array(labels)


def weights_below(model, log_weights):
    """The log weight of each label (by ~label), and the largest one below each node (by node)."""
    best = {~label: weight for label, weight in enumerate(log_weights)}
    for node in reversed(range(model.n_nodes)):
        best[node] = max(
            best[int(child)] for child in model.children[model.child_ptr[node] : model.child_ptr[node + 1]]
        )
    return best


@given(shapes, st.integers(1, 8), st.integers(1, 6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_best_first_with_a_beam_equals_the_level_wise_beam(twin, shape, k, beam, weighted):
    model = twin.random_model(**shape)
    X = twin.random_queries(shape["seed"], 6, model.n_features)
    weights = 2.0 ** np.random.default_rng(shape["seed"]).integers(-3, 4, model.n_labels) if weighted else None
    assume(twin.path_scores(model, X).min() > EXACT)
    found = Searcher(model.pack()).topk(X, SearchRequest(k, beam=beam, label_weight=weights))
    expected = plain_beam(model, X, k, beam, None if weights is None else np.log(weights.astype(np.float32)))
    np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("beam", [1, 2, 3, 100])
def test_the_beam_keeps_the_best_nodes_of_each_level_and_labels_take_no_place(twin, beam):
    for seed in range(10):
        model = twin.random_model(seed, n_labels=50, most_children=4)
        X = twin.random_queries(seed, 10, model.n_features)
        found = Searcher(model.pack()).topk(X, SearchRequest(7, beam=beam))
        np.testing.assert_array_equal(found.labels, plain_beam(model, X, 7, beam))


@pytest.mark.parametrize(("loss", "power"), [("squared_hinge", 1.0), ("squared_hinge", 2.5), ("logistic", 0.0)])
def test_scores_of_other_losses_equal_brute_force(twin, loss, power):
    model = twin.random_model(3, n_labels=200, most_children=7, n_features=100, values=None)
    X = twin.random_queries(4, 50, 100, values=None)
    _, scores = twin.best_of(twin.path_scores(model, X, power), 10)
    found = Searcher(model.pack(), loss=loss, score_power=power or 1.0).topk(X, 10)
    np.testing.assert_allclose(found.scores, scores, rtol=2e-4, atol=1e-7)


def test_normalised_queries_are_divided_by_their_norm(twin):
    model = twin.random_model(5, n_features=50)
    X = twin.random_queries(6, 20, 50, values=None)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    scaled = X.multiply(1 / np.where(norms > 0, norms, 1)[:, None]).tocsr()
    store = model.pack()
    np.testing.assert_allclose(
        Searcher(store, normalize=True).topk(X, 5).scores, Searcher(store).topk(scaled, 5).scores, rtol=1e-5
    )


def test_an_empty_query_is_answered_by_the_biases(twin):
    model = twin.random_model(7)
    X = twin.random_queries(8, 3, model.n_features, fill=0.0)
    labels, _ = twin.best_of(twin.path_scores(model, X), 5)
    np.testing.assert_array_equal(Searcher(model.pack()).topk(X, 5).labels, labels)


def test_no_queries_give_an_empty_result(twin):
    model = twin.random_model(7)
    found = Searcher(model.pack()).topk(twin.random_queries(8, 3, model.n_features)[:0], 5, stats=True)
    assert found.labels.shape == found.scores.shape == (0, 5)
    assert len(found.stats.chunks) == 0


def test_threads_and_other_queries_do_not_change_a_list(twin):
    model = twin.random_model(9, n_labels=300, most_children=20, n_features=200, values=None)
    X = twin.random_queries(10, 150, 200, values=None)
    searcher = Searcher(model.pack())
    for options in ({}, {"search": "paths", "beam": 3}, {"beam": 2}):
        one, two = (searcher.topk(X, SearchRequest(5, **options), n_jobs=n_jobs) for n_jobs in (1, 2))
        np.testing.assert_array_equal(one.labels, two.labels)
        np.testing.assert_array_equal(one.scores, two.scores)
        single = searcher.topk(X[[77]], SearchRequest(5, **options))
        np.testing.assert_array_equal(single.scores[0], one.scores[77])


@pytest.mark.parametrize("n_trees", [1, 2])
def test_searches_in_turn_find_what_each_finds_alone(twin, n_trees):
    models = [twin.random_model(seed, n_labels=300, most_children=70, n_features=900, values=None) for seed in (9, 10)]
    searcher = Searcher([model.pack() for model in models[:n_trees]])
    X = twin.random_queries(11, 50, 900, values=None)
    lists = [np.random.default_rng(row).permutation(300)[: 20 * (row % 4)] for row in range(50)]
    for options in (
        {},
        {"beam": 2},
        {"exclude": lists},
        {"candidates": lists},
        {"exclude": lists[3]},
        {"max_chunks": 4},
    ):
        in_turn = searcher.topk(X, SearchRequest(5, **options))
        one_by_one = searcher.topk(X, SearchRequest(5, **options), stats=True)
        np.testing.assert_array_equal(in_turn.labels, one_by_one.labels)
        np.testing.assert_array_equal(in_turn.scores, one_by_one.scores)


def test_stats_count_what_was_done(twin):
    model = twin.random_model(11, n_labels=100, most_children=4)
    X = twin.random_queries(12, 20, model.n_features)
    found = Searcher(model.pack()).topk(X, 100, stats=True)
    # All labels are wanted, so everything must have been opened.
    assert set(found.stats.chunks) == {model.n_nodes}
    assert set(found.stats.classifiers) == {len(model.children)}
    assert set(found.stats.depth) == {max(model.depth(int(c)) for c in model.children)}
    assert not found.stats.partial.any()
    assert (found.stats.microseconds > 0).all()
    fewer = Searcher(model.pack()).topk(X, 1, stats=True)
    assert fewer.stats.chunks.mean() < model.n_nodes


def test_an_exact_search_opens_no_node_below_the_last_label_returned(twin):
    model = twin.random_model(13, n_labels=200, most_children=6, n_features=60, values=None)
    X = twin.random_queries(14, 30, 60, values=None)
    found = Searcher(model.pack()).topk(X, 3, stats=True)
    edge = model.edge_scores(X)
    for i in range(X.shape[0]):
        node_score = np.zeros(model.n_nodes)
        for node in range(model.n_nodes):
            for e in range(model.child_ptr[node], model.child_ptr[node + 1]):
                if model.children[e] >= 0:
                    node_score[model.children[e]] = node_score[node] + edge[i, e]
        last = np.log(found.scores[i, -1].astype(np.float64))
        assert found.stats.chunks[i] == (node_score >= last - 1e-4).sum()


path_shapes = st.fixed_dictionaries(
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


@given(path_shapes, st.integers(1, 8), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_paths_equal_brute_force(twin, shape, k, beam):
    model = twin.random_model(**shape)
    X = twin.random_queries(shape["seed"], 6, model.n_features)
    rows = model.edge_scores(X)
    expected = [labels_of(model, row, best_paths(model, row, beam), k) for row in rows]
    found = Searcher(model.pack()).topk(X, SearchRequest(k, search="paths", beam=beam))
    np.testing.assert_array_equal(found.labels, expected)


@given(path_shapes, st.integers(1, 6))
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


def test_paths_without_a_limit_are_exact(twin):
    model = twin.random_model(7, n_labels=80)
    X = twin.random_queries(8, 10, model.n_features)
    searcher = Searcher(model.pack())
    exact = searcher.topk(X, 5)
    for beam in (None, 1000):
        found = searcher.topk(X, SearchRequest(5, search="paths", beam=beam))
        np.testing.assert_array_equal(found.labels, exact.labels)


def test_a_budget_of_paths_returns_what_was_reached(twin):
    model = twin.random_model(9, n_labels=80, most_children=6)
    X = twin.random_queries(10, 10, model.n_features)
    found = Searcher(model.pack()).topk(X, SearchRequest(5, search="paths", beam=4, max_chunks=2), stats=True)
    assert found.stats.partial.any()
    assert (found.stats.chunks[found.stats.partial] == 2).all()


def test_threads_and_other_queries_change_no_paths(twin):
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
