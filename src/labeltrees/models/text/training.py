"""Training the text model: counting words, building the binary tree, and training the vectors in native code."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._matrices import CheckedX, CheckedY
from labeltrees._progress import BYTES, watch
from labeltrees._validation import refuse
from labeltrees.errors import InputError, Parameter
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies
from labeltrees.models.common.given import keep_labels
from labeltrees.models.text.settings import TextSettings, buckets_in_use
from labeltrees.models.text.store import TextStore, all_finite, padded, zero_rows
from labeltrees.tree.baselines import fano_tree, huffman_tree, random_tree, semantic_huffman_tree
from labeltrees.tree.builder import grow_tree_from
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeBuilder, builder_of, tree_settings
from labeltrees.tree.splits import embedding_rows

_logger = logging.getLogger("labeltrees")

ProgressArgument = bool | Callable[[int, int], object] | None
# As in fastText: with more distinct words and labels than this, the rarest are dropped while counting.
MAX_ENTRIES = 22_500_000
MIB = 2**20


def count_words(
    texts: tuple[Any, ...] | None, path: str, settings: TextSettings, progress: ProgressArgument = None
) -> _core.TextCorpus:
    """Count the words, labels and n-grams of all texts, in memory or in the file `path`."""
    corpus = _core.TextCorpus(
        texts, path, int(settings.word_ngrams), int(settings.min_n), int(settings.max_n), buckets_in_use(settings)
    )
    with watch("Counting words", corpus.n_bytes, progress, unit=BYTES) as advance:
        corpus.count(int(settings.min_count), MAX_ENTRIES, advance)
    if corpus.n_words + corpus.n_bucket_rows == 0:
        message = "no word occurs {} times, so there is nothing to learn from: lower {}"
        raise InputError(message, settings.min_count, Parameter("min_count"))
    return corpus


def tfidf_bag(corpus: _core.TextCorpus, *, progress: ProgressArgument = None) -> tuple[Any, Any]:
    """Return the texts as CSR (N, input rows) of tf-idf weights, and the labels of texts in a file.

    Words are kept if they occur in at least 2 texts, n-grams if they occur in at least max(5, N / 1000)
    texts. On debian-depends, a tree over all n-grams gave the same precision for three times the memory and time
    (docs/decisions/0010).
    """
    n_rows = corpus.n_words + corpus.n_bucket_rows
    with watch("Reading texts", 2 * corpus.n_bytes, progress, unit=BYTES) as advance:
        min_texts_per_ngram = max(5, corpus.n_lines // 1000)
        indptr, columns, values, label_indptr, labels = corpus.bag(2, min_texts_per_ngram, advance)
    parts: Any = (values, columns, indptr)
    X = sp.csr_array(parts, shape=(len(indptr) - 1, n_rows))
    ones: Any = (np.ones(len(labels), np.float32), labels, label_indptr)
    return X, sp.csr_array(ones, shape=(len(indptr) - 1, max(corpus.n_labels, 1)))


def train_vectors(
    corpus: _core.TextCorpus,
    settings: TextSettings,
    tree: LabelTree,
    Y: Any = None,
    *,
    point_weights: Any = None,
    start: tuple[Any, Any] | None = None,
    random_state: int = 0,
    n_threads: int = 1,
    progress: ProgressArgument = None,
) -> TextStore:
    """Train the node units of a binary tree and the vectors of words and n-grams, on a counted corpus.

    Parameters
    ----------
    Y : csr_array (N, L), optional
        The labels of texts in memory; a file contains its own labels.
    point_weights : array (N,), optional
        Each training step on a text is multiplied by the text's weight divided by the mean weight.
    start : two arrays, optional
        The input and output rows to continue training from, which are changed in place. By default, inputs are random
        and outputs are 0.
    n_threads : int
        With one thread, the same seed gives the same bytes.
    """
    dim = int(settings.dim)
    n_rows = corpus.n_words + corpus.n_bucket_rows
    size = 4 * padded(dim) * (n_rows + tree.n_nodes)
    _logger.info("Training vectors: %d rows and %d nodes, %.0f MiB", n_rows, tree.n_nodes, size / MIB)
    if start is None:
        inputs, outputs = zero_rows(n_rows, dim), zero_rows(tree.n_nodes, dim)
        _core.start_input(inputs.reshape(-1), dim, padded(dim), random_state, n_threads)
    else:
        inputs, outputs = start
    n_tokens = corpus.n_tokens
    label_indptr = labels = weights = None
    if Y is not None:
        label_indptr, labels = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
        n_tokens += Y.nnz  # in a file, labels are tokens too
        if point_weights is not None:
            weights = (point_weights / point_weights.mean()).astype(np.float32)
    total, started = int(settings.epochs) * n_tokens, time.monotonic()

    def detail(done: int) -> str:
        return f"{done / max(time.monotonic() - started, 1e-9):,.0f} words/s, loss {corpus.loss:.4f}"

    with watch("Training vectors", total, progress, detail) as advance:
        corpus.train(
            input=inputs.reshape(-1),
            output=outputs.reshape(-1),
            dim=dim,
            stride=padded(dim),
            child_ptr=tree.child_ptr,
            children=tree.children,
            n_labels=tree.n_labels,
            label_indptr=label_indptr,
            labels=labels,
            weights=weights,
            n_tokens=n_tokens,
            lr=float(settings.lr),
            epochs=int(settings.epochs),
            seed=random_state,
            n_threads=n_threads,
            shuffle=bool(settings.shuffle),
            progress=advance,
        )
    if not (all_finite(inputs) and all_finite(outputs)):
        message = f"training left the range of float32: lr of {settings.lr} (or a sample_weight) is too large"
        raise InputError(message)
    return _store(corpus, settings, tree, inputs, outputs)


def _store(corpus: _core.TextCorpus, settings: TextSettings, tree: LabelTree, inputs: Any, outputs: Any) -> TextStore:
    # The label tokens of a file, after the words, are left out: prediction recognises labels by their prefix.
    n_words = corpus.n_words
    ends = corpus.ends[: n_words + 1].copy()
    words = corpus.text[: ends[-1]].copy()
    return TextStore(
        words=words,
        word_ends=ends,
        word_counts=corpus.counts[:n_words].copy(),
        word_slots=_core.word_slots(words, ends),
        buckets=corpus.buckets,
        input=inputs,
        output=outputs,
        child_ptr=tree.child_ptr,
        children=tree.children,
        n_words=n_words,
        n_labels=tree.n_labels,
        n_tokens=corpus.n_tokens,
        dim=int(settings.dim),
        word_ngrams=int(settings.word_ngrams),
        min_n=int(settings.min_n),
        max_n=int(settings.max_n),
        n_buckets=buckets_in_use(settings),
    )


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
    """Return a binary tree of the labels with a frequency above 0.

    Parameters
    ----------
    tree : LabelTree, one of `TREES`, TreeBuilder or None
        The classifier's parameter, after its checks.
    tradeoff : float
    frequencies : array (L,)
    read_texts : callable
        Returns the points and their labels; called only if the tree needs them.
    label_names : array of str (L,), optional
        If a given tree has label names, its labels are matched to these by name.
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
    """Return the tree with its labels renumbered in the order of `names`."""
    position = {name: label for label, name in enumerate(names.tolist())}
    assert tree.label_names is not None
    ids = np.array([position.get(name, -1) for name in tree.label_names.tolist()], dtype=np.int32)
    if ids.min() < 0:
        refuse("tree", "a LabelTree over the labels of the texts", f"one with {tree.label_names[ids.argmin()]!r}")
    children = tree.children.copy()
    is_label = children < 0
    children[is_label] = ~ids[~children[is_label]]
    return LabelTree(tree.child_ptr, children, tree.n_labels, label_names=names)
