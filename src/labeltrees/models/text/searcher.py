"""Searching a trained text model: texts in, labels out, nothing but native code between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._validation import check_integer, check_n_jobs, refuse
from labeltrees.models.text.store import TextStore
from labeltrees.search.node_values import PerNode
from labeltrees.search.queries import check_labels
from labeltrees.search.request import SearchRequest
from labeltrees.search.result import SearchResult, SearchStats, SearchTrace


class Texts:
    """Some texts, checked to be a sequence; each is checked to be a str (or bytes) where it is read."""

    def __init__(self, texts: Any) -> None:
        if isinstance(texts, str | bytes) or not (isinstance(texts, Sequence) or hasattr(texts, "__array__")):
            refuse("texts", "a sequence of str", texts)
        if hasattr(texts, "__array__"):
            texts = np.asarray(texts)
            if texts.ndim != 1:
                refuse("texts", "a sequence of str", f"an array of shape {texts.shape}")
            texts = texts.tolist()
        self.items = tuple(texts)

    @property
    def shape(self) -> tuple[int]:
        """How many there are."""
        return (len(self.items),)

    def __getitem__(self, rows: NDArray[Any]) -> Texts:
        return Texts([self.items[row] for row in rows.tolist()])


class TextPredictor(_core.TextPredictor):
    """Answers one text a call, for serving; made by `TextLabelTreeClassifier.predictor`.

    ``predictor(text, k=None)`` returns two arrays, label ids (int64) and scores (float32), best first. Any number of
    threads may call it at once: the interpreter lock is released while it searches.
    """


class TextSearcher:
    """Finds the k best labels of texts, exactly unless told otherwise.

    A label's score is the product along its path of the probabilities of the branches taken, each raised by 1e-5 as
    fastText does, and at most 1.

    Parameters
    ----------
    store : TextStore
    """

    def __init__(self, store: TextStore) -> None:
        self.store = store
        self._engine = self._make_engine()

    def _make_engine(self) -> _core.TextEngine:
        store = self.store
        return _core.TextEngine(
            text=store.words,
            ends=store.word_ends,
            n_words=store.n_words,
            slots=store.word_slots,
            buckets=store.buckets,
            word_ngrams=store.word_ngrams,
            min_n=store.min_n,
            max_n=store.max_n,
            n_buckets=store.n_buckets,
            input=store.input.reshape(-1),
            output=store.output.reshape(-1),
            dim=store.dim,
            stride=store.input.shape[1],
            child_ptr=store.child_ptr,
            children=store.children,
            n_labels=store.n_labels,
            height=store.tree.height,
        )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.store.n_labels

    def features(self, text: str | bytes) -> tuple[Any, int]:
        """Return the rows of `input` that a text has, and how many features it has with those that have no row."""
        return self._engine.features(text)

    def topk(
        self,
        texts: Texts,
        k: int = 5,
        *,
        candidates: Any = None,
        exclude: Any = None,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
        factors: Any = None,
        n_jobs: int | None = None,
        stats: bool = False,
    ) -> SearchResult:
        """Return the k best labels of each text; the arguments are those of `Searcher.topk`, but for `factors`.

        `factors` are float32 (n_nodes,) of 0 to 1: a node is taken for its score times its factor, and the search ends
        when no such hope reaches the k-th label found. Budgets count nodes evaluated as chunks.
        """
        asked = self._native(SearchRequest(k, max_chunks=max_chunks, max_microseconds=max_microseconds), factors)
        (n,) = texts.shape
        allowed = check_labels("candidates", candidates, n, self.n_labels)
        excluded = check_labels("exclude", exclude, n, self.n_labels)
        labels = np.empty((n, k), np.int64)
        scores = np.empty((n, k), np.float32)
        told = SearchStats.empty(n) if stats else None
        wanted: Any = (None,) * 4
        if told:
            wanted = (told.chunks, told.depth, told.microseconds, told.partial.view(np.uint8))
        self._engine.search(
            texts.items,
            *asked,
            *allowed,
            *excluded,
            check_n_jobs(n_jobs),
            labels.reshape(-1),
            scores.reshape(-1),
            *wanted,
        )
        if told:
            told.classifiers[:] = told.chunks
        return SearchResult(labels, scores, told)

    def trace(self, texts: Texts, k: int = 5, *, factors: Any = None) -> SearchTrace:
        """Return which nodes the search of each text evaluates, in order."""
        k, _, _, checked = self._native(SearchRequest(k), factors)
        return SearchTrace(*self._engine.trace(texts.items, min(k, self.n_labels), checked))

    def predictor(
        self,
        k: int = 5,
        *,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
        factors: Any = None,
        most: int | None = None,
    ) -> TextPredictor:
        """Return a `TextPredictor`; the arguments are those of `topk`.

        With `most` it always searches for so many labels, whatever k, returns the first k and refuses a larger k.
        """
        request = SearchRequest(k, max_chunks=max_chunks, max_microseconds=max_microseconds)
        most = 0 if most is None else check_integer("most", most, k, 2**31 - 1)
        return TextPredictor(self._engine, *self._native(request, factors), most)

    def _native(self, request: SearchRequest, factors: Any) -> tuple[int, int, int, Any]:
        k, _, _, _, max_nodes, max_microseconds = request.native()
        return k, max_nodes, max_microseconds, PerNode.read("factors", factors, self.store.tree.n_nodes, 0.0, 1.0)

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._engine = self._make_engine()
