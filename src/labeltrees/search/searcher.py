"""Searcher: the k best labels of many queries, over one tree or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._validation import check_choice, check_integer, check_n_jobs, check_number, refuse
from labeltrees.search.node_values import PerNode
from labeltrees.search.predictor import Predictor
from labeltrees.search.queries import check_labels, check_rows
from labeltrees.search.request import SearchRequest
from labeltrees.search.result import SearchResult, SearchStats, SearchTrace
from labeltrees.storage import ChunkStore

LOSSES = ("squared_hinge", "logistic")
HOPE_SCALE: float = _core.HOPE_SCALE  # a node of log score s and loss t is taken for s - t * (HOPE_SCALE - s)


class Searcher:
    """Finds labels in trees whose classifiers are stored as chunks.

    A label's score for a query is the product along its path of ``exp(-max(0, 1 - z) ** score_power)`` (squared hinge)
    or ``sigmoid(z)`` (logistic), z being the margin of each classifier; with several trees it is the mean of the trees'
    scores, and the k best labels of each tree are compared.

    Parameters
    ----------
    stores : ChunkStore or sequence of ChunkStore
        One a tree, over the same labels and features.
    loss : {"squared_hinge", "logistic"}
    score_power : float
    normalize : bool
        Divide every query by its Euclidean norm.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from labeltrees.storage import LinearWeights, pack_chunks
    >>> tree = SimpleNamespace(child_ptr=np.array([0, 2]), children=np.array([~0, ~1], np.int32), n_labels=2)
    >>> weights = LinearWeights(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32),
    ...                         np.zeros(2, np.float32))
    >>> searcher = Searcher(pack_chunks(tree, weights, n_features=2, node_mass=[1.0]))
    >>> searcher.topk(np.array([[0.0, 1.0]]), k=1).labels
    array([[1]])
    """

    def __init__(
        self,
        stores: ChunkStore | Sequence[ChunkStore],
        *,
        loss: str = "squared_hinge",
        score_power: float = 3.0,
        normalize: bool = False,
    ) -> None:
        self.stores = (stores,) if isinstance(stores, ChunkStore) else tuple(stores)
        if not self.stores or not all(isinstance(store, ChunkStore) for store in self.stores):
            refuse("stores", "one ChunkStore or several", stores)
        first = self.stores[0]
        for store in self.stores[1:]:
            if (store.n_labels, store.n_features, store.matrices) != (first.n_labels, first.n_features, first.matrices):
                refuse("stores", "over the same labels and features", [s.source for s in self.stores])
        self.loss = check_choice("loss", loss, LOSSES)
        self.score_power = check_number("score_power", score_power, 0.0, low_open=True)
        self.normalize = bool(normalize)
        self._engine = self._make_engine()

    def _make_engine(self) -> _core.SearchEngine:
        power = self.score_power if self.loss == "squared_hinge" else 0.0
        first = self.stores[0]
        engine = _core.SearchEngine(first.n_features, first.n_labels, first.matrices, self.normalize, power)
        for store in self.stores:
            engine.add_tree(
                store.chunks,
                store.offsets,
                store.feature_rank,
                store.child_ptr,
                store.children,
                store.checked,
                str(store.source),
                # They are for queries of length 1, and for products of sigmoids.
                store.ceilings if self.normalize and self.loss == "logistic" else None,
            )
        return engine

    @property
    def n_features(self) -> int:
        """Number of features of a query."""
        return self.stores[0].n_features

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.stores[0].n_labels

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(len(store.offsets) for store in self.stores)

    def of_tree(self, tree: int) -> Searcher:
        """Return a searcher of one of the trees alone."""
        if len(self.stores) == 1:
            return self
        return Searcher(self.stores[tree], loss=self.loss, score_power=self.score_power, normalize=self.normalize)

    def check(self) -> None:
        """Check all chunks at once; those of a file are otherwise checked as searches come to them."""
        self._engine.check_all()

    def topk(
        self,
        X: Any,
        k: int = 5,
        *,
        mode: str = "best_first",
        beam: int | None = None,
        prune: bool = True,
        candidates: Any = None,
        exclude: Any = None,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
        losses: Any = None,
        n_jobs: int | None = None,
        stats: bool = False,
    ) -> SearchResult:
        """Return the k best labels of each query.

        Parameters
        ----------
        X : sparse matrix or array (n, n_features)
        k, mode, beam, prune, max_chunks, max_microseconds
            See `SearchRequest`.
        candidates : label ids, or n lists of label ids, or sparse (n, n_labels), optional
            Labels allowed, for all queries or for each; only their ancestors are searched.
        exclude : as candidates
            Labels not to return.
        losses : float32 (n_nodes of all trees, one after another), optional
            For "best_first": take a node of score s (a sum of logs) for ``s - loss * (HOPE_SCALE - s)``. The search
            goes first where most is to be hoped for, and ends when no hope reaches the k-th label found. 0 or more;
            with losses of 0 the search is exact. Scores returned are the true ones.
        n_jobs : int, optional
        stats : bool
            Whether to tell what the search did.

        Returns
        -------
        SearchResult
            The same whatever `n_jobs`, and whatever other queries there are.
        """
        request = SearchRequest(k, mode, beam, prune, max_chunks, max_microseconds)
        n_threads = check_n_jobs(n_jobs)
        rows = check_rows(X, self.n_features, n_threads)
        losses = self._check_losses(losses, request)
        allowed = check_labels("candidates", candidates, rows.n, self.n_labels)
        excluded = check_labels("exclude", exclude, rows.n, self.n_labels)
        labels = np.empty((rows.n, k), np.int64)
        scores = np.empty((rows.n, k), np.float32)
        told = SearchStats.empty(rows.n) if stats else None
        self._engine.search(
            rows.indptr,
            rows.features,
            rows.values,
            rows.n,
            *request.native(),
            losses,
            *allowed,
            *excluded,
            n_threads,
            labels.reshape(-1),
            scores.reshape(-1),
            *(told.native() if told else (None,) * 5),
        )
        return SearchResult(labels, scores, told)

    def trace(
        self,
        X: Any,
        k: int = 5,
        *,
        mode: str = "best_first",
        beam: int | None = None,
        prune: bool = True,
        losses: Any = None,
        tree: int = 0,
    ) -> SearchTrace:
        """Return which nodes the search of each query opens in one of the trees; the arguments are those of `topk`."""
        request = SearchRequest(k, mode, beam, prune)
        rows = check_rows(X, self.n_features)
        tree = check_integer("tree", tree, 0, len(self.stores) - 1)
        losses = self._check_losses(losses, request)
        return SearchTrace(
            *self._engine.trace(tree, rows.indptr, rows.features, rows.values, rows.n, *request.native(), losses)
        )

    def predictor(
        self,
        k: int = 5,
        *,
        mode: str = "best_first",
        beam: int | None = None,
        prune: bool = True,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
        losses: Any = None,
        most: int | None = None,
        vectorizer: _core.TextVectorizer | None = None,
    ) -> Predictor:
        """Return a `Predictor`: the same search for one query a call, with nothing around it.

        With `most` it always searches for so many labels, whatever k, returns the first k and refuses a larger k.
        With a `vectorizer` of as many features it takes texts too.
        """
        if vectorizer is not None and vectorizer.n_features != self.n_features:
            refuse("vectorizer", f"one of {self.n_features} features", f"one of {vectorizer.n_features}")
        request = SearchRequest(k, mode, beam, prune, max_chunks, max_microseconds)
        most = 0 if most is None else check_integer("most", most, k, 2**31 - 1)
        return Predictor(self._engine, *request.native(), self._check_losses(losses, request), most, vectorizer)

    def _check_losses(self, losses: Any, request: SearchRequest) -> Any:
        if losses is None:
            return None
        if request.mode != "best_first":
            refuse("losses", 'None with mode "beam"', "some")
        return PerNode.read("losses", losses, self.n_nodes, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._engine = self._make_engine()
