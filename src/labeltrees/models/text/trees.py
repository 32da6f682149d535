"""The binary tree of a text model: built at a tradeoff, named, or given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import CheckedX, CheckedY
from labeltrees._validation import refuse
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies
from labeltrees.models.common.given import keep_labels
from labeltrees.tree.baselines import fano_tree, huffman_tree, random_tree, semantic_huffman_tree
from labeltrees.tree.builder import grow_tree_from
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeBuilder, builder_of, tree_settings
from labeltrees.tree.splits import embedding_rows


def make_tree(
    tree: LabelTree | TreeBuilder | str | None,
    tradeoff: float,
    frequencies: NDArray[np.float64],
    read_texts: Callable[[], tuple[CheckedX, CheckedY]],
    *,
    label_names: NDArray[np.object_] | None = None,
    sample_weight: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> LabelTree:
    """Return a binary tree that places the labels with a frequency above 0.

    Parameters
    ----------
    tree : LabelTree, one of `TREES`, TreeBuilder or None
        The parameter of the classifier, checked.
    tradeoff : float
    frequencies : array (L,)
    read_texts : callable
        Returns the points and their labels; called only if the tree needs them.
    label_names : array of str (L,), optional
        The labels of a given tree that has label names are matched by name.
    """
    if isinstance(tree, LabelTree):
        return _given(tree, frequencies > 0, label_names)
    if tree == "huffman":
        return huffman_tree(frequencies)
    if tree == "fano":
        return fano_tree(frequencies)
    if tree == "random":
        return keep_labels(random_tree(len(frequencies), random_state=random_state), frequencies > 0)
    X, Y = read_texts()
    embeddings = builder_of(tree).embeddings
    if embeddings is None:
        embeddings = pifa(X, Y, n_jobs=n_jobs)
    del X
    if tree == "semantic_huffman":
        return semantic_huffman_tree(embeddings, frequencies, random_state=random_state, n_jobs=n_jobs)
    settings = tree_settings(tree, tradeoff=tradeoff, fanout=2)
    return grow_tree_from(
        embedding_rows(embeddings).unit(),
        frequencies,
        cover_frequencies(Y, sample_weight, settings.cover, settings.cover_softness),
        settings,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


def _given(tree: LabelTree, occurs: NDArray[np.bool_], names: NDArray[np.object_] | None) -> LabelTree:
    if np.diff(tree.child_ptr).max() > 2:
        refuse("tree", "a binary LabelTree (fanout=2, leaf_size=1)", tree)
    if tree.n_labels != len(occurs):
        refuse("tree", f"a LabelTree over the {len(occurs)} labels of the texts", tree)
    if tree.label_names is not None and names is not None:
        tree = _arranged(tree, names)
    return keep_labels(tree, occurs)


def _arranged(tree: LabelTree, names: NDArray[np.object_]) -> LabelTree:
    """Return the tree with its labels renumbered to the order of `names`."""
    position = {name: label for label, name in enumerate(names.tolist())}
    assert tree.label_names is not None
    ids = np.array([position.get(name, -1) for name in tree.label_names.tolist()], dtype=np.int32)
    if ids.min() < 0:
        refuse("tree", "a LabelTree over the labels of the texts", f"one with {tree.label_names[ids.argmin()]!r}")
    children = tree.children.copy()
    is_label = children < 0
    children[is_label] = ~ids[~children[is_label]]
    return LabelTree(tree.child_ptr, children, tree.n_labels, label_names=names)
