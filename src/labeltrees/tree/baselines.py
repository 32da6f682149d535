"""Trees to compare with: codes, k-means, random, flat."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s
from labeltrees._validation import Fanout, check_integer, check_seed, refuse
from labeltrees.tree.arrays import MAX_LABELS, TreeArrays, check_weights
from labeltrees.tree.builder import build_binary
from labeltrees.tree.contract import contract
from labeltrees.tree.embedding_rows import no_embeddings
from labeltrees.tree.label_tree import LabelTree


def _placed(frequencies: Any) -> tuple[Int32s, Float64s]:
    """Return the labels that occur, and all checked frequencies."""
    checked = check_weights("frequencies", frequencies)
    labels = np.flatnonzero(checked > 0).astype(np.int32)
    if len(labels) == 0:
        refuse("frequencies", "positive for at least one label", "all zero")
    return labels, checked


def huffman_tree(frequencies: Any) -> LabelTree:
    """Return the binary tree of least expected depth under `frequencies` (L,); labels of frequency 0 are unplaced.

    Examples
    --------
    >>> huffman_tree([0.5, 0.25, 0.125, 0.125]).label_depth
    array([1, 2, 3, 3], dtype=int32)
    """
    labels, checked = _placed(frequencies)
    arrays = _core.huffman_tree(labels, checked[labels])
    return LabelTree._adopt(TreeArrays(*arrays, len(checked), label_weights=checked)).renumbered()


def fano_tree(frequencies: Any) -> LabelTree:
    """Return Fano's binary tree: labels by falling frequency, cut in halves of equal mass again and again.

    The label at the middle goes to the nearer side, on a tie to the rarer labels. Labels of frequency 0 are unplaced.

    Examples
    --------
    >>> fano_tree([0.4, 0.3, 0.1, 0.1, 0.1]).label_depth
    array([1, 2, 3, 4, 4], dtype=int32)
    """
    labels, checked = _placed(frequencies)
    arrays = _core.fano_tree(labels, checked[labels])
    return LabelTree._adopt(TreeArrays(*arrays, len(checked), label_weights=checked)).renumbered()


def random_tree(n_labels: int, *, fanout: Fanout = 2, leaf_size: int = 1, random_state: int = 0) -> LabelTree:
    """Return a balanced tree over the labels in random order.

    Examples
    --------
    >>> random_tree(8).label_depth
    array([3, 3, 3, 3, 3, 3, 3, 3], dtype=int32)
    """
    n_labels = check_integer("n_labels", n_labels, 1, MAX_LABELS)
    order = np.random.default_rng(check_seed(random_state)).permutation(n_labels).astype(np.int32)
    labels = np.arange(n_labels, dtype=np.int32)
    # Labels of equal weight and no similarity are split in their order, into equal halves.
    child_ptr, children = build_binary(
        no_embeddings(n_labels), labels, np.ones(n_labels), objective=(0.0, 1.0), leaf_size=leaf_size
    )
    is_label = children < 0
    children[is_label] = ~order[~children[is_label]]
    weights = np.full(n_labels, 1.0 / n_labels)
    tree = LabelTree._adopt(TreeArrays(child_ptr, children, n_labels, label_weights=weights))
    return tree.renumbered() if fanout == 2 else contract(tree, fanout, leaf_size=leaf_size)


def flat_tree(n_labels: int, *, frequencies: Any = None) -> LabelTree:
    """Return the tree of one node with every label, or with those of a frequency (L,) above 0.

    Examples
    --------
    >>> flat_tree(3).children
    array([-1, -2, -3], dtype=int32)
    """
    n_labels = check_integer("n_labels", n_labels, 1, MAX_LABELS)
    if frequencies is None:
        return LabelTree([0, n_labels], ~np.arange(n_labels, dtype=np.int32), n_labels)
    labels, checked = _placed(frequencies)
    return LabelTree([0, len(labels)], ~labels, n_labels, label_weights=checked)
