"""Training the text model: settings, the passes over the texts, and the calls into the core."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._progress import watch
from labeltrees._validation import check_integer, check_number, refuse
from labeltrees.errors import InputError
from labeltrees.models.text.store import TextStore, all_finite, padded, zero_rows
from labeltrees.tree.label_tree import LabelTree

_logger = logging.getLogger("labeltrees")

ProgressArgument = bool | Callable[[int, int], object] | None
# As in fastText: above so many different words and labels the rarest are dropped while counting.
MOST_ENTRIES = 22_500_000
MIB = 2**20


@dataclass(frozen=True)
class TextSettings:
    """How texts become vectors and how these are trained; fastText's parameters.

    Parameters
    ----------
    dim : int
        Length of the vectors.
    lr : float
        Learning rate at the beginning; it falls to 0 in a straight line.
    epochs : int
    min_count : int
        Rarer words are left out.
    word_ngrams : int
        The longest n-gram of words; 1 for words alone.
    min_n, max_n : int
        Shortest and longest n-gram of characters; max_n 0 for none.
    buckets : int
        N-grams are hashed into so many.
    """

    dim: int = 128
    lr: float = 0.5
    epochs: int = 25
    min_count: int = 2
    word_ngrams: int = 2
    min_n: int = 0
    max_n: int = 0
    buckets: int = 2_000_000

    def validate(self) -> None:
        """Refuse the first setting that is not what it may be."""
        check_integer("dim", self.dim, 1, 2**16)
        check_number("lr", self.lr, 0, 1e6, low_open=True)
        check_integer("epochs", self.epochs, 0, 2**31 - 1)
        check_integer("min_count", self.min_count, 0, 2**62)
        check_integer("word_ngrams", self.word_ngrams, 1, 1000)
        check_integer("min_n", self.min_n, 0, 1000)
        check_integer("max_n", self.max_n, 0, 1000)
        check_integer("buckets", self.buckets, 0, 2**31 - 1)
        if self.buckets == 0 and (self.word_ngrams > 1 or self.max_n > 0):
            refuse("buckets", "at least 1 where there are n-grams", self.buckets)

    @property
    def n_buckets(self) -> int:
        """Buckets that can be used: none where there are no n-grams."""
        return int(self.buckets) if self.word_ngrams > 1 or self.max_n > 0 else 0


def count_words(
    texts: tuple[Any, ...] | None, path: str, settings: TextSettings, progress: ProgressArgument = None
) -> _core.TextCorpus:
    """Read all texts, in memory or of the file `path`, once: their words, labels and n-grams."""
    settings.validate()
    corpus = _core.TextCorpus(
        texts, path, int(settings.word_ngrams), int(settings.min_n), int(settings.max_n), settings.n_buckets
    )
    with watch("Counting words", corpus.n_bytes, progress) as advance:
        corpus.count(int(settings.min_count), MOST_ENTRIES, advance)
    if corpus.n_words + corpus.n_bucket_rows == 0:
        message = f"no word occurs {settings.min_count} times: there is nothing to learn from (min_count)"
        raise InputError(message)
    return corpus


def tfidf_bag(corpus: _core.TextCorpus, *, progress: ProgressArgument = None) -> tuple[Any, Any]:
    """Return the texts as CSR (N, rows of the input) of tf-idf weights, and of a file also their labels.

    Words of two texts at least are in it, and n-grams of so many that they stay fewer than the words. On debian-depends
    a tree over all n-grams gave the same precision for three times the memory and time (docs/decisions/0011).
    """
    n_rows = corpus.n_words + corpus.n_bucket_rows
    with watch("Reading texts", 2 * corpus.n_bytes, progress) as advance:
        least_of_ngram = max(5, corpus.n_lines // 1000)
        indptr, columns, values, label_indptr, labels = corpus.bag(2, least_of_ngram, advance)
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
    random_state: int = 0,
    n_threads: int = 1,
    progress: ProgressArgument = None,
) -> TextStore:
    """Train a binary tree's units and the vectors of words and n-grams, on texts already counted.

    Parameters
    ----------
    Y : csr_array (N, L), optional
        The labels of texts in memory; those of a file stand in it.
    point_weights : array (N,), optional
        What a step on each text is multiplied with, over their mean.
    n_threads : int
        With one, the same seed gives the same bytes.
    """
    settings.validate()
    dim = int(settings.dim)
    n_rows = corpus.n_words + corpus.n_bucket_rows
    size = 4 * padded(dim) * (n_rows + tree.n_nodes)
    _logger.info("Training vectors: %d rows and %d nodes, %.0f MiB", n_rows, tree.n_nodes, size / MIB)
    inputs, outputs = zero_rows(n_rows, dim), zero_rows(tree.n_nodes, dim)
    _core.start_input(inputs.reshape(-1), dim, padded(dim), random_state, n_threads)
    n_tokens = corpus.n_tokens
    label_indptr = labels = weights = None
    if Y is not None:
        label_indptr, labels = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
        n_tokens += Y.nnz  # in a file they would be tokens too
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
            progress=advance,
        )
    if not (all_finite(inputs) and all_finite(outputs)):
        message = f"training left the range of float32: lr of {settings.lr} (or a sample_weight) is too large"
        raise InputError(message)
    return _store(corpus, settings, tree, inputs, outputs)


def _store(corpus: _core.TextCorpus, settings: TextSettings, tree: LabelTree, inputs: Any, outputs: Any) -> TextStore:
    # Labels of a file stand behind the words; texts to predict need them no more, their prefix tells what they are.
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
        n_buckets=settings.n_buckets,
    )
