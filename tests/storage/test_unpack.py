"""Classifiers come back from their chunks as they went in, in half precision."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from labeltrees import random_tree
from labeltrees.errors import FileFormatError, InputError
from labeltrees.storage import LinearWeights, pack_chunks, pack_dense_chunks
from labeltrees.storage.unpack import unpack_node

# kind and levels of the root's chunk: children, features, and the share of (child, feature) pairs with a weight
KINDS = {
    (0, 1): (16, 200, 0.3),
    (1, 1): (16, 6000, 0.9),
    (2, 1): (100, 300, 0.05),
    (0, 2): (10, 50_000, 0.002),
    (2, 2): (60, 70_000, 0.0005),
    (0, 3): (4, 200_000, 0.0001),
}


def sparse_model(n_children, n_features, fill, seed=0, full=0):
    """A tree of `n_children` a node and random classifiers; `full` features have a weight in each."""
    rng = np.random.default_rng(seed)
    tree = random_tree(3 * n_children + 1, fanout=n_children, random_state=seed)
    W = sp.random_array((len(tree.children), n_features), density=fill, rng=rng, dtype=np.float32, format="csr")
    W.data[:] = rng.choice([-3.5, -1.0, 0.125, 1.0, 2.0], W.nnz)
    if full:
        columns = rng.permutation(n_features)[:full]
        some = sp.csr_array((np.ones(full, np.float32), ([0] * full, columns)), shape=(1, n_features))
        W = sp.csr_array(W + sp.vstack([some * 8] * len(tree.children)))
    W.sort_indices()
    bias = rng.standard_normal(len(tree.children)).astype(np.float32)
    return tree, W, bias


def packed(tree, W, bias):
    weights = LinearWeights(W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data, bias)
    return pack_chunks(tree, weights, W.shape[1], tree.mass())


def assert_all_come_back(store, tree, W, bias):
    for node in range(tree.n_nodes):
        edges = slice(tree.child_ptr[node], tree.child_ptr[node + 1])
        found = unpack_node(store, node)
        np.testing.assert_array_equal(found.children, tree.children[edges])
        np.testing.assert_array_equal(found.bias, bias[edges])
        assert found.weights.shape == (len(found.children), W.shape[1])
        assert (found.weights != W[edges]).nnz == 0


@pytest.mark.parametrize("full", [0, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_sparse_chunk(kind, full):
    tree, W, bias = sparse_model(*KINDS[kind], full=full)
    store = packed(tree, W, bias)
    assert (store.chunks[store.offsets[0] + 6], store.chunks[store.offsets[0] + 28]) == kind
    assert_all_come_back(store, tree, W, bias)


@pytest.mark.parametrize("seed", range(20))
def test_any_shape(seed):
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 60)), int(rng.integers(1, 3000)), rng.random() ** 3
    tree, W, bias = sparse_model(*shape, seed=seed)
    assert_all_come_back(packed(tree, W, bias), tree, W, bias)


def test_a_node_of_several_parts():
    tree, W, bias = sparse_model(700, 400, 0.1)
    store = packed(tree, W, bias)
    assert store.chunks[store.offsets[0] + 7] == 1
    assert_all_come_back(store, tree, W, bias)


@pytest.mark.parametrize("precision", ["half", "single"])
def test_full_matrices(precision):
    tree = random_tree(300, fanout=280)
    W = np.random.default_rng(0).standard_normal((len(tree.children), 21)).astype(np.float32)
    bias = W[:, 0].copy()
    store = pack_dense_chunks(tree, W, bias, tree.mass(), precision=precision)
    expected = W.astype(np.float16).astype(np.float32) if precision == "half" else W
    assert_all_come_back(store, tree, sp.csr_array(expected), bias)


@pytest.mark.parametrize("node", [-1, 1000, "root"])
def test_another_node_is_refused(node):
    tree, W, bias = sparse_model(4, 10, 0.5)
    with pytest.raises(InputError, match="node must be an integer in"):
        unpack_node(packed(tree, W, bias), node)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_an_error_or_other_weights_but_no_crash(kind):
    tree, W, bias = sparse_model(*KINDS[kind], full=3)
    store = packed(tree, W, bias)
    rng = np.random.default_rng(kind)
    refused = 0
    for _ in range(60):
        chunks = store.chunks.copy()
        start = store.offsets[0]
        places = start + rng.integers(0, 64 if rng.random() < 0.5 else 2048, 3)
        chunks[np.minimum(places, len(chunks) - 1)] = rng.integers(0, 256, 3)
        damaged = replace(store, chunks=chunks, source="a file")
        try:
            unpack_node(damaged, 0)
        except FileFormatError as error:
            refused += str(error).startswith("a file: the chunk of node 0 is damaged: ")
    assert refused > 0


def test_an_offset_outside_is_refused():
    tree, W, bias = sparse_model(4, 10, 0.5)
    store = packed(tree, W, bias)
    for offset in (-64, 7, 1 << 40):
        offsets = store.offsets.copy()
        offsets[1] = offset
        moved = replace(store, offsets=offsets)
        with pytest.raises(FileFormatError, match="the chunk of node 1 is damaged"):
            unpack_node(moved, 1)
