import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt


def contract_plainly(tree, fanout, mass, keep_leaves):
    """Label sets of the contracted tree's nodes, by the definition."""

    def children(node):
        return tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()

    sets = []
    todo = [0]
    while todo:
        node = todo.pop()
        side_by_side = children(node)
        closed = set()
        while True:
            open_nodes = [c for c in side_by_side if c >= 0 and c not in closed]
            if not open_nodes:
                break
            heaviest = heapq.nsmallest(1, open_nodes, key=lambda c: (-mass[c], c))[0]
            below = children(heaviest)
            leaf = keep_leaves and all(c < 0 for c in below)
            if leaf or len(side_by_side) - 1 + len(below) > fanout:
                closed.add(heaviest)
                continue
            at = side_by_side.index(heaviest)
            side_by_side[at : at + 1] = below
        sets.append(tuple(c if c < 0 else frozenset(labels_of(tree, c)) for c in side_by_side))
        todo.extend(c for c in side_by_side if c >= 0)
    return sorted(map(repr, sets))


def labels_of(tree, node):
    return [label for label in range(tree.n_labels) if tree.label_parent[label] >= 0 and node in tree.path(label)]


def described(tree):
    return sorted(
        repr(tuple(c if c < 0 else frozenset(labels_of(tree, c)) for c in row.tolist()))
        for row in np.split(tree.children, tree.child_ptr[1:-1])
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(2, 12), st.sampled_from([1, 3]))
def test_contraction_equals_its_plain_twin(seed, n_labels, fanout, leaf_size):
    rng = np.random.default_rng(seed)
    V, f = rng.random((n_labels, 4)), rng.pareto(1.0, n_labels) + 0.01
    binary = lt.build_tree_from(V, f, fanout=2, leaf_size=leaf_size)
    mass = binary.mass()
    wide = lt.contract(binary, fanout, mass, leaf_size=leaf_size)
    assert described(wide) == contract_plainly(binary, fanout, mass, leaf_size > 1)
    assert wide.leaf_order().tolist() == binary.leaf_order().tolist()
    assert (wide.label_depth <= binary.label_depth).all()
    assert np.diff(wide.child_ptr).max() <= max(fanout, leaf_size)


def test_a_wide_enough_fanout_makes_the_tree_flat():
    tree = lt.contract(lt.huffman_tree(np.arange(1, 20)), 19)
    assert tree.n_nodes == 1


def test_leaves_are_kept_whole():
    binary = lt.build_tree_from(np.eye(40), np.ones(40), tradeoff=0, fanout=2, leaf_size=10)
    assert binary.n_nodes == 7
    assert lt.contract(binary, 30, leaf_size=10).n_nodes == 5
    assert lt.contract(binary, 40).n_nodes == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1,), "fanout"), ((2.5,), "fanout"), ((4, [1.0]), "mass must be a vector"), ((4, [-1.0] * 3), r"mass\[0\]")],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(lt.InputError, match=message):
        lt.contract(lt.huffman_tree([1, 1, 1, 1]), *arguments)
