"""What a fitted linear model answers: the best labels of points, in every form users ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from labeltrees._validation import check_choice, check_integer
from labeltrees.data.dataset import Dataset
from labeltrees.errors import InputError
from labeltrees.models.common.early_stop_searches import LinearSearches
from labeltrees.models.common.prediction import AnswerForms
from labeltrees.models.linear.points import check_points
from labeltrees.models.linear.text_features import text_features
from labeltrees.search import Predictor, Searcher
from labeltrees.search.request import MODES
from labeltrees.tree.label_tree import LabelTree

AS_FITTED: Any = "as fitted"


class NotCalibratedError(InputError, AttributeError):
    """The model has no probabilities; an AttributeError, so that hasattr tells whether it has."""


class AnswersTopK(AnswerForms):
    """The predicting half of an estimator that has a searcher.

    An estimator sets `searcher_`, `trees_`, `calibration_`, `early_stop_` and `_label_names` when it is fitted.
    """

    KIND: ClassVar[str] = "LabelTreeClassifier"
    READS_TEXTS: ClassVar[bool] = False

    searcher_: Searcher
    trees_: list[LabelTree]
    vectorizer_: Any
    search: str
    beam: int | None
    n_jobs: int | None

    # The best labels.

    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        search: str | None = None,
        beam: int | None = AS_FITTED,
        prune: bool = True,
        agreement: float | None = None,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
        candidates: Any = None,
        exclude: Any = None,
        n_jobs: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Return the k best labels of each point, and their scores.

        Parameters
        ----------
        X : sparse or dense matrix (n, d), or n texts where the model was fitted on texts
        k : int
        search, beam, prune
            Other than the model's own: `search` "best_first" or "beam", `beam` None for the exact k best.
        agreement : float, optional
            Instead of `search` and `beam`: stop early, so that at least this share of the lists is that of exact
            search. The promise is for points of the distribution that `calibrate` has learnt from; 1 is exact search.
        max_chunks, max_microseconds : int, optional
            Budgets of each search; what they cut short is marked as partial in the stats.
        candidates : labels, or one list of labels a point, or sparse (n, L), optional
            The labels allowed, by name or by id; only their ancestors are searched.
        exclude : as candidates, optional
            Labels not to return.
        n_jobs : int, optional
            By default the model's own.
        return_stats : bool

        Returns
        -------
        labels : array (n, k)
            Best first: label ids padded with -1, or names padded with None where the labels have names.
        scores : array of float32 (n, k)
            In [0, 1], padded with 0.
        stats : SearchStats, if asked for
            What each search did: chunks, classifiers, depth, microseconds, partial.
        """
        X = self.check_queries(X, n_jobs)
        names = self._label_names
        if names is not None:
            candidates, exclude = names.ids("candidates", candidates), names.ids("exclude", exclude)
        n_searched, how = self.how_to_search(
            k, agreement, search=search, beam=beam, candidates=candidates, exclude=exclude
        )
        result = self.searcher_.topk(
            X,
            n_searched,
            **how,
            prune=prune,
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
        search: str | None = None,
        beam: int | None = AS_FITTED,
        agreement: float | None = None,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
    ) -> Predictor:
        """Return a `Predictor` for serving: one query in, the k best label ids and scores out, nothing around it.

        It takes a string where the model was fitted on texts, and goes from it to the labels in native code. The
        arguments are those of `predict_topk`. With `agreement`, a call may ask for less than `k` labels, or for as many
        as `calibrate` has learnt next to it.
        """
        check_is_fitted(self, "searcher_")
        vectorizer = getattr(self, "vectorizer_", None)
        n_searched, how = self.how_to_search(k, agreement, search=search, beam=beam)
        return self.searcher_.predictor(
            k,
            **how,
            most=None if how["losses"] is None else n_searched,
            max_chunks=max_chunks,
            max_microseconds=max_microseconds,
            vectorizer=None if vectorizer is None else vectorizer.get_state().native,
        )

    @property
    def predict_proba(self) -> Callable[..., Any]:
        """``predict_proba(X, k=None)`` returns the probabilities of the k best labels of each point as CSR (n, L).

        With ``loss="logistic"`` these are the scores; otherwise it is there once `calibrate` has been called.
        """
        check_is_fitted(self, "searcher_")
        if self.searcher_.loss != "logistic" and self.calibration_ is None:
            message = "predict_proba needs loss='logistic', or calibrate(X, Y) on points the model has not seen"
            raise NotCalibratedError(message)
        return self._probabilities

    # How all of these ask.

    @property
    def takes_texts(self) -> bool:
        """Whether the model was fitted on texts, so that it takes texts as input."""
        return getattr(self, "vectorizer_", None) is not None

    def queries(self, dataset: Dataset) -> Any:
        """Return the features of a dataset, which this model reads."""
        return dataset.X

    def check_queries(self, X: Any, n_jobs: int | None = None) -> Any:
        """Return points in the form that `searcher_` takes; texts become features."""
        check_is_fitted(self, "searcher_")
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        return check_points(self, text_features(self, X, n_jobs), fitting=False, n_jobs=n_jobs)

    def how_to_search(
        self,
        k: Any,
        agreement: float | None = None,
        *,
        search: str | None = None,
        beam: int | None = AS_FITTED,
        candidates: Any = None,
        exclude: Any = None,
    ) -> tuple[int, dict[str, Any]]:
        """Return how many labels `searcher_` is asked for, and the other arguments, so that k labels are as wanted."""
        if agreement is None:
            return k, {**self._how(search, beam), "losses": None}
        n_searched, losses = self._promised(
            k,
            agreement,
            search=None if search == "best_first" else search,
            beam=None if beam is AS_FITTED else beam,
            candidates=candidates,
            exclude=exclude,
        )
        return n_searched, {"mode": "best_first", "beam": None, "losses": losses}

    def searches(self) -> LinearSearches:
        """Return the searches that early stopping and profiling need."""
        return LinearSearches(self.searcher_, self.trees_, self.n_jobs)

    def _how(self, search: str | None = None, beam: int | None = AS_FITTED) -> dict[str, Any]:
        mode = check_choice("search", self.search if search is None else search, MODES)
        return {"mode": mode, "beam": self.beam if beam is AS_FITTED else beam}

    def _topk(self, X: Any, k: Any) -> tuple[Any, Any]:
        k = min(check_integer("k", k, 1), self.searcher_.n_labels)
        result = self.searcher_.topk(X, k, **self._how(), n_jobs=self.n_jobs)
        return result.labels, result.scores
