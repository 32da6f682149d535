"""Importing a model that fastText has saved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees._files import refuse_file
from labeltrees.errors import FileFormatError
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.text.fasttext_file import FastTextModel, read_fasttext
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
    used = np.zeros(arguments.buckets, dtype=bool)  # rows of zeros are not stored: they add nothing
    for first in range(0, arguments.buckets, _ROWS_AT_ONCE):
        block = file.input[n_words + first : n_words + min(first + _ROWS_AT_ONCE, arguments.buckets)]
        used[first : first + len(block)] = (block != 0).any(axis=1)
    places = np.flatnonzero(used)
    rows = zero_rows(n_words + len(places), arguments.dim)
    rows[:n_words, : arguments.dim] = file.input[:n_words]
    for first in range(0, len(places), _ROWS_AT_ONCE):
        block = places[first : first + _ROWS_AT_ONCE]
        rows[n_words + first : n_words + first + len(block), : arguments.dim] = file.input[n_words + block]
    # Labels with another prefix cannot be recognised by their prefix: they are added to the words.
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
    """Return `TextStore.buckets` for the buckets in use (n_buckets,).

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
