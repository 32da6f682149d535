"""Similarity within nodes equals a plain mean of cosines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labeltrees import LabelTree
from labeltrees.errors import InputError
from labeltrees.tree.measures import within_node_similarity
from tests.strategies import label_trees, labels_below


def cosines(embeddings, labels):
    """The cosine of every label of a node with the node's centre, one at a time."""
    unit = [row / np.linalg.norm(row) if np.any(row) else row for row in embeddings[sorted(labels)]]
    centre = np.sum(unit, axis=0)
    length = np.linalg.norm(centre)
    return [float(row @ centre / length) if length > 0 else 0.0 for row in unit]


def over_all_nodes(tree, embeddings):
    return np.mean([cosine for labels in labels_below(tree)[1:] for cosine in cosines(embeddings, labels)])


def over_largest_nodes(tree, embeddings, max_labels):
    below = labels_below(tree)
    found, alone = [], set(below[0])
    for node, labels in enumerate(below):
        if len(labels) <= max_labels and (node == 0 or len(below[tree.parent[node]]) > max_labels):
            found += cosines(embeddings, labels)
            alone -= labels
    return np.mean(found + [1.0] * len(alone))


def random_embeddings(seed, n_labels, dtype):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n_labels, 5)) * (rng.random((n_labels, 5)) < 0.5) * 3
    return values.astype(dtype)


@given(label_trees(), st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64, np.int64]))
def test_every_node_but_the_root_counts(tree, seed, dtype):
    embeddings = random_embeddings(seed, tree.n_labels, dtype)
    found = within_node_similarity(tree, embeddings)
    if tree.n_nodes == 1:
        assert np.isnan(found)
        return
    assert found == pytest.approx(over_all_nodes(tree, embeddings.astype(float)), abs=1e-5)
    assert within_node_similarity(tree, sparse.csr_array(embeddings)) == pytest.approx(found, abs=1e-5)


@given(label_trees(), st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_the_largest_nodes_of_a_size_count(tree, seed, max_labels):
    embeddings = random_embeddings(seed, tree.n_labels, np.float64)
    expected = over_largest_nodes(tree, embeddings, max_labels)
    assert within_node_similarity(tree, embeddings, max_labels) == pytest.approx(expected)
    assert within_node_similarity(tree, sparse.csc_matrix(embeddings), max_labels) == pytest.approx(expected)


def test_entries_stored_twice_add_up_and_the_callers_matrix_stays():
    tree = LabelTree([0, 2, 3], [1, ~1, ~0], 2)
    twice = sparse.csr_matrix((np.array([1.0, 1.0, -2.0, 1.0]), np.array([0, 0, 1, 0]), np.array([0, 3, 4])), (2, 2))
    assert within_node_similarity(tree, twice, 2) == pytest.approx(
        within_node_similarity(tree, np.array([[2.0, -2.0], [1.0, 0.0]]), 2)
    )
    assert twice.nnz == 4


def test_similar_labels_together_score_higher_than_apart():
    embeddings = np.repeat(np.eye(4), 4, axis=0) + 0.1 * np.random.default_rng(0).random((16, 4))
    groups = np.arange(16).reshape(4, 4)

    def tree(labels):
        return LabelTree([0, 4, 8, 12, 16, 20], [1, 2, 3, 4, *(~labels).ravel()], 16)

    alike, mixed = (within_node_similarity(tree(labels), embeddings, 4) for labels in (groups, groups.T))
    assert alike > 0.95 > 0.6 > mixed


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.zeros((2, 5)), r"embeddings must be numbers of shape \(3, n_features\)"),
        (np.zeros(3), "embeddings must be numbers of shape"),
        (np.array([["a"], ["b"], ["c"]]), "embeddings must be numbers of shape"),
        (np.array([[1.0], [np.nan], [2.0]]), "embeddings must be finite"),
        (sparse.csr_matrix([[1.0], [np.inf], [2.0]]), "embeddings must be finite"),
    ],
)
def test_wrong_embeddings_are_refused(embeddings, message):
    with pytest.raises(InputError, match=message):
        within_node_similarity(LabelTree([0, 3], [~0, ~1, ~2], 3), embeddings)


def test_a_size_below_one_is_refused():
    with pytest.raises(InputError, match="max_labels must be an integer of at least 1"):
        within_node_similarity(LabelTree([0, 1], [~0], 1), np.ones((1, 1)), max_labels=0)
