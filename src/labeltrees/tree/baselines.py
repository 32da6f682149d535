"""Baseline trees: Huffman, Fano, random and flat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees._validation import Fanout, check_integer, check_seed, refuse
from labeltrees.tree.arrays import MAX_LABELS, TreeArrays, check_weights
from labeltrees.tree.builder import build_binary
from labeltrees.tree.contract import contract
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.splits import SplitSettings, no_embeddings


def _placed(frequencies: Any) -> tuple[Int32s, Float64s]:
    """Return the labels with a frequency above 0, and all frequencies, checked."""
    checked = check_weights("frequencies", frequencies)
    labels = np.flatnonzero(checked > 0).astype(np.int32)
    if len(labels) == 0:
        refuse("frequencies", "positive for at least one label", "all zero")
    return labels, checked


def huffman_tree(frequencies: Any) -> LabelTree:
    """Return the binary tree with the smallest expected depth for `frequencies` (L,).

    Labels of frequency 0 are not placed.

    Examples
    --------
    >>> huffman_tree([0.5, 0.25, 0.125, 0.125]).label_depth
    array([1, 2, 3, 3], dtype=int32)
    """
    return _code_tree(_core.huffman_tree, frequencies)


def fano_tree(frequencies: Any) -> LabelTree:
    """Return Fano's binary tree: labels sorted by falling frequency are split recursively into halves of equal mass.

    The label at the middle goes to the nearer side, or on a tie to the rarer
    labels. Labels of frequency 0 are not placed.

    Examples
    --------
    >>> fano_tree([0.4, 0.3, 0.1, 0.1, 0.1]).label_depth
    array([1, 2, 3, 4, 4], dtype=int32)
    """
    return _code_tree(_core.fano_tree, frequencies)


def _code_tree(build: Callable[[Int32s, Float64s], tuple[Int64s, Int32s]], frequencies: Any) -> LabelTree:
    labels, checked = _placed(frequencies)
    arrays = build(labels, checked[labels])
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
    # Labels with equal weights and no embeddings are split into equal halves in the order of their ids.
    settings = SplitSettings(0.0, 1.0, leaf_size=check_integer("leaf_size", leaf_size, 1))
    child_ptr, children = build_binary(no_embeddings(n_labels), labels, np.ones(n_labels), settings)
    is_label = children < 0
    children[is_label] = ~order[~children[is_label]]
    weights = np.full(n_labels, 1.0 / n_labels)
    tree = LabelTree._adopt(TreeArrays(child_ptr, children, n_labels, label_weights=weights))
    return tree.renumbered() if fanout == 2 else contract(tree, fanout, leaf_size=leaf_size)


def flat_tree(n_labels: int, *, frequencies: Any = None) -> LabelTree:
    """Return a tree with a single node, which has all labels, or those with a frequency (L,) above 0.

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
