"""Exporting the text model for fastText, with label counts chosen so that fastText builds the same tree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._files import write_atomically
from labeltrees.errors import InputError
from labeltrees.models.text.fasttext_file import FastTextArguments, fasttext_bytes
from labeltrees.models.text.store import TextStore
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.text.estimator import TextLabelTreeClassifier

PREFIX = b"__label__"
MAX_COUNT = 10**15  # fastText's Huffman tree uses this count for "no node yet"


def export_model(model: TextLabelTreeClassifier, path: str | os.PathLike[str]) -> None:
    """Write `path`, and a file with the real label counts next to it."""
    store = model.searcher_.store
    order, counts, node_order = counts_for_tree(store.tree)
    names = model.classes_[order].tolist()
    labels = [str(name).encode() for name in names]
    for name in labels:
        if b"\0" in name:
            message = (
                f"label {name.decode()!r} has a NUL character in its name, which fastText's file format does not allow"
            )
            raise InputError(message)
    dim, n_words = store.dim, store.n_words
    bounds = store.word_ends[: n_words + 1].tolist()
    text = store.words[: bounds[-1]].tobytes()
    words = [text[bounds[i] : bounds[i + 1]] for i in range(n_words)] + [PREFIX + name for name in labels]
    output = np.zeros((len(order), dim), np.float32)
    output[: len(node_order)] = store.output[node_order, :dim]
    arguments = FastTextArguments(
        dim=dim,
        epochs=int(model.epochs),
        min_count=min(int(model.min_count), 2**31 - 1),
        word_ngrams=store.word_ngrams,
        buckets=store.n_buckets,
        min_n=store.min_n,
        max_n=store.max_n,
    )
    pieces = fasttext_bytes(
        arguments,
        words,
        np.concatenate([store.word_counts[:n_words], counts]),
        n_words,
        store.n_tokens,
        store.input[:n_words, :dim],
        store.input[n_words:, :dim],
        used_buckets(store),
        output,
    )
    write_atomically(path, pieces)
    lines = (f"{name}\t{count}\n" for name, count in zip(names, model.label_counts_[order].tolist(), strict=True))
    side = Path(path).with_name(Path(path).name + ".label_counts.tsv")
    write_atomically(side, (line.encode() for line in lines))


def used_buckets(store: TextStore) -> NDArray[np.int64]:
    """Return the buckets that have a row, ascending."""
    present = (store.buckets & np.uint64(0xFFFFFFFF)).astype("<u4")
    return np.flatnonzero(np.unpackbits(present.view(np.uint8), bitorder="little"))


def counts_for_tree(tree: LabelTree) -> tuple[Any, Any, Any]:
    """Return what makes fastText build `tree`: the placed labels in file order, their counts, and the nodes by row.

    With L placed labels, of which the r-th from the left has depth d, and maximum depth D, the count is
    2^(D - d) (L + 1 + r). Then the sums of nodes and labels of one depth increase from left to right, and those of a
    smaller depth are larger: the two smallest are always the two leftmost of the deepest remaining level.

    Examples
    --------
    >>> from labeltrees import huffman_tree
    >>> order, counts, nodes = counts_for_tree(huffman_tree([0.5, 0.3, 0.2]))
    >>> order.tolist(), counts.tolist()
    ([0, 2, 1], [12, 5, 4])
    """
    depth, left_to_right, node_depth, node_place = _decisions(tree)
    n_labels = len(left_to_right)
    height = int(depth.max())
    largest = 2 ** (height - int(depth.min())) * 2 * n_labels
    if largest >= MAX_COUNT:
        message = (
            f"a tree with labels at depths {depth.min()} to {height} cannot be written for fastText: "
            f"label counts would reach {largest:.3g}, and the maximum is {MAX_COUNT:.0e}"
        )
        raise InputError(message)
    counts = (n_labels + 1 + np.arange(n_labels)) << (height - depth).astype(np.int64)
    falling = np.argsort(-counts, kind="stable")
    decides = np.flatnonzero(np.diff(tree.child_ptr) == 2)
    # Deepest first, from left to right: the order in which fastText makes its nodes.
    node_order = decides[np.lexsort((node_place[decides], -node_depth[decides]))]
    return left_to_right[falling], counts[falling], node_order


def _decisions(tree: LabelTree) -> tuple[Any, Any, Any, Any]:
    """Return label depths, labels in leaf order, node depths and places; only nodes with two children add depth."""
    order = tree.leaf_order()
    label_place = np.zeros(tree.n_labels, dtype=np.int32)
    label_place[order] = np.arange(len(order))
    depth, place = np.empty(tree.n_nodes, np.int32), np.empty(tree.n_nodes, np.int32)
    _core.decision_places(tree.child_ptr, tree.children, label_place, depth, place)
    parent = tree.label_parent[order]
    return depth[parent] + (np.diff(tree.child_ptr)[parent] == 2), order, depth, place
