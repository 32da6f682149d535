"""Search for the best labels of texts, predictors for single texts, and prediction for estimators that read texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labeltrees import _core
from labeltrees._matrices import Int32s
from labeltrees._validation import check_n_jobs, refuse
from labeltrees.data.columns import check_no_missing, column_list
from labeltrees.data.dataset import Dataset
from labeltrees.errors import InputError
from labeltrees.models.common.early_stop import log_scores
from labeltrees.models.common.explanation import LabelExplanation, explain_by_leaving_out
from labeltrees.models.common.prediction import PredictionMixin
from labeltrees.models.text.store import TextStore
from labeltrees.search import NodeValues
from labeltrees.search.request import SearchRequest, describe_search
from labeltrees.search.result import SearchResult, SearchTrace
from labeltrees.search.searcher import NO_LABELS, LabelSearcher
from labeltrees.tree.label_tree import LabelTree


class Texts:
    """A sequence of texts. Native code checks that each of them is a str or bytes."""

    def __init__(self, texts: Any) -> None:
        texts = column_list(texts)
        if isinstance(texts, str | bytes) or not (isinstance(texts, Sequence) or hasattr(texts, "__array__")):
            refuse("texts", "a sequence of str", texts)
        if hasattr(texts, "__array__"):
            texts = np.asarray(texts)
            if texts.ndim != 1:
                refuse("texts", "a sequence of str", f"an array of shape {texts.shape}")
            texts = texts.tolist()
        check_no_missing("texts", texts)
        self.items = tuple(texts)

    @property
    def shape(self) -> tuple[int]:
        """The number of texts, as a shape (n,)."""
        return (len(self.items),)

    def __getitem__(self, rows: NDArray[Any]) -> Texts:
        return Texts([self.items[row] for row in rows.tolist()])


def texts_of(texts: Any) -> tuple[Any, ...]:
    """Return the texts given to `fit`, or those of a Dataset."""
    if isinstance(texts, Dataset):
        if texts.texts is None:
            message = "the Dataset has no texts, and a TextLabelTreeClassifier reads texts"
            raise InputError(message)
        texts = texts.texts
    return Texts(texts).items


class TextPredictor(_core.TextPredictor):
    """Predicts one text per call with little overhead; created by `TextLabelTreeClassifier.predictor`.

    ``predictor(text, k)`` returns label ids (an array of int64), or their names (a list of str) if it was created with
    ``names=True``, and scores (an array of float32), best first. `k` is optional. ``predictor.lists(...)`` takes the
    same arguments and returns lists.

    Every call also takes ``exclude=`` and ``candidates=`` (names, ids, or a set that `label_set` of the model
    prepared), ``label_weight=``, ``limits=``, ``threshold=`` and ``diversity=``. A text without any known word gets the
    most frequent labels; `n_no_features` counts such calls. Several threads can call a predictor at the same time: it
    releases the interpreter lock during the search.
    """

    description = ""  # set by the searcher that makes it

    def __repr__(self) -> str:
        return f"TextPredictor({self.description})"


class TextSearcher(LabelSearcher):
    """Finds the best labels of texts, by default exactly.

    A label's score is the product of the probabilities along its path, at most 1. As in fastText, 1e-5 is added to each
    probability.

    Parameters
    ----------
    store : TextStore
    """

    def __init__(self, store: TextStore) -> None:
        self.store = store
        self._engine: _core.TextEngine = self._make_engine()
        self._prior: Any = None
        self.retired: Int32s = NO_LABELS

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
        """Return the rows of `input` for the features of a text, and the number of features with or without a row."""
        return self._engine.features(text)

    def topk(
        self, texts: Texts, request: SearchRequest | int = 5, *, n_jobs: int | None = None, stats: bool = False
    ) -> SearchResult:
        """Return the best labels of each text, as `Searcher.topk` does for features.

        The search has no beam and ignores `search` and `beam` of the request. In the stats, both `chunks` and
        `classifiers` are the number of nodes evaluated.
        """
        request = SearchRequest.of(request)
        native = self._native(request, len(texts.items))
        found = self._engine.search(texts.items, native, check_n_jobs(n_jobs), stats)
        return SearchResult.from_native(found, native.k, request.k)

    def trace(self, texts: Texts, request: SearchRequest | int = 5) -> SearchTrace:
        """Return the nodes that the search of each text evaluates, in order."""
        native = self._native(SearchRequest.of(request), len(texts.items))
        return SearchTrace(*self._engine.trace(texts.items, native))

    def predictor(
        self, request: SearchRequest | int = 5, *, names: _core.Names | None = None, with_names: bool = False
    ) -> TextPredictor:
        """Return a `TextPredictor`: the same search for one text per call, as `Searcher.predictor` does.

        With discounts, it always searches for the same number of labels; a call can ask for fewer.
        """
        request = SearchRequest.of(request)
        predictor = TextPredictor(self._engine, self._native(request, 1), request.k, names, with_names)
        predictor.description = f"{describe_search(request)} of {self.n_labels:,}; takes a text"
        return predictor

    def __repr__(self) -> str:
        return f"TextSearcher({self.n_labels:,} labels, {self.store.n_words:,} words)"

    def _native(self, request: SearchRequest, n_queries: int) -> _core.SearchRequest:
        if request.discounts is not None:
            request.discounts.check_length(self.store.tree.n_nodes)
        discounts = None if request.discounts is None else request.discounts.factors
        return request.native(n_queries, self.n_labels, discounts, self._engine)

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "_prior": self._prior, "retired": self.retired}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"retired": NO_LABELS, **state})  # older pickles lack some attributes
        self._engine = self._make_engine()
        if self._prior is not None:
            self.set_prior(*self._prior)
        self.set_retired(self.retired)


class TextSearches:
    """The exact, discounted and traced searches of a text model, which has one tree."""

    def __init__(self, searcher: TextSearcher, n_jobs: int | None = None) -> None:
        self.searcher = searcher
        self.trees = [searcher.store.tree]
        self.n_jobs = n_jobs

    def lists(
        self, X: Texts, k: int, discounts: NodeValues | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels found (n, k), and the number of nodes opened (n,)."""
        result = self.searcher.topk(X, SearchRequest(k, discounts=discounts), n_jobs=self.n_jobs, stats=True)
        assert result.stats is not None
        return result.labels, result.stats.chunks

    def tree_lists(self, X: Texts, tree: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best labels (n, k), and the logarithms of their scores."""
        result = self.searcher.topk(X, k, n_jobs=self.n_jobs)
        return result.labels, log_scores(result.scores)

    def trace(self, X: Texts, tree: int, k: int) -> SearchTrace:
        """Return the nodes that an exact search evaluates."""
        return self.searcher.trace(X, k)

    def required_discounts(self, scores: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest discount at which nodes with these log scores are skipped for these limits."""
        return scores - limits


class TextPredictionMixin(PredictionMixin):
    """Prediction for an estimator that has a `TextSearcher`, which always searches exactly."""

    KIND: ClassVar[str] = "TextLabelTreeClassifier"
    READS_TEXTS: ClassVar[bool] = True
    UNSUPPORTED: ClassVar[tuple[str, ...]] = ("search", "beam", "evidence")

    searcher_: TextSearcher
    tree_: LabelTree

    def _explainer(self, x: Any, points: Any) -> Callable[[int, Any], LabelExplanation]:
        def log_scores(texts: list[str], label: int) -> Any:
            found = self.searcher_.topk(self.check_queries(texts), SearchRequest(1, candidates=[label]))
            # A score can be 0, and its logarithm must be finite.
            return np.log(np.maximum(found.scores[:, 0], np.finfo(np.float32).tiny))

        return lambda label, name: explain_by_leaving_out(
            x, lambda texts: log_scores(texts, label), label, name, self.calibration_
        )

    @property
    def takes_texts(self) -> bool:
        """Whether the model takes texts as input: always."""
        return True

    @property
    def encoder_(self) -> None:
        """No encoder: the model reads texts itself."""

    @property
    def trees_(self) -> list[LabelTree]:
        """The tree, as a list."""
        return [self.tree_]

    def queries(self, dataset: Dataset) -> Any:
        """Return the texts of a dataset, which this model reads."""
        if dataset.texts is None:
            message = f"the Dataset has no texts, and a {self.KIND} reads texts"
            raise InputError(message)
        return dataset.texts

    def check_queries(self, X: Any, n_jobs: int | None = None) -> Texts:
        """Return texts in the form that `searcher_` takes."""
        check_is_fitted(self, "searcher_")
        return X if isinstance(X, Texts) else Texts(X)

    def _compact(self, kept: NDArray[np.bool_]) -> None:
        message = "a TextLabelTreeClassifier cannot be compacted: the units of its nodes would lose their meaning"
        raise InputError(message)

    def _has_classifier(self) -> NDArray[np.bool_]:
        return np.asarray(self.tree_.label_parent >= 0)

    def sizes(self) -> dict[str, int | None]:
        """Return the numbers of words, of n-grams and of weights."""
        store = self.searcher_.store
        n_rows, n_nodes = len(store.input), len(store.output)
        return {
            "n_words": store.n_words,
            "n_ngrams": n_rows - store.n_words,
            "n_weights": (n_rows + n_nodes) * store.dim,
        }

    def searches(self) -> TextSearches:
        """Return the searches that early stopping and profiling need."""
        return TextSearches(self.searcher_, self.n_jobs)
