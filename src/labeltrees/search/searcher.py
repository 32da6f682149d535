"""Searcher: finds the best labels of queries in one or several trees. Predictor: one query per call, for serving."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from labeltrees import _core
from labeltrees._losses import LOSSES
from labeltrees._matrices import Float32s, Int32s
from labeltrees._validation import check_choice, check_integer, check_n_jobs, check_number, refuse
from labeltrees.search.evidence import Evidence
from labeltrees.search.queries import LabelBoosts, label_weight_values, query_rows
from labeltrees.search.request import SearchRequest, describe_search
from labeltrees.search.result import SearchResult, SearchTrace
from labeltrees.storage import ChunkStore

NO_LABELS: Int32s = np.zeros(0, np.int32)
_ELSEWHERE = "send the model, or the folder where it is saved, and call model.predictor(...) in the other process"


class Predictor(_core.Predictor):
    """Predicts one query per call with little overhead; created by `LabelTreeClassifier.predictor`.

    ``predictor(context, k)`` takes what the model's encoder takes: a string, or a list of items.
    ``predictor(indices, values, k)`` takes the features of a query and their values, and ``predictor(row, k=k)`` one
    row of a CSR matrix or one dense row of all features. `k` is optional. It returns label ids (an array of int64), or
    their names (a list of str) if it was created with ``names=True``, and scores (an array of float32), best first.
    They are shorter than k only if fewer labels were found.

    Every call takes ``exclude=`` (labels not to return) and ``candidates=`` (the labels allowed): names, ids, or a set
    that `label_set` of the model prepared. A name that the model does not know is an error; `label_set` leaves it out.
    ``threshold=`` leaves out labels whose score is below it. ``label_weight=``, ``limits=`` and ``diversity=`` are as
    in `predict_topk`. Scores of a calibrated model are probabilities, unless the predictor was created with
    ``raw_scores=True``.

    `n_unknown` counts the items and words, over all calls, that the encoder did not know. A query without any known
    feature gets the most frequent labels, with their shares of the training points as scores; `n_no_features` counts
    such calls.

    Arrays are int32 or int64, and float32 or float64; indices and values can also be lists. Only ranges are checked;
    values of the same index are added.
    ``predictor.lists(...)`` takes the same arguments and returns lists of labels and of scores with six digits, which
    is faster for JSON output. Several threads can call a predictor at the same time: it releases the interpreter lock
    during the search. A call takes microseconds, so an event loop can make it directly, without a thread.

    A predictor cannot be pickled. In another process, load the saved model and call ``lt.load(folder).predictor(...)``:
    processes that load the same folder share its memory. Pickling the model also works, but copies it. A forked process
    can continue to use the predictor.

    Examples
    --------
    >>> import labeltrees as lt
    >>> model = lt.LabelTreeClassifier().fit(["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5)
    >>> answer = model.predictor(k=1, names=True)
    >>> answer("a red one")[0]
    ['apple']
    >>> answer
    Predictor(search with beam 10 for 1 label of 2; takes contexts, which its encoder reads)
    """

    description = ""  # set by the searcher that makes it

    def __repr__(self) -> str:
        return f"Predictor({self.description})"

    def __reduce__(self) -> NoReturn:
        """Raise TypeError with what to send to another process instead."""
        message = f"a Predictor cannot be pickled: {_ELSEWHERE}"
        raise TypeError(message)


# A node with log score s and discount d has the priority s - d * (PRIORITY_SCALE - s).
PRIORITY_SCALE: float = _core.PRIORITY_SCALE


class LabelSearcher:
    """Base class of the searchers of all families: label sets, label weights, label prior and retired labels."""

    _engine: Any
    _prior: Any
    retired: Int32s

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """Number of labels."""

    def label_set(self, labels: Any, names: _core.Names | None = None, *, packed: bool = False) -> _core.LabelSet:
        """Return labels prepared for many searches; `n_unknown` of the set counts unknown names.

        Parameters
        ----------
        labels : label ids or names
        names : native names of the labels, optional
        packed : bool
            Whether to pack the classifiers that lead to the labels, for faster exact searches. Of no effect in a text
            model.
        """
        found: _core.LabelSet = self._engine.label_set(labels, names)
        if packed:
            self.pack(found)
        return found

    def pack(self, labels: _core.LabelSet) -> None:
        """Pack the classifiers that lead to the labels of a set; searches with the set can run meanwhile."""
        if isinstance(self._engine, _core.SearchEngine):
            self._engine.pack_set(labels)

    def label_weights(self, weights: Any) -> _core.LabelWeights:
        """Return weights (one per label) prepared for many searches, for `label_weight` of a request."""
        found: _core.LabelWeights = self._engine.label_weights(label_weight_values(weights, self.n_labels))
        return found

    def set_prior(self, counts: Any, n_points: int | None) -> None:
        """Set the answer to queries without any feature: the most frequent labels, with their shares as scores.

        Parameters
        ----------
        counts : int64 (L,)
            The number of training points of each label.
        n_points : int or None
            The number of training points. With None (unknown), the answer is not set.
        """
        self._prior = (np.ascontiguousarray(counts, np.int64), n_points)
        if n_points is not None:
            self._engine.set_prior(self._prior[0], n_points)

    def set_retired(self, labels: Any) -> None:
        """Set the labels (ids) that no search returns, including those of existing predictors; restore all others."""
        self.retired = np.unique(np.asarray(labels, np.int32))
        self._engine.set_retired(self.retired)


class Searcher(LabelSearcher):
    """Finds labels in trees whose classifiers are stored as chunks.

    A label's score for a query is the product along its path of ``exp(-max(0, 1 - z) ** score_power)`` (squared hinge)
    or ``sigmoid(z)`` (logistic), where z is the margin of a classifier. With several trees, the score is the mean over
    the trees, and the k best labels of each tree are compared.

    Parameters
    ----------
    stores : ChunkStore or sequence of ChunkStore
        One per tree, over the same labels and features.
    loss : {"squared_hinge", "logistic"}
    score_power : float
    normalize : bool
        Divide every query by its Euclidean norm.
    evidence : Evidence, optional
        Adjusts the scores of the labels that the trees propose.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from labeltrees.storage import LinearWeights, pack_chunks
    >>> tree = SimpleNamespace(child_ptr=np.array([0, 2]), children=np.array([~0, ~1], np.int32), n_labels=2)
    >>> weights = LinearWeights(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32),
    ...                         np.zeros(2, np.float32))
    >>> searcher = Searcher(pack_chunks(tree, weights, n_features=2, node_mass=[1.0]))
    >>> searcher.topk(np.array([[0.0, 1.0]]), SearchRequest(k=1)).labels.tolist()
    [[1]]
    """

    def __init__(
        self,
        stores: ChunkStore | Sequence[ChunkStore],
        *,
        loss: str = "squared_hinge",
        score_power: float = 3.0,
        normalize: bool = False,
        evidence: Evidence | None = None,
    ) -> None:
        self.stores = (stores,) if isinstance(stores, ChunkStore) else tuple(stores)
        if not self.stores or not all(isinstance(store, ChunkStore) for store in self.stores):
            refuse("stores", "a ChunkStore or a sequence of them", stores)
        first = self.stores[0]
        for store in self.stores[1:]:
            if (store.n_labels, store.n_features, store.matrices) != (first.n_labels, first.n_features, first.matrices):
                refuse("stores", "over the same labels and features", [s.source for s in self.stores])
        self.loss = check_choice("loss", loss, tuple(LOSSES))
        self.score_power = check_number("score_power", score_power, 0.0, low_open=True)
        self.normalize = bool(normalize)
        self.evidence = evidence
        self._engine: _core.SearchEngine = self._make_engine()
        self._prior: Any = None
        self.retired: Int32s = NO_LABELS
        self.trend: Float32s | None = None
        self._trend_weights: _core.LabelWeights | None = None

    def _make_engine(self) -> _core.SearchEngine:
        first = self.stores[0]
        engine = _core.SearchEngine(
            first.n_features, first.n_labels, first.matrices, self.normalize, self.loss, self.score_power
        )
        for store in self.stores:
            engine.add_tree(
                store.chunks,
                store.offsets,
                store.feature_rank,
                store.child_ptr,
                store.children,
                store.checked,
                str(store.source),
                # Ceilings are valid only for queries of length 1.
                store.ceilings if self.normalize and LOSSES[self.loss].ceilings else None,
            )
        if self.evidence is not None:
            engine.set_evidence(self.evidence.native())
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
        """Return a searcher for one of the trees, without evidence."""
        if len(self.stores) == 1 and self.evidence is None:
            return self
        own = Searcher(self.stores[tree], loss=self.loss, score_power=self.score_power, normalize=self.normalize)
        own.set_retired(self.retired)
        return own

    def check(self) -> None:
        """Check all chunks now. Otherwise, chunks of a file are checked when a search first opens them."""
        self._engine.check_all()

    def topk(
        self, X: Any, request: SearchRequest | int = 5, *, n_jobs: int | None = None, stats: bool = False
    ) -> SearchResult:
        """Return the best labels of each query.

        Parameters
        ----------
        X : sparse matrix or array (n, n_features)
        request : SearchRequest or int
            An int k asks for the k best labels by exact search.
        n_jobs : int, optional
        stats : bool
            Whether to return what each search did.

        Returns
        -------
        SearchResult
            The result does not depend on `n_jobs`, and the list of a query does not depend on other queries.
        """
        request = SearchRequest.of(request)
        n_threads = check_n_jobs(n_jobs)
        rows = query_rows(X, self.n_features, n_threads)
        native = self._native(request, rows.n)
        found = self._engine.search(rows, native, n_threads, stats)
        return SearchResult.from_native(found, native.n_returned, max(request.k, request.n_candidates or 0))

    def trace(self, X: Any, request: SearchRequest | int = 5, *, tree: int = 0) -> SearchTrace:
        """Return the nodes that the search of each query opens in one of the trees."""
        tree = check_integer("tree", tree, 0, len(self.stores) - 1)
        rows = query_rows(X, self.n_features)
        return SearchTrace(*self._engine.trace(tree, rows, self._native(SearchRequest.of(request), rows.n)))

    def margins(self, X: Any, tree: int, node: int) -> Float32s:
        """Return the margins of a node's children (n, n_children) for queries.

        Queries are not normalised here, even if `normalize` is set; a search would divide each query by its norm first.
        """
        rows = query_rows(X, self.n_features)
        store = self.stores[check_integer("tree", tree, 0, len(self.stores) - 1)]
        node = check_integer("node", node, 0, store.n_nodes - 1)
        return self._engine.margins(tree, node, rows).reshape(rows.n, -1)

    def predictor(
        self,
        request: SearchRequest | int = 5,
        *,
        encoder: _core.Encoder | None = None,
        names: _core.Names | None = None,
        with_names: bool = False,
        label_of_feature: _core.Int32s | None = None,
    ) -> Predictor:
        """Return a `Predictor`: the same search for one query per call.

        With discounts, it always searches for the same number of labels; a call can ask for fewer.

        Parameters
        ----------
        request : SearchRequest or int
        encoder : native encoder, optional
            With an encoder, the predictor also takes contexts.
        names : native names of the labels, optional
            With names, a call can give labels by name.
        with_names : bool
            Return names instead of ids; needs `names`.
        label_of_feature : int32 (n_features,), optional
            For each feature, the label that is the same item, or -1. If given, the predictor leaves out the items of
            the context. Needs `names`.
        """
        if encoder is not None and encoder.n_features != self.n_features:
            refuse("encoder", f"one with {self.n_features} features", f"one with {encoder.n_features}")
        request = SearchRequest.of(request)
        native = self._native(request, 1)
        predictor = Predictor(self._engine, native, request.k, encoder, names, with_names, label_of_feature)
        takes = f"{self.n_features:,} features" if encoder is None else "contexts, which its encoder reads"
        predictor.description = f"{describe_search(request)} of {self.n_labels:,}; takes {takes}"
        return predictor

    def __repr__(self) -> str:
        trees = f"{len(self.stores)} tree" + ("" if len(self.stores) == 1 else "s")
        return f"Searcher({trees}, {self.n_labels:,} labels, {self.n_features:,} features, loss {self.loss})"

    def set_trend(self, weights: Any) -> None:
        """Set the trend: factors for the scores of labels (L,), prepared for many searches; None for no trend."""
        self.trend = None if weights is None else label_weight_values(weights, self.n_labels)
        self._trend_weights = None if self.trend is None else self._engine.label_weights(self.trend)

    def with_trend(self, weights: Any) -> Any:
        """Return label weights for a request, multiplied by the trend; prepared weights already include it."""
        if self.trend is None or isinstance(weights, _core.LabelWeights):
            return weights
        if isinstance(weights, LabelBoosts):
            return weights._replace(base=self._trend_weights)
        return self._trend_weights if weights is None else label_weight_values(weights, self.n_labels) * self.trend

    def _native(self, request: SearchRequest, n_queries: int) -> _core.SearchRequest:
        if request.discounts is not None:
            request.discounts.check_length(self.n_nodes)
        discounts = None if request.discounts is None else request.discounts.values
        return request.native(
            n_queries, self.n_labels, discounts, self._engine, evidence=request.evidence and self.evidence is not None
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_engine", "_trend_weights")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(
            {"evidence": None, "trend": None, "retired": NO_LABELS, **state}
        )  # older pickles lack some attributes
        self._engine = self._make_engine()
        if self._prior is not None:
            self.set_prior(*self._prior)
        self.set_trend(self.trend)
        self.set_retired(self.retired)
