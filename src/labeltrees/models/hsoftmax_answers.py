"""What a fitted text model answers."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from labeltrees._validation import check_integer
from labeltrees.models.answer_forms import AnswerForms
from labeltrees.models.hsoftmax_searcher import TextPredictor, Texts, TextSearcher


class AnswersTexts(AnswerForms):
    """The predicting half of an estimator that has a `TextSearcher`."""

    searcher_: TextSearcher
    n_jobs: int | None

    def predict_topk(
        self,
        texts: Any,
        k: int = 5,
        *,
        candidates: Any = None,
        exclude: Any = None,
        n_jobs: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Return the k best labels of each text, and their scores: exact, whatever the tree.

        Parameters
        ----------
        texts : n str
        k : int
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
            What each search did: nodes evaluated (as `chunks` and `classifiers`), depth, microseconds.
        """
        points = self._queries(texts)
        names = self._label_names
        if names is not None:
            candidates, exclude = names.ids("candidates", candidates), names.ids("exclude", exclude)
        result = self.searcher_.topk(
            points,
            k,
            candidates=candidates,
            exclude=exclude,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
            stats=return_stats,
        )
        labels = result.labels if names is None else names.take(result.labels)
        return (labels, result.scores, result.stats) if return_stats else (labels, result.scores)

    def predictor(self, k: int = 5) -> TextPredictor:
        """Return a predictor for serving: one text in, the k best label ids and scores out."""
        check_is_fitted(self, "searcher_")
        return self.searcher_.predictor(k)

    def predict_proba(self, texts: Any, k: int | None = None) -> Any:
        """Return the probabilities of the k best labels of each text as CSR (n, L).

        Those of one label drawn from a text's labels; after `calibrate`, those of the text having the label.
        """
        return self._probabilities(texts, k)

    def _queries(self, X: Any) -> Any:
        check_is_fitted(self, "searcher_")
        return X if isinstance(X, Texts) else Texts(X)

    def _topk(self, X: Any, k: Any) -> tuple[Any, Any]:
        k = min(check_integer("k", k, 1), self.searcher_.n_labels)
        result = self.searcher_.topk(X, k, n_jobs=self.n_jobs)
        return result.labels, result.scores
