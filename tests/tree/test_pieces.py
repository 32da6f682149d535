"""A tree that is built in pieces is the tree that is built at once."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.builder import grow_tree_from, widen
from labeltrees.tree.pieces import LabelSet, build_set, join, leaf_of, split_set
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.splits import EmbeddingRows, embedding_rows, split_rules

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
