"""Chunks give the scores of NumPy; ceilings change no list."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from labeltrees import _core
from labeltrees.errors import FileFormatError, InputError
from labeltrees.search import Searcher, SearchRequest
from labeltrees.storage import ChunkStore, LinearWeights, logistic_ceilings, pack_chunks, pack_dense_chunks

KINDS = ["masks", "masks_wide", "pairs", "matrix_half", "matrix_float"]

# children of the one node, features, share of weights present, features with all weights; levels of the index
SHAPES = {
    ("masks", 1): [(1, 1, 1.0, 0), (1, 40, 1.0, 0), (2, 40, 0.5, 0), (15, 100, 0.9, 3), (16, 1000, 0.1, 1)],
    ("masks", 2): [(16, 5000, 0.002, 1), (1, 2000, 0.005, 0), (2, 33, 0.0, 0)],
    ("masks", 3): [(7, 1_000_000, 0.0001, 2), (16, 40_000, 0.0001, 0), (16, 5000, 0.0, 0)],
    ("masks_wide", 1): [(16, 5000, 0.99, 0)],
    ("pairs", 1): [(17, 100, 0.2, 5), (64, 333, 0.1, 7), (100, 50, 0.5, 1), (256, 70, 0.3, 9)],
    ("pairs", 2): [(17, 3000, 0.002, 1), (30, 20_000, 0.001, 3)],
    ("pairs", 3): [(70, 300_000, 0.0000002, 5), (256, 2_000_000, 0.0000004, 3), (30, 5000, 0.0, 0)],
}


def header_of(store, node=0):
    header = store.chunks[store.offsets[node] :][:64]
    return KINDS[header[6]], int(header[28])


def one_node(twin, n_children, n_features, fill, n_full, seed=0):
    rng = np.random.default_rng(seed)
    model = twin.random_model(seed, n_labels=2, n_features=n_features)
    W = sparse.random_array((n_children, n_features), density=fill, rng=rng, format="csr", dtype=np.float32)
    if n_full:
        extra = sparse.coo_array(
            (
                np.ones(n_children * n_full, np.float32),
                (
                    np.tile(np.arange(n_children), n_full),
                    np.repeat(rng.choice(n_features, n_full, replace=False), n_children),
                ),
            ),
            shape=W.shape,
        )
        W = sparse.csr_array(W + extra)
    W.sort_indices()
    W.data = (rng.standard_normal(W.nnz) + 0.1).astype(np.float32)
    children = ~np.arange(n_children, dtype=np.int32)
    bias = rng.standard_normal(n_children).astype(np.float32)
    return type(model)(np.array([0, n_children]), children, n_children, W, bias)


@pytest.mark.parametrize(
    ("layout", "shape"), [(layout, shape) for layout, shapes in SHAPES.items() for shape in shapes], ids=str
)
def test_every_layout_gives_the_scores_of_numpy_on_every_path(twin, kernels, layout, shape):
    model = one_node(twin, *shape)
    store = model.pack()
    assert header_of(store) == layout
    present = np.unique(model.W.indices)
    X = twin.random_queries(1, 5, model.n_features, fill=min(0.5, 200 / model.n_features), values=None).tolil()
    for row in range(3):  # features that are there and some that are not
        X[row, np.random.default_rng(row).permutation(present)[:100]] = 0.5
    X = X.tocsr().astype(np.float32)
    searcher = Searcher(store, score_power=1.0)
    searcher.check()
    expected = twin.path_scores(model, X, 1.0)
    found = searcher.topk(X, model.n_labels)
    scores = np.zeros_like(expected)
    np.put_along_axis(scores, found.labels, found.scores, axis=1)
    np.testing.assert_allclose(scores, np.exp(expected), rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize(("precision", "rtol"), [("half", 2e-3), ("single", 1e-5)])
@pytest.mark.parametrize("n_features", [1, 15, 16, 17, 384])
@pytest.mark.parametrize("n_children", [1, 3, 4, 17, 300])
def test_matrix_chunks_give_the_scores_of_numpy_on_every_path(kernels, precision, rtol, n_features, n_children, twin):
    rng = np.random.default_rng(n_features)
    model = one_node(twin, n_children, n_features, 1.0, 0)
    W = (rng.standard_normal((n_children, n_features)) / np.sqrt(n_features)).astype(np.float32)
    store = pack_dense_chunks(model, W, model.bias, [1.0], precision=precision)
    assert header_of(store) == (f"matrix_{'half' if precision == 'half' else 'float'}", 0)
    X = rng.standard_normal((4, n_features)).astype(np.float32)
    expected = np.exp(-np.maximum(0, 1 - (X.astype(np.float64) @ W.T + model.bias)))
    found = Searcher(store, score_power=1.0).topk(X, n_children)
    scores = np.zeros_like(expected)
    np.put_along_axis(scores, found.labels, found.scores, axis=1)
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=1e-6)
    # The same store takes sparse queries too.
    from scipy import sparse

    np.testing.assert_array_equal(
        Searcher(store, score_power=1.0).topk(sparse.csr_array(X), n_children).scores, found.scores
    )


def test_sparse_chunks_take_dense_queries(twin):
    model = twin.random_model(1, n_features=40)
    X = twin.random_queries(2, 10, 40)
    searcher = Searcher(model.pack())
    np.testing.assert_array_equal(searcher.topk(X.toarray(), 5).scores, searcher.topk(X, 5).scores)


def test_a_node_of_many_children_becomes_several_parts(twin):
    model = one_node(twin, 1000, 200, 0.05, 2)
    store = model.pack()
    X = twin.random_queries(3, 5, 200, values=None)
    _, scores = twin.best_of(twin.path_scores(model, X), 50)
    found = Searcher(store).topk(X, 50, stats=True)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-3)
    assert set(found.stats.chunks) == {1}
    assert set(found.stats.classifiers) == {1000}


def test_packing_is_the_same_for_any_number_of_threads(twin):
    model = twin.random_model(5, n_labels=500, most_children=30, n_features=3000, fill=0.02)
    one, two = model.pack(n_jobs=1), model.pack(n_jobs=2)
    np.testing.assert_array_equal(one.chunks, two.chunks)
    np.testing.assert_array_equal(one.offsets, two.offsets)


def test_heavier_nodes_come_first(twin):
    model = twin.random_model(6, n_labels=100)
    mass = np.random.default_rng(0).permutation(model.n_nodes).astype(float)
    store = pack_chunks(model, model.weights, model.n_features, mass)
    np.testing.assert_array_equal(np.argsort(store.offsets), np.argsort(-mass))


def test_every_feature_is_found_and_no_other(twin):
    # One query for each feature, over an index of three levels with gaps of every size.
    n_features = 70_000
    features = np.unique(np.concatenate([[0, 31, 32, 1023, 1024, 32_767, 32_768, 69_999], np.arange(100) ** 2 * 7]))
    weights = LinearWeights(
        np.array([0, len(features)]),
        features.astype(np.int32),
        np.arange(1, len(features) + 1, dtype=np.float32) / 512,
        np.zeros(1, np.float32),
    )
    model = one_node(twin, 1, n_features, 0.0, 0)
    store = pack_chunks(model, weights, n_features, [1.0])
    X = sparse.csr_array(sparse.eye_array(n_features, format="csr", dtype=np.float32))
    margins = np.zeros(n_features)
    margins[features] = weights.values
    found = Searcher(store, score_power=1.0).topk(X, 1)
    np.testing.assert_allclose(found.scores[:, 0], np.exp(-np.maximum(0, 1 - margins)), rtol=1e-6)


def test_features_with_most_weights_rank_first():
    weights = LinearWeights(
        np.array([0, 2, 4]), np.array([1, 2, 0, 2], np.int32), np.ones(4, np.float32), np.zeros(2, np.float32)
    )
    tree = SimpleNamespace(child_ptr=np.array([0, 2]), children=np.array([~0, ~1], np.int32), n_labels=2)
    np.testing.assert_array_equal(pack_chunks(tree, weights, 4, [1.0]).feature_rank, [1, 2, 0, 3])


@given(hnp.arrays(np.float32, 50, elements=st.floats(-65000, 65000, width=32)))
def test_half_precision_rounds_as_numpy_does(values):
    np.testing.assert_array_equal(_core.half_round_trip(values), values.astype(np.float16).astype(np.float32))


def test_weights_beyond_half_precision_become_the_largest(twin):
    values = np.array([1e30, -1e30, 65519.9, 65520.0], np.float32)
    np.testing.assert_array_equal(_core.half_round_trip(values), np.array([65504, -65504, 65504, 65504], np.float32))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.array([np.nan, 1, 1], np.float32)}, "finite"),
        ({"features": np.array([0, 2, 1], np.int32)}, "features"),
        ({"features": np.array([-1, 0, 1], np.int32)}, "features"),
        ({"features": np.array([0, 0, 1], np.int32)}, "twice"),
        ({"indptr": np.array([0, 3])}, "indptr"),
        ({"indptr": np.array([0, 4, 3])}, "indptr"),
        ({"bias": np.zeros(3, np.float32)}, "bias"),
        ({"bias": np.array([0, np.inf], np.float32)}, "bias"),
    ],
)
def test_unsound_weights_are_refused(twin, change, message):
    parts = {
        "indptr": np.array([0, 2, 3]),
        "features": np.array([0, 1, 1], np.int32),
        "values": np.ones(3, np.float32),
        "bias": np.zeros(2, np.float32),
    }
    model = one_node(twin, 2, 2, 0.0, 0)
    with pytest.raises(InputError, match=message):
        pack_chunks(model, LinearWeights(**{**parts, **change}), 2, [1.0])


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


def test_a_feature_given_twice_is_searched_like_the_sum_of_its_values():
    ptr, children = np.array([0, 2, 3]), np.array([~0, 1, ~1], np.int32)
    tree = type("Tree", (), {"child_ptr": ptr, "children": children, "n_labels": 2})()
    weights = LinearWeights(
        np.array([0, 0, 0, 1]), np.zeros(1, np.int32), np.array([10], np.float32), np.array([1, 6, -9.5], np.float32)
    )
    store = replace(pack_chunks(tree, weights, 1, [2, 1]), ceilings=logistic_ceilings(tree, weights))
    answer = searcher(store).predictor(2)
    twice, once = answer(np.zeros(2, np.int32), np.ones(2, np.float32)), answer(np.zeros(1, np.int32), np.array([2.0]))
    assert twice[0].tolist() == once[0].tolist() == [0, 1]
    assert twice[1].tolist() == once[1].tolist()


def test_ceilings_are_for_unit_length_and_the_logistic_loss_only(low_node):
    X = np.array([[0.01, 1.0]])
    for other in (Searcher(low_node, loss="logistic"), Searcher(low_node, normalize=True)):
        without = Searcher(replace(low_node, ceilings=None), loss=other.loss, normalize=other.normalize)
        assert other.topk(X, 1, stats=True).stats.chunks == without.topk(X, 1, stats=True).stats.chunks


@pytest.mark.parametrize("ceilings", [np.array([0.0], np.float32), np.array([0, 1], np.float32), np.array([0, np.nan])])
def test_invalid_ceilings_are_refused(low_node, ceilings):
    arrays = {**low_node.arrays(), "ceilings": ceilings.astype(np.float32)}
    with pytest.raises(FileFormatError, match="ceilings"):
        ChunkStore.from_arrays(arrays, n_labels=2, n_features=2)


def test_ceilings_are_saved_with_the_chunks(low_node):
    again = ChunkStore.from_arrays(low_node.arrays("t."), n_labels=2, n_features=2, prefix="t.")
    np.testing.assert_array_equal(again.ceilings, low_node.ceilings)
    assert again.in_memory().ceilings is again.ceilings
