"""Importing models that fastText saved, and exporting models that fastText can load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._files import refuse_file, write_atomically
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.text.fasttext_file import FastTextArguments, FastTextModel, fasttext_bytes, read_fasttext
from labeltrees.models.text.searcher import TextSearcher
from labeltrees.models.text.store import TextStore, all_finite, zero_rows
from labeltrees.storage import decode_names
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree

if TYPE_CHECKING:
    from labeltrees.models.text.estimator import TextLabelTreeClassifier


PREFIX = "__label__"
_ROWS_AT_ONCE = 2**16


def import_model(path: str | os.PathLike[str]) -> TextLabelTreeClassifier:
    """Open a ``.bin`` file; see `TextLabelTreeClassifier.from_fasttext`."""
    from labeltrees.models.text.estimator import TextLabelTreeClassifier

    file = read_fasttext(path)
    tree, output = _tree_and_output(file, path)
    store = _make_store(file, tree, output)
    if not (all_finite(store.input) and all_finite(store.output)):
        refuse_file(path, "a vector is not finite")
    arguments = file.arguments
    model = TextLabelTreeClassifier(
        tree="huffman",
        dim=arguments.dim,
        epochs=arguments.epochs,
        min_count=arguments.min_count,
        word_ngrams=arguments.word_ngrams,
        min_n=arguments.min_n,
        max_n=arguments.max_n,
        buckets=arguments.buckets,
        shuffle=False,  # fastText reads its lines in order
    )
    ends = file.word_ends[file.n_words :]
    tokens = decode_names(file.words[ends[0] :], ends - ends[0], os.fspath(path))
    names = np.array([token.removeprefix(PREFIX) for token in tokens], dtype=object)
    if len(set(names.tolist())) < len(names):
        refuse_file(path, "a label occurs twice")
    model._label_names = LabelNames(names)
    model.label_counts_ = file.counts[file.n_words :].copy()
    model.tree_ = store.tree
    model.n_points_ = None  # the file does not say
    model.searcher_ = TextSearcher(store)
    model.calibration_ = None
    model.early_stop_ = None
    model.stats_ = {
        "imported_from": "fasttext",
        "n_words": store.n_words,
        "n_tokens": store.n_tokens,
        "bytes": store.nbytes,
    }
    return model


def _tree_and_output(file: FastTextModel, path: str | os.PathLike[str]) -> tuple[LabelTree, Any]:
    n_labels, dim = file.output.shape
    if n_labels == 1:
        tree = LabelTree([0, 1], [~0], 1)
    else:
        try:
            children = _core.fasttext_huffman(np.ascontiguousarray(file.counts[file.n_words :]))
        except FileFormatError as error:
            refuse_file(path, str(error))
        tree = LabelTree._adopt(TreeArrays(2 * np.arange(n_labels, dtype=np.int64), children, n_labels))
    output = zero_rows(tree.n_nodes, dim)
    if n_labels > 1:
        output[:, :dim] = file.output[-2::-1]
    return tree, output


def _make_store(file: FastTextModel, tree: LabelTree, output: Any) -> TextStore:
    arguments, n_words = file.arguments, file.n_words
    used = np.zeros(arguments.buckets, dtype=bool)  # zero rows are not stored, because they do not change any sum
    for first in range(0, arguments.buckets, _ROWS_AT_ONCE):
        block = file.input[n_words + first : n_words + min(first + _ROWS_AT_ONCE, arguments.buckets)]
        used[first : first + len(block)] = (block != 0).any(axis=1)
    places = np.flatnonzero(used)
    rows = zero_rows(n_words + len(places), arguments.dim)
    rows[:n_words, : arguments.dim] = file.input[:n_words]
    for first in range(0, len(places), _ROWS_AT_ONCE):
        block = places[first : first + _ROWS_AT_ONCE]
        rows[n_words + first : n_words + first + len(block), : arguments.dim] = file.input[n_words + block]
    # Label tokens with another prefix are stored after the words, so that they can be recognised in a text.
    ends = file.word_ends
    text = file.words.tobytes()
    others = [
        label
        for label in range(n_words, len(ends) - 1)
        if not text.startswith(PREFIX.encode(), int(ends[label]), int(ends[label + 1]))
    ]
    words = text[: ends[n_words]] + b"".join(text[ends[label] : ends[label + 1]] for label in others)
    lengths = np.diff(ends)[[*range(n_words), *others]]
    word_ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    word_bytes = np.frombuffer(words, np.uint8)
    return TextStore(
        words=word_bytes,
        word_ends=word_ends,
        word_counts=file.counts[[*range(n_words), *others]],
        word_slots=_core.word_slots(word_bytes, word_ends),
        buckets=bucket_words(used),
        input=rows,
        output=output,
        child_ptr=tree.child_ptr,
        children=tree.children,
        n_words=n_words,
        n_labels=tree.n_labels,
        n_tokens=file.n_tokens,
        dim=arguments.dim,
        word_ngrams=arguments.word_ngrams,
        min_n=arguments.min_n,
        max_n=arguments.max_n,
        n_buckets=arguments.buckets,
    )


def bucket_words(used: Any) -> Any:
    """Return `TextStore.buckets`, given which buckets are used (n_buckets,).

    Examples
    --------
    >>> import numpy as np
    >>> bucket_words(np.arange(40) == 33).tolist()
    [0, 2]
    """
    bits = np.zeros((len(used) // 32 + 1) * 32, dtype=bool)
    bits[: len(used)] = used
    present = np.packbits(bits, bitorder="little").view("<u4").astype(np.uint64)
    here = np.bitwise_count(present).astype(np.uint64)
    return present | (np.cumsum(here, dtype=np.uint64) - here) << np.uint64(32)


MAX_COUNT = 10**15  # fastText's Huffman code uses this count for nodes that do not exist yet


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
    words = [text[bounds[i] : bounds[i + 1]] for i in range(n_words)] + [PREFIX.encode() + name for name in labels]
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
    """Return label counts from which fastText builds `tree`: labels in file order, their counts, and nodes by row.

    Only labels in the tree are returned. With L such labels and maximum depth D, the r-th label from the left (from 0),
    at depth d, gets the count 2^(D - d) (L + 1 + r). Then the counts of nodes and labels at one depth increase from
    left to right, and counts at a smaller depth are larger. So fastText always joins the two leftmost entries of the
    deepest remaining level.

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
    # Deepest first, from left to right: the order in which fastText creates its nodes.
    node_order = decides[np.lexsort((node_place[decides], -node_depth[decides]))]
    return left_to_right[falling], counts[falling], node_order


def _decisions(tree: LabelTree) -> tuple[Any, Any, Any, Any]:
    """Return label depths, labels in leaf order, node depths and node positions; nodes with one child add no depth."""
    order = tree.leaf_order()
    label_place = np.zeros(tree.n_labels, dtype=np.int32)
    label_place[order] = np.arange(len(order))
    depth, place = np.empty(tree.n_nodes, np.int32), np.empty(tree.n_nodes, np.int32)
    _core.decision_places(tree.child_ptr, tree.children, label_place, depth, place)
    parent = tree.label_parent[order]
    return depth[parent] + (np.diff(tree.child_ptr)[parent] == 2), order, depth, place
