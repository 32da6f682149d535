"""Huffman's tree with the labels of each level rearranged by similarity (Yang et al. 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.baselines import huffman_tree
from labeltrees.tree.builder import build_binary
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.splits import SplitSettings, embedding_rows


def semantic_huffman_tree(
    embeddings: Any, frequencies: Any, *, random_state: int = 0, n_jobs: int | None = None
) -> LabelTree:
    """Return Huffman's tree with similar labels next to each other: a label keeps its depth, but not its position.

    All labels are sorted by balanced splits on similarity (the leaf order of a tree at tradeoff 0). In that order the
    labels of each level fill the positions of the level from left to right, so that subtrees are similar across levels
    too.

    Parameters
    ----------
    embeddings : sparse or dense matrix (L, d)
    frequencies : array (L,)
        Labels of frequency 0 are not placed.

    Examples
    --------
    >>> import numpy as np
    >>> tree = semantic_huffman_tree(np.eye(2)[[0, 1, 0, 1]], [0.25, 0.25, 0.25, 0.25])
    >>> sorted(sorted(pair) for pair in tree.leaf_order().reshape(2, 2).tolist())
    [[0, 2], [1, 3]]
    """
    tree = huffman_tree(frequencies)
    rows = embedding_rows(embeddings, tree.n_labels).unit()
    places = tree.leaf_order()  # from left to right, each identified by its present label
    similarity = SplitSettings(2.0, 0.0)
    arrays = build_binary(
        rows, np.sort(places), np.ones(len(places)), similarity, random_state=random_state, n_jobs=n_jobs
    )
    similar = LabelTree._adopt(TreeArrays(*arrays, tree.n_labels)).leaf_order()
    arranged = np.arange(tree.n_labels, dtype=np.int32)  # the label that takes the place of label l
    by_level = np.argsort(tree.label_depth[places], kind="stable")
    arranged[places[by_level]] = similar[np.argsort(tree.label_depth[similar], kind="stable")]
    children = tree.children.copy()
    is_label = children < 0
    children[is_label] = ~arranged[~children[is_label]]
    return LabelTree._adopt(TreeArrays(tree.child_ptr.copy(), children, tree.n_labels, None, tree.label_weights))
