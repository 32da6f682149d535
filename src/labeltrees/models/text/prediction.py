"""What a fitted text model answers."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from labeltrees._validation import check_integer
from labeltrees.data.dataset import Dataset
from labeltrees.models.common.early_stop_searches import TextSearches
from labeltrees.models.common.prediction import AnswerForms
from labeltrees.models.text.searcher import TextPredictor, Texts, TextSearcher
from labeltrees.tree.label_tree import LabelTree


class AnswersTexts(AnswerForms):
    """The predicting half of an estimator that has a `TextSearcher`."""

    KIND: ClassVar[str] = "TextLabelTreeClassifier"
    READS_TEXTS: ClassVar[bool] = True

    searcher_: TextSearcher
    tree_: LabelTree
    n_jobs: int | None

    def predict_topk(
        self,
        texts: Any,
        k: int = 5,
        *,
        agreement: float | None = None,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
        candidates: Any = None,
        exclude: Any = None,
        n_jobs: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Return the k best labels of each text, and their scores: exact, whatever the tree, unless told otherwise.

        Parameters
        ----------
        texts : n str
        k : int
        agreement : float, optional
            Stop early, so that at least this share of the lists is that of exact search. The promise is for texts of
            the distribution that `calibrate` has learnt from; 1 is exact search.
        max_chunks, max_microseconds : int, optional
            Budgets of each search, in nodes evaluated and in time; what they cut short is marked as partial in the
            stats.
        candidates : labels, or one list of labels a text, or sparse (n, L), optional
            The labels allowed, by name or by id; only their ancestors are searched.
        exclude : as candidates, optional
            Labels not to return.
        n_jobs : int, optional
            By default the model's own.
        return_stats : bool

        Returns
        -------
        labels : array (n, k)
            Best first: label ids padded with -1, or names padded with None where the labels have names. A text of
            which nothing is known has none.
        scores : array of float32 (n, k)
            In [0, 1], padded with 0.
        stats : SearchStats, if asked for
            What each search did: nodes evaluated (as `chunks` and `classifiers`), depth, microseconds,
            partial.
        """
        points = self.check_queries(texts)
        names = self._label_names
        if names is not None:
            candidates, exclude = names.ids("candidates", candidates), names.ids("exclude", exclude)
        n_searched, how = self.how_to_search(k, agreement, candidates=candidates, exclude=exclude)
        result = self.searcher_.topk(
            points,
            n_searched,
            **how,
            max_chunks=max_chunks,
            max_microseconds=max_microseconds,
            candidates=candidates,
            exclude=exclude,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
            stats=return_stats,
        ).of_length(k)
        labels = result.labels if names is None else names.take(result.labels)
        return (labels, result.scores, result.stats) if return_stats else (labels, result.scores)

    def predictor(
        self,
        k: int = 5,
        *,
        agreement: float | None = None,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
    ) -> TextPredictor:
        """Return a predictor for serving: one text in, the k best label ids and scores out.

        The arguments are those of `predict_topk`. With `agreement`, a call may ask for less than `k` labels, or for as
        many as `calibrate` has learnt next to it.
        """
        check_is_fitted(self, "searcher_")
        n_searched, how = self.how_to_search(k, agreement)
        return self.searcher_.predictor(
            k,
            **how,
            max_chunks=max_chunks,
            max_microseconds=max_microseconds,
            most=None if how["factors"] is None else n_searched,
        )

    def how_to_search(
        self, k: Any, agreement: float | None = None, *, candidates: Any = None, exclude: Any = None
    ) -> tuple[int, dict[str, Any]]:
        """Return how many labels `searcher_` is asked for, and the other arguments, so that k labels are as wanted."""
        if agreement is None:
            return k, {"factors": None}
        n_searched, factors = self._promised(k, agreement, candidates=candidates, exclude=exclude)
        return n_searched, {"factors": factors}

    def predict_proba(self, texts: Any, k: int | None = None) -> Any:
        """Return the probabilities of the k best labels of each text as CSR (n, L).

        Those of one label drawn from a text's labels; after `calibrate`, those of the text having the label.
        """
        return self._probabilities(texts, k)

    def check_queries(self, X: Any, n_jobs: int | None = None) -> Texts:
        """Return texts in the form that `searcher_` takes."""
        check_is_fitted(self, "searcher_")
        return X if isinstance(X, Texts) else Texts(X)

    @property
    def takes_texts(self) -> bool:
        """Whether the model takes texts as input: always."""
        return True

    @property
    def trees_(self) -> list[LabelTree]:
        """The tree, as a list."""
        return [self.tree_]

    def queries(self, dataset: Dataset) -> Any:
        """Return the texts of a dataset, which this model reads."""
        return dataset.texts

    def searches(self) -> TextSearches:
        """Return the searches that early stopping and profiling need."""
        return TextSearches(self.searcher_, self.n_jobs)

    def _topk(self, X: Any, k: Any) -> tuple[Any, Any]:
        k = min(check_integer("k", k, 1), self.searcher_.n_labels)
        result = self.searcher_.topk(X, k, n_jobs=self.n_jobs)
        return result.labels, result.scores
