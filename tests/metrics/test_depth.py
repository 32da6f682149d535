"""Expected depth of the returned labels."""

import numpy as np
import pytest

from labeltrees import InputError, LabelTree
from labeltrees.metrics import expected_depth_at_k

# Label 0 at depth 1, labels 1 and 2 at depth 2, label 3 nowhere.
TREE = LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=4)


@pytest.mark.parametrize(
    ("labels", "k", "expected"),
    [
        ([[0, 1], [0, -1], [2, 1]], 1, (1 + 1 + 2) / 3),
        ([[0, 1], [0, -1], [2, 1]], 2, (2 + 1 + 2) / 3),
        ([[-1, -1], [2, 0]], 2, 2.0),
    ],
)
def test_the_deepest_of_the_first_k_counts(labels, k, expected):
    assert expected_depth_at_k(TREE, labels, k) == pytest.approx(expected)


def test_at_one_it_is_the_expected_depth_under_the_returned_frequencies():
    returned = np.random.default_rng(0).integers(0, 3, (50, 1))
    weights = np.bincount(returned[:, 0], minlength=4)
    assert expected_depth_at_k(TREE, returned, 1) == pytest.approx(TREE.expected_depth(weights))


def test_the_edge_to_the_label_can_be_left_out():
    tree = LabelTree([0, 2, 5], [~0, 1, ~1, ~2, ~3], n_labels=4)
    labels = [[0, 1], [0, 3]]
    of_last_node = np.array([0, 1, 1, 1])  # the depth of each label's node
    expected = of_last_node[np.array(labels)].max(axis=1).mean()
    assert expected_depth_at_k(tree, labels, 2, count_label_edge=False) == expected
    weights = np.array([4.0, 1, 1, 2])
    assert tree.expected_depth(weights, count_label_edge=False) == pytest.approx(of_last_node @ weights / weights.sum())


@pytest.mark.parametrize(
    ("tree", "labels", "k", "message"),
    [
        (TREE, [[3]], 1, "got 3 in row 0, which the tree does not have"),
        (TREE, [[4]], 1, r"labels must be in \[-1, 3\]"),
        (TREE, [[-1]], 1, "at least one label"),
        (TREE, [[0]], 2, "k must be"),
        ("oak", [[0]], 1, "tree must be a LabelTree"),
    ],
)
def test_bad_input_is_refused_by_name(tree, labels, k, message):
    with pytest.raises(InputError, match=message):
        expected_depth_at_k(tree, labels, k)
