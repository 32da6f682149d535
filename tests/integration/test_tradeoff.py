"""The knob on real data: what it buys and what it costs."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tree.measures import within_node_similarity


@pytest.fixture(scope="module")
def curve():
    """Expected depth under f~ and similarity of binary trees over the paper's grid, on the bundled data."""
    train, _ = lt.datasets.load_debian()
    V, f, cover = lt.pifa(train.X, train.Y), lt.label_frequencies(train.Y), lt.cover_frequencies(train.Y)
    grid = [2 * t / (1 + t) for t in (0, 0.5, 1, 2, 6, 10, 30, 100, 300, 1000, 1e5)]
    trees = [lt.build_tree_from(V, f, cover, tradeoff=t, fanout=2, n_jobs=2) for t in grid]
    depth = np.array([tree.expected_depth(cover) for tree in trees])
    similarity = np.array([within_node_similarity(tree, V) for tree in trees])
    return depth, similarity


def test_expected_depth_falls_from_similarity_to_frequency(curve):
    depth, _ = curve
    assert depth[-1] < 0.5 * depth[0]
    assert (np.diff(depth) < 0.02 * depth[0]).all()


def test_similarity_is_what_depth_costs(curve):
    _, similarity = curve
    assert similarity[0] > 1.1 * similarity[-1]
    assert (np.diff(similarity) < 0.02).all()
