"""A given tree loses the labels without points, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.models.common.given import keep_labels
from tests.strategies import label_trees, labels_below


@given(label_trees(), st.data())
def test_the_kept_labels_stay_where_they_are(tree, data):
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=tree.n_labels, max_size=tree.n_labels)))
    placed = tree.label_depth >= 0
    if not (kept & placed).any():
        with pytest.raises(lt.errors.InputError, match="some of the labels of Y placed"):
            keep_labels(tree, kept)
        return
    smaller = keep_labels(tree, kept)
    np.testing.assert_array_equal(smaller.label_depth, np.where(kept, tree.label_depth, -1))
    wanted = [below & set(np.flatnonzero(kept)) for below in labels_below(tree)]
    assert labels_below(smaller) == [below for below in wanted if below]
    assert smaller.leaf_order().tolist() == [label for label in tree.leaf_order() if kept[label]]


def test_a_tree_that_loses_nothing_is_the_same_object():
    tree = lt.flat_tree(3)
    assert keep_labels(tree, np.ones(3, dtype=bool)) is tree


def test_names_and_weights_stay():
    tree = lt.LabelTree([0, 2], [~0, ~1], 2, label_names=["a", "b"], label_weights=[0.3, 0.7])
    smaller = keep_labels(tree, np.array([False, True]))
    assert smaller.label_names.tolist() == ["a", "b"]
    assert smaller.label_weights.tolist() == [0.3, 0.7]
