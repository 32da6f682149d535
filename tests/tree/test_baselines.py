import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.tree.measures import within_node_similarity

frequencies = st.lists(st.integers(1, 1000), min_size=1, max_size=60).map(lambda f: np.array(f) / np.sum(f))


def entropy(f):
    f = f[f > 0]
    return float(-(f * np.log2(f)).sum())


def least_expected_depth(f):
    """Huffman's cost by a heap of masses: every merge costs its mass."""
    heap = list(map(float, f))
    heapq.heapify(heap)
    cost = 0.0
    while len(heap) > 1:
        mass = heapq.heappop(heap) + heapq.heappop(heap)
        cost += mass
        heapq.heappush(heap, mass)
    return cost


@given(frequencies)
def test_huffman_has_the_least_expected_depth(f):
    tree = lt.huffman_tree(f)
    if len(f) == 1:
        assert tree.label_depth.tolist() == [1]
        return
    depth = tree.expected_depth(f)
    assert depth == pytest.approx(least_expected_depth(f))
    assert entropy(f) - 1e-9 <= depth < entropy(f) + 1
    assert tree.kraft_sum() == pytest.approx(1.0)


@given(frequencies)
def test_fano_is_within_one_of_huffman(f):
    if len(f) > 1:
        fano, huffman = lt.fano_tree(f).expected_depth(f), lt.huffman_tree(f).expected_depth(f)
        assert huffman - 1e-9 <= fano <= huffman + 1


def fano_by_sorting(labels, f):
    """Fano's tree as nested tuples."""
    if len(labels) == 1:
        return int(labels[0])
    half, above = f[labels].sum() / 2, 0.0
    for cut, label in enumerate(labels):
        if above + f[label] >= half - 1e-15:
            nearer_plus = 2 * (half - above) / f[label] - 1 > 1e-9
            cut = min(max(cut + nearer_plus, 1), len(labels) - 1)
            return fano_by_sorting(labels[:cut], f), fano_by_sorting(labels[cut:], f)
        above += f[label]
    raise AssertionError


def nested(tree, node=0):
    children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
    parts = tuple(int(~child) if child < 0 else nested(tree, child) for child in children)
    return parts if len(parts) > 1 else parts[0]


@given(frequencies)
def test_fano_equals_its_plain_twin(f):
    assert nested(lt.fano_tree(f)) == fano_by_sorting(np.lexsort((np.arange(len(f)), -f)), f)


@given(frequencies, st.integers(0, 100))
def test_semantic_huffman_keeps_every_depth_count(f, seed):
    V = np.random.default_rng(seed).random((len(f), 4))
    semantic, huffman = lt.semantic_huffman_tree(V, f), lt.huffman_tree(f)
    assert sorted(semantic.leaf_order()) == list(range(len(f)))
    assert (semantic.label_depth == huffman.label_depth).all()


def test_semantic_huffman_puts_similar_labels_side_by_side():
    rng = np.random.default_rng(0)
    V = np.eye(8)[rng.integers(0, 8, 200)]
    f = rng.pareto(1.0, 200) + 0.01
    semantic, huffman = lt.semantic_huffman_tree(V, f), lt.huffman_tree(f)
    assert within_node_similarity(semantic, V, 8) > 1.15 * within_node_similarity(huffman, V, 8)


def test_kmeans_finds_clusters_of_any_size():
    rng = np.random.default_rng(0)
    topic = np.repeat([0, 1, 2], [200, 30, 70])
    V = np.eye(3)[topic] + 0.01 * rng.random((300, 3))
    tree = lt.kmeans_tree(V, 3, leaf_size=250, random_state=4)
    assert sorted(tree.n_labels_below[1:].tolist()) == [30, 70, 200]


@pytest.mark.parametrize(("k", "leaf_size"), [(2, 1), (5, 10), (100, 3)])
@pytest.mark.parametrize("rows", ["random", "equal", "zero"])
def test_kmeans_places_every_label_of_any_rows(k, leaf_size, rows):
    V = {"random": np.random.default_rng(0).random((50, 6)), "equal": np.ones((50, 6)), "zero": np.zeros((50, 6))}[rows]
    tree = lt.kmeans_tree(V, k, leaf_size=leaf_size)
    assert sorted(tree.leaf_order()) == list(range(50))
    assert np.diff(tree.child_ptr).max() <= max(k, leaf_size)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(("fanout", "leaf_size"), [(2, 1), (16, 1), (4, 10)])
def test_random_trees_are_balanced_and_differ_by_seed(n_labels, fanout, leaf_size):
    tree = lt.random_tree(n_labels, fanout=fanout, leaf_size=leaf_size, random_state=1)
    assert sorted(tree.leaf_order()) == list(range(n_labels))
    if fanout == 2 and leaf_size == 1 and n_labels > 1:
        assert tree.height == int(np.ceil(np.log2(n_labels)))
    if n_labels > 3:
        assert tree != lt.random_tree(n_labels, fanout=fanout, leaf_size=leaf_size, random_state=2)


def test_the_flat_tree_has_one_node():
    tree = lt.flat_tree(5)
    assert tree.n_nodes == 1
    assert tree.label_depth.tolist() == [1] * 5


def test_labels_of_frequency_zero_are_unplaced():
    f = [0.5, 0.0, 0.5]
    for tree in (lt.huffman_tree(f), lt.fano_tree(f), lt.semantic_huffman_tree(np.eye(3), f)):
        assert tree.unplaced_labels.tolist() == [1]
    assert lt.kmeans_tree(np.eye(3), 2, frequencies=f).unplaced_labels.tolist() == [1]


@pytest.mark.parametrize("make", [lt.huffman_tree, lt.fano_tree])
@pytest.mark.parametrize("f", [[], [0.0, 0.0], [1, -1], [np.nan, 1], [[1, 2]], ["a"]])
def test_bad_frequencies_are_refused(make, f):
    with pytest.raises(lt.errors.InputError, match="frequencies"):
        make(f)


@pytest.mark.parametrize("make", [lt.flat_tree, lt.random_tree])
@pytest.mark.parametrize("n_labels", [0, -1, 2.5, "3", 2**31])
def test_bad_numbers_of_labels_are_refused(make, n_labels):
    with pytest.raises(lt.errors.InputError, match="n_labels"):
        make(n_labels)
