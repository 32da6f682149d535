"""A LabelTree keeps its invariants, and what it derives equals a plain walk."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import LabelTree
from labeltrees.errors import InputError
from labeltrees.tree.arrays import TreeArrays, renumber
from tests.strategies import children_of, label_trees, labels_below, random_label_tree


def small_tree(**more):
    # root: label 0, node 1, node 2; node 1: labels 3, 1; node 2: labels 2, 5. Label 4 is unplaced.
    return LabelTree([0, 3, 5, 7], [~0, 1, 2, ~3, ~1, ~2, ~5], n_labels=6, **more)


def walk(tree):
    """Depths, parents and order by a plain depth-first walk."""
    node_depth, label_depth = {0: 0}, {}
    parent, label_parent, order = {0: -1}, {}, []
    stack = [(0, child) for child in reversed(children_of(tree, 0))]
    while stack:
        node, child = stack.pop()
        if child < 0:
            label_depth[~child], label_parent[~child] = node_depth[node] + 1, node
            order.append(~child)
        else:
            node_depth[child], parent[child] = node_depth[node] + 1, node
            stack.extend((child, below) for below in reversed(children_of(tree, child)))
    return node_depth, label_depth, parent, label_parent, order


@given(label_trees())
def test_derived_arrays_equal_a_plain_walk(tree):
    node_depth, label_depth, parent, label_parent, order = walk(tree)
    labels, nodes = range(tree.n_labels), range(tree.n_nodes)
    assert tree.node_depth.tolist() == [node_depth[node] for node in nodes]
    assert tree.parent.tolist() == [parent[node] for node in nodes]
    assert tree.label_depth.tolist() == [label_depth.get(label, -1) for label in labels]
    assert tree.label_parent.tolist() == [label_parent.get(label, -1) for label in labels]
    assert tree.unplaced_labels.tolist() == [label for label in labels if label not in label_depth]
    assert tree.leaf_order().tolist() == order
    assert tree.height == max(label_depth.values())
    assert tree.n_labels_below.tolist() == [len(below) for below in labels_below(tree)]
    for label in label_depth:
        path = tree.path(label)
        assert path[0] == 0
        assert path[-1] == label_parent[label]
        assert [parent[node] for node in path[1:]] == path[:-1].tolist()


@given(label_trees(weights=True))
def test_sums_over_labels_equal_a_plain_sum(tree):
    weights = tree.label_weights
    below = labels_below(tree)
    np.testing.assert_allclose(tree.mass(), [sum(weights[label] for label in labels) for labels in below])
    placed = sorted(below[0])
    expected = sum(weights[label] * tree.label_depth[label] for label in placed) / weights[placed].sum()
    assert tree.expected_depth() == pytest.approx(expected)
    assert tree.kraft_sum() == pytest.approx(sum(0.5 ** int(tree.label_depth[label]) for label in placed))
    summary = tree.summary()
    assert (summary.n_placed, summary.n_nodes, summary.height) == (len(placed), tree.n_nodes, tree.height)
    assert summary.mean_depth == pytest.approx(np.mean([tree.label_depth[label] for label in placed]))
    assert summary.mean_children * tree.n_nodes == pytest.approx(len(tree.children))


def test_without_weights_placed_labels_count_equally():
    tree = small_tree()
    assert tree.mass().tolist() == pytest.approx([1.0, 0.4, 0.4])
    assert tree.expected_depth() == pytest.approx(9 / 5)


def test_given_weights_replace_stored_ones():
    tree = small_tree(label_weights=[1, 0, 0, 0, 0, 0])
    assert tree.expected_depth() == 1.0
    assert tree.expected_depth([0, 1, 0, 0, 0, 0]) == 2.0


def test_a_chain_of_thousands_of_nodes_works():
    n = 5000
    children = np.empty(2 * n, dtype=np.int32)
    children[0::2], children[1::2] = ~np.arange(n), np.arange(1, n + 1)
    children[-1] = ~n
    tree = LabelTree(np.arange(0, 2 * n + 1, 2), children, n + 1)
    assert tree.height == n
    assert tree.kraft_sum() == 1.0
    assert tree.leaf_order().tolist() == list(range(n + 1))


@pytest.mark.parametrize(
    ("child_ptr", "children", "n_labels", "message"),
    [
        ([0], [], 1, "child_ptr must be one entry longer"),
        ([1, 2], [~0, ~1], 2, "child_ptr must be 0 at its start"),
        ([0, 1], [~0, ~1], 2, "child_ptr must be the number of children, 2, at its end, got 1"),
        ([0, 1, 1, 2], [1, ~0], 2, "node 1 must have at least one child: child_ptr goes from 1 to 1"),
        ([0, 3, 2], [~0, ~1], 2, "node 1 must have at least one child"),
        ([0, -5, 2], [~0, ~1], 2, "node 0 must have at least one child"),
        ([0, 2, 3], [1, 2, ~0], 2, r"child 1 of node 0 \(position 1 of children\) is node 2, but the tree has 2 nodes"),
        ([0, 1, 3], [1, 1, ~0], 2, "child 0 of node 1 .* is node 1: a child's id must be larger"),
        ([0, 1, 3], [1, 0, ~0], 2, "child 0 of node 1 .* is node 0: a child's id must be larger"),
        ([0, 2, 3], [1, 1, ~0], 2, "child 1 of node 0 .* is node 1, which is already the child"),
        ([0, 2], [~0, ~2], 2, r"child 1 of node 0 .* is label 2, but there are 2 labels"),
        ([0, 2], [~0, ~0], 2, "child 1 of node 0 .* is label 0, which is already elsewhere"),
        ([0, 1, 2], [~0, ~1], 2, "node 1 is not the child of any node"),
        ([0, 1], [-(2**31)], 2, "is label 2147483647, but there are 2 labels"),
        ([0, 1], [2**40], 2, "children must be within"),
        ([0.0, 1.0], [~0], 1, "child_ptr must be a vector of integers"),
        ([0, 1], [[~0]], 1, "children must be a vector of integers"),
        ([0, 1], [~0], 0, "n_labels must be an integer"),
        ([0, 1], [~0], 2**31, "n_labels must be an integer"),
    ],
)
def test_invalid_trees_are_refused_with_the_place(child_ptr, children, n_labels, message):
    with pytest.raises(InputError, match=message):
        LabelTree(child_ptr, children, n_labels)


@given(st.lists(st.integers(-4, 8), max_size=8), st.lists(st.integers(-5, 5), max_size=8), st.integers(1, 5))
def test_any_integers_are_a_tree_or_refused(child_ptr, children, n_labels):
    try:
        tree = LabelTree(np.array(child_ptr, dtype=np.int64), np.array(children, dtype=np.int32), n_labels)
    except InputError:
        return
    below = labels_below(tree)[0]
    assert sorted(below) == sorted(~child for child in children if child < 0)
    assert len(tree.leaf_order()) == len(below)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"label_names": ["a"]}, "label_names must be a sequence of 6 strings"),
        ({"label_names": "abcdef"}, "label_names must be a sequence of 6 strings"),
        ({"label_names": ["a", "b", 3, "d", "e", "f"]}, r"label_names\[2\] must be a string, got 3"),
        ({"label_names": [[1], [2], [3], [4], [5], [6]]}, r"label_names\[0\] must be a string"),
        ({"label_weights": [1.0]}, "label_weights must be a vector of 6 numbers"),
        ({"label_weights": [1, 1, 1, -1, 1, 1]}, r"label_weights\[3\] must be a finite number of at least 0"),
        ({"label_weights": [1, 1, 1, 1, np.nan, 1]}, r"label_weights\[4\] must be a finite"),
        ({"label_weights": ["1"] * 6}, "label_weights must be a vector of 6 numbers"),
    ],
)
def test_wrong_names_and_weights_are_refused(more, message):
    with pytest.raises(InputError, match=message):
        small_tree(**more)


def test_expected_depth_needs_weight_on_a_placed_label():
    with pytest.raises(InputError, match="weights must be positive for some label"):
        small_tree().expected_depth([0, 0, 0, 0, 1, 0])
    assert "nan" in repr(small_tree(label_weights=[0, 0, 0, 0, 1, 0]))


def test_an_unplaced_label_has_no_path():
    with pytest.raises(InputError, match="label 4 is not in the tree"):
        small_tree().path(4)
    with pytest.raises(InputError, match=r"label must be an integer in \[0, 5\]"):
        small_tree().path(6)


def test_a_tree_cannot_be_changed():
    child_ptr, children = np.array([0, 2]), np.array([~0, ~1], dtype=np.int32)
    weights = np.array([0.5, 0.5])
    names = np.array(["a", "b"], dtype=object)
    tree = LabelTree(child_ptr, children, 2, label_names=names, label_weights=weights)
    children[0] = weights[0] = 7
    names[0] = "z"
    assert tree.children.tolist() == [~0, ~1]
    assert tree.label_weights.tolist() == [0.5, 0.5]
    assert tree.label_names.tolist() == ["a", "b"]
    for name in ("child_ptr", "children", "label_names", "label_weights", "parent", "label_depth", "n_labels_below"):
        assert not getattr(tree, name).flags.writeable
        with pytest.raises(AttributeError):
            setattr(tree, name, 3)
    with pytest.raises(AttributeError):
        del tree.children
    assert weights.flags.writeable


def test_read_only_arrays_are_shared_not_copied():
    child_ptr, children = np.array([0, 2]), np.array([~0, ~1], dtype=np.int32)
    child_ptr.flags.writeable = children.flags.writeable = False
    tree = LabelTree(child_ptr, children, 2)
    assert tree.children is children
    # A read-only view of something writable is not safe to share.
    writable = np.array([~0, ~1], dtype=np.int32)
    view = writable[:]
    view.flags.writeable = False
    assert not np.may_share_memory(LabelTree(child_ptr, view, 2).children, writable)


def test_an_unchecked_tree_is_checked_before_any_use():
    parts = TreeArrays(np.array([0, 2]), np.array([~0, ~7], dtype=np.int32), 2)
    tree = LabelTree._adopt(parts, check=False)
    for use in (tree.mass, tree.leaf_order, tree.kraft_sum, tree.renumbered, lambda: tree.n_labels_below):
        with pytest.raises(InputError, match="label 7"):
            use()


@given(label_trees(weights=True))
def test_equal_and_hash_follow_the_structure(tree):
    copy = LabelTree(tree.child_ptr, tree.children, tree.n_labels)
    assert copy == tree
    assert hash(copy) == hash(tree)
    assert tree != LabelTree(tree.child_ptr, tree.children, tree.n_labels + 1)
    assert tree != "tree"


def test_pickles_with_names_and_weights():
    tree = small_tree(label_names=list("abcdef"), label_weights=np.arange(6) / 15)
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert again.label_names.tolist() == list("abcdef")
    assert again.label_weights.tolist() == tree.label_weights.tolist()


def test_repr_shows_the_shape():
    assert repr(small_tree()) == "LabelTree(n_labels=6, n_nodes=3, height=2, expected_depth=1.8, unplaced=1)"


def renumber_twin(tree, mass):
    """Level by level with Python's stable sort."""
    order, level = [], [0]
    while level:
        order += level
        appear = [child for node in level for child in children_of(tree, node) if child >= 0]
        level = sorted(appear, key=lambda node: -mass[node])
    new_id = {old: new for new, old in enumerate(order)}
    children = [[new_id[child] if child >= 0 else child for child in children_of(tree, node)] for node in order]
    return order, [child for group in children for child in group]


@given(label_trees(weights=True), st.booleans())
def test_renumbering_goes_breadth_first_by_falling_mass(tree, with_ties):
    weights = np.ones(tree.n_labels) if with_ties else tree.label_weights
    mass = tree.mass(weights)
    order, children = renumber_twin(tree, mass)
    assert renumber(tree.child_ptr, tree.children, mass)[2].tolist() == order
    again = tree.renumbered(weights)
    assert again.children.tolist() == children
    assert again.leaf_order().tolist() == tree.leaf_order().tolist()
    assert again.label_depth.tolist() == tree.label_depth.tolist()
    assert np.all(np.diff(again.node_depth) >= 0)
    for depth in range(again.height):
        assert np.all(np.diff(again.mass(weights)[again.node_depth == depth]) <= 0)
    assert again.renumbered(weights) == again


def test_renumbering_takes_nodes_in_any_order():
    # The root's children are nodes 2 and 1, whose ids fall from 2 to its child 1: no LabelTree yet.
    child_ptr = np.array([0, 2, 4, 6])
    children = np.array([~0, 2, ~1, ~2, 1, ~3], dtype=np.int32)
    new_child_ptr, new_children, old_ids = renumber(child_ptr, children, np.zeros(3))
    assert new_children.tolist() == [~0, 1, 2, ~3, ~1, ~2]
    assert new_child_ptr.tolist() == [0, 2, 4, 6]
    assert old_ids.tolist() == [0, 2, 1]


def test_a_tree_of_many_labels():
    tree = random_label_tree(np.random.default_rng(0), 3000, 2900)
    assert len(tree.leaf_order()) == 2900
    assert len(tree.unplaced_labels) == 100
