"""A tree in pieces, for sets of labels too large for one place: split a set, build the tree of a set, join the trees.

The joined tree is the one that `grow_tree_from` builds, wherever and in which sizes the pieces are made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s, Int32s, Int64s
from labeltrees.tree.splits import EmbeddingRows, SplitRules, SplitSettings

Binary = tuple[Int64s, Int32s]  # child_ptr and children, nodes in depth-first order


class LabelSet(NamedTuple):
    """The labels of a node, ascending, and the seed for the tree of this node."""

    labels: Int32s
    seed: int
    is_root: bool = False


def split_set(labels: LabelSet, rows: EmbeddingRows, rules: SplitRules, n_threads: int) -> tuple[LabelSet, LabelSet]:
    """Return the two sides of a set, whose label i has row i of `rows`; the rows may be overwritten."""
    weights, settings = _weights_of(labels, rules)
    is_plus, plus_seed, minus_seed = _core.split_set(
        _numbers(labels), weights, *rows, settings, labels.seed, n_threads, not labels.is_root
    )
    plus = is_plus.astype(bool)
    return LabelSet(labels.labels[plus], plus_seed), LabelSet(labels.labels[~plus], minus_seed)


def build_set(labels: LabelSet, rows: EmbeddingRows, rules: SplitRules, n_threads: int) -> Binary:
    """Return the tree of a set, whose label i has row i of `rows`; the rows may be overwritten."""
    weights, settings = _weights_of(labels, rules)
    child_ptr, children = _core.build_binary_tree(
        _numbers(labels), weights, *rows, settings, labels.seed, n_threads, not labels.is_root, True, None
    )
    is_label = children < 0
    children[is_label] = ~labels.labels[~children[is_label]]
    return child_ptr, children


def leaf_of(labels: Int32s) -> Binary:
    """Return the tree of a set that is not split."""
    return np.array([0, len(labels)], np.int64), ~labels


def join(plus: Binary, minus: Binary) -> Binary:
    """Return a tree whose root has these two trees, or single labels, below it.

    Examples
    --------
    >>> child_ptr, children = join(leaf_of(np.array([4], np.int32)), leaf_of(np.array([1, 3], np.int32)))
    >>> child_ptr.tolist(), children.tolist()  # label 4 is a child of the root, labels 1 and 3 are below node 1
    ([0, 2, 4], [-5, 1, -2, -4])
    """
    below: list[Binary] = []
    references, n_nodes = [], 1
    for child_ptr, children in (plus, minus):
        if len(children) == 1:
            references.append(int(children[0]))
            continue
        references.append(n_nodes)
        below.append((child_ptr, np.where(children >= 0, children + n_nodes, children).astype(np.int32)))
        n_nodes += len(child_ptr) - 1
    widths = [np.array([2])] + [np.diff(child_ptr) for child_ptr, _ in below]
    return (
        np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(widths))]),
        np.concatenate([np.array(references, np.int32)] + [children for _, children in below]),
    )


def _numbers(labels: LabelSet) -> Int32s:
    return np.arange(len(labels.labels), dtype=np.int32)


def _weights_of(labels: LabelSet, rules: SplitRules) -> tuple[Float64s, SplitSettings]:
    """Return the weights of a set's labels, and the settings for the set and the nodes below."""
    weights = rules.root_weights if labels.is_root else rules.weights[labels.labels]
    given = rules.settings.node_weights
    if given is None:
        return weights, rules.settings
    given = given._replace(frequencies=given.frequencies[labels.labels], covers=given.covers[labels.labels])
    return weights, rules.settings._replace(node_weights=given)
