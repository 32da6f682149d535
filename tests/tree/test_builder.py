"""Trees at any tradeoff, in one place or in pieces."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.labels.frequency import label_weights
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.builder import LabelSet, build_set, grow_tree_from, join, leaf_of, split_set, widen
from labeltrees.tree.measures import within_node_similarity
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.splits import EmbeddingRows, embedding_rows, split_rules

GRID = [0.0, 0.5, 1.0, 1.5, 2.0]


def dataset(seed, n_points=120, n_labels=30, n_features=40):
    """Points of a few topics with power-law labels; some labels may have no point."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, n_labels + 1)
    Y = rng.random((n_points, n_labels)) < popularity
    Y[Y.sum(1) == 0, rng.integers(n_labels)] = True
    topics = rng.random((n_labels, n_features)) ** 8
    X = sp.csr_array((Y @ topics * (rng.random((n_points, n_features)) < 0.5)).astype(np.float32))
    return X, sp.csr_array(Y.astype(np.float32))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.floats(0, 2),
    st.integers(2, 70),
    st.integers(1, 70),
    st.sampled_from(["weighted", "direct"]),
)
def test_every_tree_places_each_label_that_occurs_once(seed, n_labels, tradeoff, fanout, leaf_size, path):
    X, Y = dataset(seed, n_labels=n_labels)
    tree = lt.build_tree(X, Y, tradeoff=tradeoff, fanout=fanout, leaf_size=leaf_size, path=path, random_state=seed)
    occurs = np.asarray(Y.sum(axis=0)).ravel() > 0
    assert sorted(tree.leaf_order().tolist()) == np.flatnonzero(occurs).tolist()
    assert tree.unplaced_labels.tolist() == np.flatnonzero(~occurs).tolist()
    assert np.diff(tree.child_ptr).max() <= max(fanout, leaf_size)
    order = np.lexsort((-tree.mass(), tree.node_depth))  # breadth-first, by falling mass within a level
    assert (np.diff(tree.node_depth) >= 0).all()
    np.testing.assert_allclose(tree.mass()[order], tree.mass())


@pytest.mark.parametrize("n_labels", [2, 3, 5, 17, 64, 100])
def test_tradeoff_zero_is_balanced(n_labels):
    V = np.random.default_rng(0).random((n_labels, 8))
    tree = lt.build_tree_from(V, np.ones(n_labels), tradeoff=0, fanout=2)
    below = tree.n_labels_below
    for node in range(tree.n_nodes):
        sizes = [1 if child < 0 else below[child] for child in children_of(tree, node)]
        assert abs(sizes[0] - sizes[1]) <= 1
    assert tree.height == int(np.ceil(np.log2(n_labels)))


def children_of(tree, node):
    return tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.sampled_from([0.0, 0.1]))
def test_tradeoff_two_is_fanos_tree(seed, n_labels, smoothing):
    rng = np.random.default_rng(seed)
    f = rng.pareto(1.0, n_labels) + 1e-3
    f /= f.sum()
    cover = f * (rng.random(n_labels) < 0.7) + 1e-9 * rng.random(n_labels)  # no two labels have the same weight
    cover /= cover.sum()
    tree = lt.build_tree_from(rng.random((n_labels, 5)), f, cover, tradeoff=2, fanout=2, smoothing=smoothing)
    assert tree == lt.fano_tree(label_weights(f, cover, 2.0, smoothing=smoothing))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 60))
def test_at_tradeoff_two_similarity_only_decides_between_labels_of_equal_frequency(seed, n_labels):
    rng = np.random.default_rng(seed)
    f = rng.integers(1, 4, n_labels) / 1.0
    assignment, _ = lt.split_labels(rng.random((n_labels, 3)), f, 2.0)
    first, second = f[assignment > 0], f[assignment < 0]
    assert first.min() >= second.max()
    assert abs(first.sum() - second.sum()) <= f.max() + 1e-9


def test_at_tradeoff_two_equal_labels_are_split_by_similarity():
    V = np.eye(2)[[0, 1, 0, 1, 0, 1, 0, 1]]
    assignment, _ = lt.split_labels(V, np.ones(8), 2.0)
    assert set(assignment[::2]) in ({1.0}, {-1.0})
    assert set(assignment[1::2]) == {-assignment[0]}


def node_weights(f, cover, tradeoff, smoothing):
    """The paper's f(tradeoff) with the sums and the number of labels of one node; no cover: that term is 0."""
    f = f / f.sum()
    cover = cover / cover.sum() if cover.any() else cover
    return (2 - tradeoff) * f ** min(tradeoff, 1) + max(tradeoff - 1, 0) * cover + smoothing / len(f)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 80), st.sampled_from([0.0, 0.1]))
def test_with_weights_of_the_node_tradeoff_two_cuts_each_node_like_fano_with_its_own_weights(seed, n_labels, smoothing):
    rng = np.random.default_rng(seed)
    f = rng.pareto(1.0, n_labels) + 1e-3
    cover = f * (rng.random(n_labels) < 0.7) + 1e-9 * rng.random(n_labels)
    tree = lt.build_tree_from(
        rng.random((n_labels, 5)), f, cover, tradeoff=2, fanout=2, smoothing=smoothing, weights_of="node"
    )
    sets = [np.arange(n_labels)]
    while sets:
        labels = sets.pop()
        weights = node_weights(f[labels], cover[labels], 2.0, smoothing)
        first = lt.fano_tree(weights)
        below = [labels[sorted(labels_below(first, child))] for child in children_of(first, 0)]
        node = lowest_common_node(tree, labels)
        found = [np.array(sorted(labels_below(tree, child))) for child in children_of(tree, node)]
        assert {tuple(side) for side in found} == {tuple(side) for side in below}
        sets += [side for side in below if len(side) > 1]


def labels_below(tree, child):
    return [~child] if child < 0 else [x for below in children_of(tree, child) for x in labels_below(tree, below)]


def lowest_common_node(tree, labels):
    return max(set.intersection(*(set(tree.path(int(label))) for label in labels)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.9), st.sampled_from([0.0, 0.1]))
def test_with_weights_of_the_node_each_split_is_that_of_its_own_weights(seed, tradeoff, smoothing):
    rng = np.random.default_rng(seed)
    n_labels = 40
    V = rng.random((n_labels, 6)).astype(np.float32)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    f = rng.pareto(1.0, n_labels) + 1e-3
    cover = f * (rng.random(n_labels) < 0.5) + 1e-9
    tree = lt.build_tree_from(
        V, f, cover, tradeoff=tradeoff, fanout=2, smoothing=smoothing, weights_of="node", leaf_size=5
    )
    for node in range(tree.n_nodes):
        labels = np.array(sorted(labels_below(tree, node)))
        if len(labels) <= 5:
            continue
        weights = node_weights(f[labels], cover[labels], tradeoff, smoothing)
        first = np.isin(labels, labels_below(tree, children_of(tree, node)[0]))
        # Both sides have half of the weight, up to the label that crosses the middle.
        assert abs(weights[first].sum() - weights[~first].sum()) <= weights.max() + 1e-9


def test_at_tradeoff_zero_weights_of_root_and_node_are_the_same():
    X, Y = dataset(7)
    assert lt.build_tree(X, Y, tradeoff=0, weights_of="node") == lt.build_tree(X, Y, tradeoff=0)
    assert lt.build_tree(X, Y, tradeoff=1.5, weights_of="node") != lt.build_tree(X, Y, tradeoff=1.5)


@pytest.mark.parametrize("tradeoff", GRID)
@pytest.mark.parametrize("dense", [False, True])
def test_the_tree_is_the_same_for_any_number_of_threads_and_from_run_to_run(tradeoff, dense):
    # Enough values that the top of the tree is split by the whole team (more than 2**18).
    rng = np.random.default_rng(0)
    n_labels, n_features = 30_000, 400
    if dense:
        V = rng.standard_normal((n_labels // 10, n_features)).astype(np.float32)
    else:
        V = sp.random_array((n_labels, n_features), density=0.05, rng=rng, dtype=np.float32, format="csr")
    f = rng.pareto(1.0, V.shape[0]) + 0.01
    one, two, again = (
        lt.build_tree_from(V, f, tradeoff=tradeoff, leaf_size=10, n_jobs=n_jobs, random_state=3) for n_jobs in (1, 2, 1)
    )
    assert one == two == again


def test_seeds_make_different_trees():
    X, Y = dataset(0)
    assert lt.build_tree(X, Y, random_state=0) != lt.build_tree(X, Y, random_state=1)


@pytest.mark.parametrize("tradeoff", GRID)
def test_dense_and_sparse_embeddings_make_the_same_tree(tradeoff):
    X, Y = dataset(1)
    V = lt.pifa(X, Y)
    f = lt.label_frequencies(Y)
    assert lt.build_tree_from(V, f, tradeoff=tradeoff) == lt.build_tree_from(V.toarray(), f, tradeoff=tradeoff)


def test_scaled_rows_have_unit_length():
    rng = np.random.default_rng(1)
    dense = rng.random((7, 11)) * (rng.random((7, 11)) < 0.6)
    dense[[2, 5]] = 0
    for embeddings in (sp.csr_array(dense), dense):
        rows = embedding_rows(embeddings).unit()
        parts = [rows.values[start:end] for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
        np.testing.assert_allclose([np.linalg.norm(part) for part in parts], [1, 1, 0, 1, 1, 0, 1], rtol=1e-6)


def test_embeddings_are_scaled_to_unit_length():
    rng = np.random.default_rng(0)
    V = rng.random((50, 10))
    f = rng.random(50)
    assert lt.build_tree_from(V, f) == lt.build_tree_from(V * 2.0 ** rng.integers(0, 9, (50, 1)), f)


def test_given_embeddings_replace_pifa():
    X, Y = dataset(2)
    assert lt.build_tree(X, Y, embeddings=lt.pifa(X, Y)) == lt.build_tree(X, Y)
    assert lt.build_tree(X, Y, embeddings=np.eye(Y.shape[1])) != lt.build_tree(X, Y)


@pytest.mark.parametrize("tradeoff", GRID)
@pytest.mark.parametrize(
    ("V", "f"),
    [
        (np.eye(1), [1.0]),
        (np.eye(2), [0.9, 0.1]),
        (np.ones((7, 3)), np.ones(7)),
        (np.zeros((7, 3)), np.ones(7)),
        (np.eye(5), [0.999999, 1e-7, 1e-7, 1e-7, 1e-7]),
        (np.eye(5), [1, 0, 0, 2, 0]),
        (sp.csr_array((9, 4)), np.arange(1, 10)),
    ],
    ids=["one", "two", "equal", "zero", "nearly-all-mass", "unplaced", "empty-sparse"],
)
@pytest.mark.parametrize(("fanout", "leaf_size"), [(2, 1), (16, 1), (2, 100), (100, 3)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_degenerate_labels_make_valid_trees(V, f, tradeoff, fanout, leaf_size, smoothing):
    tree = lt.build_tree_from(V, f, tradeoff=tradeoff, fanout=fanout, leaf_size=leaf_size, smoothing=smoothing)
    assert sorted(tree.leaf_order().tolist()) == np.flatnonzero(np.asarray(f) > 0).tolist()


def test_a_frequent_label_is_near_the_root():
    X, Y = dataset(3, n_points=500)
    depth = [lt.build_tree(X, Y, tradeoff=t, fanout=2).label_depth[0] for t in (0, 1, 2)]
    assert depth[0] > depth[1] >= depth[2]


def test_point_weights_move_labels():
    X, Y = dataset(4)
    weights = np.where(Y[:, [20]].toarray().ravel() > 0, 1000.0, 1.0)
    plain, weighted = lt.build_tree(X, Y, fanout=2), lt.build_tree(X, Y, fanout=2, sample_weight=weights)
    assert weighted.label_depth[20] < plain.label_depth[20]


def test_progress_is_reported_and_ends_at_the_total():
    X, Y = dataset(5)
    calls = []
    lt.build_tree(X, Y, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (1000, 1000)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_an_error_in_progress_stops_the_work():
    V = sp.random_array((60_000, 500), density=0.05, rng=np.random.default_rng(0), dtype=np.float32, format="csr")

    def stop(done, total):
        raise KeyboardInterrupt

    n_before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        lt.build_tree_from(V, np.ones(V.shape[0]), progress=stop)
    assert threading.active_count() <= n_before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tradeoff": -0.1}, "tradeoff must be a number in"),
        ({"tradeoff": "fast"}, "tradeoff must be a number in"),
        ({"fanout": 1}, "fanout must be an integer of at least 2"),
        ({"leaf_size": 0}, "leaf_size must be an integer of at least 1"),
        ({"smoothing": -1}, "smoothing must be"),
        ({"cover": "best"}, "cover must be one of"),
        ({"path": "scenic"}, "path must be one of 'weighted', 'direct'"),
        ({"weights_of": "leaf"}, "weights_of must be one of 'root', 'node'"),
        ({"random_state": -1}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"embeddings": np.eye(3)}, "frequencies must be a vector of 3 numbers"),
        ({"progress": "yes"}, "progress must be"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, Y = dataset(6)
    with pytest.raises(lt.errors.InputError, match=message):
        lt.build_tree(X, Y, **arguments)


def test_no_label_at_all_is_refused():
    with pytest.raises(lt.errors.InputError, match="frequencies"):
        lt.build_tree_from(np.eye(3), np.zeros(3))


# A tree that is built in pieces is the tree that is built at once.


N_COLUMNS = 40_000  # more than one block of columns


def random_rows(n_labels, length=30):
    rng = np.random.default_rng(3)
    topics = rng.integers(0, N_COLUMNS, (8, 2 * length))
    columns = topics[rng.integers(0, 8, n_labels)][:, :length].copy()
    columns[:, : length // 3] = rng.integers(0, N_COLUMNS, (n_labels, length // 3))
    points = np.repeat(np.arange(n_labels), length)
    values = rng.random(len(points)) ** 4  # most of the length is in a few values
    matrix = sp.csr_matrix((values, (points, columns.ravel())), shape=(n_labels, N_COLUMNS))
    return matrix, embedding_rows(matrix).unit()


def rows_of(rows, labels):
    matrix = sp.csr_matrix((rows.values, rows.columns, rows.indptr), shape=(rows.n_labels, rows.n_columns))[labels]
    return EmbeddingRows(matrix.indptr.astype(np.int64), matrix.indices, matrix.data, rows.n_columns)


def grow(labels, rows, rules, leaf_size, at_once):
    """Build the trees of sets of up to `at_once` labels in one piece."""
    if len(labels.labels) <= leaf_size:
        return leaf_of(labels.labels)
    mine = rows_of(rows, labels.labels)
    if len(labels.labels) <= at_once:
        return build_set(labels, mine, rules, 1)
    return join(*(grow(side, rows, rules, leaf_size, at_once) for side in split_set(labels, mine, rules, 1)))


@pytest.mark.parametrize("weights_of", ["root", "node"])
@pytest.mark.parametrize("path", ["weighted", "direct"])
@pytest.mark.parametrize(("tradeoff", "leaf_size", "fanout"), [(0, 1, 16), (1.5, 1, 2), (1.9, 7, 4), (2, 3, "auto")])
def test_pieces_give_the_same_tree(weights_of, path, tradeoff, leaf_size, fanout):
    n_labels = 150
    _, rows = random_rows(n_labels)
    rng = np.random.default_rng(1)
    frequencies = rng.pareto(1, n_labels) + 0.01
    frequencies[[4, 90]] = 0  # not placed
    covers = np.where(rng.random(n_labels) < 0.5, frequencies, 0)
    settings = TreeSettings(tradeoff=tradeoff, path=path, weights_of=weights_of, leaf_size=leaf_size, fanout=fanout)
    expected = grow_tree_from(rows, frequencies, covers, settings, random_state=7, n_jobs=2)
    rules = split_rules(frequencies, covers, settings)
    for at_once in (2, 20, 100):
        binary = grow(LabelSet(rules.labels, 7, is_root=True), rows, rules, leaf_size, at_once)
        found = widen(TreeArrays(*binary, n_labels, label_weights=rules.weights), settings)
        assert found.child_ptr.tolist() == expected.child_ptr.tolist()
        assert found.children.tolist() == expected.children.tolist()


@pytest.mark.parametrize(("n_labels", "length"), [(120, 400), (5_000, 30)])
def test_long_rows_and_large_sets_in_pieces_give_the_same_tree(n_labels, length):
    _, rows = random_rows(n_labels, length)
    frequencies = np.random.default_rng(1).pareto(1, n_labels) + 0.01
    settings = TreeSettings(tradeoff=1, leaf_size=20, fanout=2)
    one, two = (grow_tree_from(rows, frequencies, frequencies, settings, n_jobs=n) for n in (1, 2))
    assert one.children.tolist() == two.children.tolist()
    rules = split_rules(frequencies, frequencies, settings)
    binary = grow(LabelSet(rules.labels, 0, is_root=True), rows, rules, 20, n_labels // 4)
    found = widen(TreeArrays(*binary, n_labels, label_weights=rules.weights), settings)
    assert found.children.tolist() == one.children.tolist()


@pytest.mark.parametrize("length", [30, 400])
def test_columns_that_no_label_uses_change_nothing(length):
    matrix, _ = random_rows(100, length)
    used = np.unique(matrix.indices)
    wide, narrow = (
        lt.build_tree_from(embeddings, np.ones(100), tradeoff=0.5, fanout=2) for embeddings in (matrix, matrix[:, used])
    )
    assert wide.children.tolist() == narrow.children.tolist()


def test_the_tolerance_reaches_the_splits():
    rng = np.random.default_rng(0)
    embeddings, frequencies = rng.random((300, 20)).astype(np.float32), rng.random(300)
    default = lt.build_tree_from(embeddings, frequencies, fanout=2)
    assert lt.build_tree_from(embeddings, frequencies, fanout=2, tolerance=1e-4) == default
    rough = lt.build_tree_from(embeddings, frequencies, fanout=2, tolerance=10.0)
    assert rough != default
    # The objective that is never followed to its end is lower: similar labels are less often together.
    assert within_node_similarity(rough, embeddings) < within_node_similarity(default, embeddings)
