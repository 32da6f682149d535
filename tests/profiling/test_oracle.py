"""The nodes an oracle opens: against walking up from every label."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.profiling.counts import Visits
from labeltrees.profiling.oracle import ancestors_of, mark_oracle


def walk(tree, labels):
    above = set()
    for label in labels:
        node = int(tree.label_parent[label]) if label >= 0 else -1
        while node >= 0:
            above.add(node)
            node = int(tree.parent[node])
    return above


def everything(tree, n, place=0):
    """All nodes visited by all queries."""
    nodes = np.tile(np.arange(tree.n_nodes, dtype=np.int32), n)
    ends = tree.n_nodes * np.arange(n + 1)
    return Visits(ends, nodes, nodes, nodes.astype(float), np.full(len(nodes), place), np.zeros(len(nodes), bool))


@given(st.integers(2, 40), st.integers(0, 1000), st.integers(1, 5), st.data())
@settings(max_examples=50, deadline=None)
def test_ancestors_are_those_met_on_the_way_up(n_labels, seed, k, data):
    tree = lt.contract(lt.random_tree(n_labels, random_state=seed), 3)
    labels = np.array(data.draw(st.lists(st.lists(st.integers(-1, n_labels - 1), min_size=k, max_size=k), max_size=4)))
    labels = labels.reshape(-1, k).astype(np.int64)
    expected = [walk(tree, row) for row in labels.tolist()]
    keys = ancestors_of(tree, labels)
    assert keys.tolist() == sorted(q * tree.n_nodes + node for q, own in enumerate(expected) for node in own)
    number, marked = mark_oracle([tree], labels, everything(tree, len(labels)))
    assert number.tolist() == [len(own) for own in expected]
    visited = [[node in own for node in range(tree.n_nodes)] for own in expected]
    assert marked.reshape(len(labels), tree.n_nodes).tolist() == visited


def test_labels_outside_the_tree_have_no_ancestors():
    tree = lt.LabelTree([0, 2], [~0, ~2], n_labels=3)
    assert tree.unplaced_labels.tolist() == [1]
    assert ancestors_of(tree, [[1, -1]]).tolist() == []


def test_each_tree_marks_its_own_visits():
    trees = [lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], 3), lt.LabelTree([0, 2, 4], [~1, 1, ~0, ~2], 3)]
    labels = np.array([[0]])
    for place, expected in ((0, [True, False]), (1, [True, True])):
        number, marked = mark_oracle(trees, labels, everything(trees[place], 1, place))
        assert number.tolist() == [3]  # the first tree's root, the second's both nodes
        assert marked.tolist() == expected


def test_nodes_with_one_child_decide_nothing():
    tree = lt.LabelTree([0, 1, 3], [1, ~0, ~1], 2)
    number, marked = mark_oracle([tree], np.array([[0]]), everything(tree, 1), skip_single_children=True)
    assert number.tolist() == [1]
    assert marked.tolist() == [False, True]
