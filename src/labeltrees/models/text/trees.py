"""The binary tree of a text model: built at a tradeoff, by name, or given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._validation import refuse
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies
from labeltrees.models.common.given_tree import keep_labels
from labeltrees.tree.baselines import fano_tree, huffman_tree, random_tree
from labeltrees.tree.builder import build_tree_from
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.semantic_huffman import semantic_huffman_tree

NAMES = ("huffman", "fano", "semantic_huffman", "random")


@dataclass(frozen=True)
class TreeSettings:
    """Which tree: the parameters of the classifier that tell it."""

    tree: LabelTree | str | None
    tradeoff: float
    smoothing: float
    cover: str
    cover_softness: float
    path: str
    embeddings: Any


def make_tree(
    settings: TreeSettings,
    frequencies: NDArray[np.float64],
    read_texts: Callable[[], tuple[Any, Any]],
    *,
    label_names: NDArray[np.object_] | None = None,
    sample_weight: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> LabelTree:
    """Return a binary tree that places the labels of a frequency above 0.

    Parameters
    ----------
    frequencies : array (L,)
    read_texts : callable
        Returns X (N, d) and Y (N, L); called only where the tree needs them.
    label_names : array of str (L,), optional
        A tree given with label names is arranged by them.
    """
    if isinstance(settings.tree, LabelTree):
        return _given(settings.tree, frequencies > 0, label_names)
    if settings.tree == "huffman":
        return huffman_tree(frequencies)
    if settings.tree == "fano":
        return fano_tree(frequencies)
    if settings.tree == "random":
        return keep_labels(random_tree(len(frequencies), random_state=random_state), frequencies > 0)
    X, Y = read_texts()
    embeddings = settings.embeddings
    if embeddings is None:
        embeddings = pifa(X, Y, n_jobs=n_jobs)
    del X
    if settings.tree == "semantic_huffman":
        return semantic_huffman_tree(embeddings, frequencies, random_state=random_state, n_jobs=n_jobs)
    covers = cover_frequencies(Y, sample_weight, method=settings.cover, softness=settings.cover_softness)
    return build_tree_from(
        embeddings,
        frequencies,
        covers,
        tradeoff=settings.tradeoff,
        fanout=2,
        leaf_size=1,
        smoothing=settings.smoothing,
        path=settings.path,
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
    """Return the tree over the labels in the order of `names`."""
    position = {name: label for label, name in enumerate(names.tolist())}
    assert tree.label_names is not None
    ids = np.array([position.get(name, -1) for name in tree.label_names.tolist()], dtype=np.int32)
    if ids.min() < 0:
        refuse("tree", "a LabelTree over the labels of the texts", f"one with {tree.label_names[ids.argmin()]!r}")
    children = tree.children.copy()
    is_label = children < 0
    children[is_label] = ~ids[~children[is_label]]
    return LabelTree(tree.child_ptr, children, tree.n_labels, label_names=names)
