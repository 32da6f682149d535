"""Trees of SciPy's hierarchical clusterings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage, to_tree

import labeltrees as lt


def newick(node):
    """The same tree as SciPy's own reader sees it."""
    return str(node.id) if node.is_leaf() else f"({newick(node.left)},{newick(node.right)})"


@given(st.integers(2, 40), st.integers(0, 1000), st.sampled_from(["single", "average", "ward"]))
@settings(max_examples=30, deadline=None)
def test_the_tree_is_the_one_that_scipy_reads(n_labels, seed, method):
    rows = linkage(np.random.default_rng(seed).normal(size=(n_labels, 3)), method)
    tree = lt.LabelTree.from_linkage(rows)
    assert tree.n_labels == n_labels
    assert tree.to_newick() == newick(to_tree(rows)) + ";"


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[0, 1, 0.5]],
        [[0, 5, 0.5, 2]],
        [[0, 0, 0.5, 2]],
        [[0, 1, 0.5, 2], [0, 3, 0.6, 3]],
        [[0, 1, -1.0, 2]],
        [[0, 1, np.nan, 2]],
        "tree",
    ],
)
def test_other_matrices_are_refused(rows):
    with pytest.raises(lt.InputError, match="linkage must"):
        lt.LabelTree.from_linkage(rows)


def test_a_model_uses_the_tree():
    X = np.eye(4)
    tree = lt.LabelTree.from_linkage(linkage(X))
    model = lt.LabelTreeClassifier(tree=tree).fit(X, np.eye(4))
    assert model.tree_ == tree
