"""Novelty, diversity and catalogue coverage equal their definitions, computed list by list."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.metrics.variety import label_similarity
from tests.strategies import label_trees


@st.composite
def lists_of_labels(draw):
    tree = draw(label_trees(max_labels=12))
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rows = [draw(st.lists(st.integers(0, tree.n_labels - 1), max_size=k, unique=True)) for _ in range(n)]
    k = min(k, tree.n_labels)
    return tree, [row[:k] for row in rows], k


def padded(rows, k):
    return np.array([row + [-1] * (k - len(row)) for row in rows])


@given(lists_of_labels())
def test_values_equal_the_definitions(case):
    tree, rows, k = case
    labels, Y = padded(rows, k), np.ones((len(rows), tree.n_labels))
    counts = np.arange(tree.n_labels)
    shares = np.maximum(counts, 1) / np.maximum(counts, 1).sum()
    answered = [row for row in rows if row]
    novelty = np.mean([np.mean([-math.log2(shares[label]) for label in row]) for row in answered]) if answered else 0
    assert lt.metrics.novelty_at_k(Y, labels, k, label_counts=counts) == pytest.approx(novelty)
    shown = len({label for row in rows for label in row}) / tree.n_labels
    assert lt.metrics.catalogue_at_k(Y, labels, k) == pytest.approx(shown)
    differences = [[1 - similarity(tree, a, b) for a in row for b in row if a < b] for row in answered]
    diversity = np.mean([np.mean(own) if own else 0 for own in differences]) if answered else 0
    assert lt.metrics.diversity_at_k(tree, labels, k) == pytest.approx(diversity)


def similarity(tree, a, b):
    """From the paths of both labels."""
    if a == b:
        return 1
    if tree.label_parent[a] < 0 or tree.label_parent[b] < 0:
        return 0
    common = [node for node in tree.path(a).tolist() if node in tree.path(b).tolist()][-1]
    placed = int((tree.label_parent >= 0).sum())
    below = sum(common in tree.path(label).tolist() for label in range(tree.n_labels) if tree.label_parent[label] >= 0)
    return 1 - math.log(below) / math.log(max(placed, 2))


@given(label_trees(max_labels=12))
def test_the_similarity_is_that_of_the_search(tree):
    every = np.arange(tree.n_labels)
    first, second = np.meshgrid(every, every)
    found = label_similarity(tree, first.ravel(), second.ravel())
    expected = [similarity(tree, a, b) for a, b in zip(first.ravel(), second.ravel(), strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_weights_leave_out_points_of_weight_0():
    tree = lt.flat_tree(3)
    Y, labels, weights = np.eye(3)[:2], np.array([[0, 1], [2, -1]]), [1, 0]
    assert lt.metrics.catalogue_at_k(Y, labels, 2, sample_weight=weights) == pytest.approx(2 / 3)
    assert lt.metrics.diversity_at_k(tree, labels, 2, sample_weight=weights) == 1
    assert lt.metrics.novelty_at_k(Y, labels, 2, label_counts=[1, 1, 2], sample_weight=weights) == 2


def test_others_are_refused():
    with pytest.raises(InputError, match="label_counts must be 3 numbers"):
        lt.metrics.novelty_at_k(np.eye(3), np.zeros((3, 1), int), 1, label_counts=[1])
    with pytest.raises(InputError, match="tree must be a LabelTree"):
        lt.metrics.diversity_at_k(None, [[0]], 1)
