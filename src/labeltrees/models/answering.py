"""What a fitted model answers: the best labels of points, in every form users ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from labeltrees._matrices import check_sample_weight
from labeltrees._validation import check_choice, check_integer, check_number
from labeltrees.errors import InputError
from labeltrees.models.calibration import Calibration, fit_calibration
from labeltrees.models.label_names import LabelNames
from labeltrees.models.label_sets import carry, known_labels
from labeltrees.models.points import check_points
from labeltrees.models.texts import text_features
from labeltrees.search import Predictor, Searcher
from labeltrees.search.request import MODES

AS_FITTED: Any = "as fitted"
# Labels asked for at once where it is not known how many reach the threshold: 64 MB of labels and scores.
_CELLS_AT_ONCE = 2**22


class NotCalibratedError(InputError, AttributeError):
    """The model has no probabilities; an AttributeError, so that hasattr tells whether it has."""


class AnswersTopK:
    """The predicting half of an estimator that has a searcher.

    An estimator sets `searcher_`, `calibration_` and `_label_names` when it is fitted.
    """

    searcher_: Searcher
    calibration_: Calibration | None
    _label_names: LabelNames | None
    search: str
    beam: int | None
    k: int
    threshold: float | None
    n_jobs: int | None

    @property
    def label_names_(self) -> Any:
        """The names of the labels (L,), or None where they have none."""
        return None if self._label_names is None else self._label_names.array

    @property
    def classes_(self) -> Any:
        """The names of the labels (L,), or their ids where they have no names."""
        return np.arange(self.searcher_.n_labels) if self._label_names is None else self._label_names.array

    # The best labels.

    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        search: str | None = None,
        beam: int | None = AS_FITTED,
        prune: bool = True,
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
        X = self._queries(X, n_jobs)
        names = self._label_names
        if names is not None:
            candidates, exclude = names.ids("candidates", candidates), names.ids("exclude", exclude)
        result = self.searcher_.topk(
            X,
            k,
            **self._how(search, beam),
            prune=prune,
            max_chunks=max_chunks,
            max_microseconds=max_microseconds,
            candidates=candidates,
            exclude=exclude,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
            stats=return_stats,
        )
        labels = result.labels if names is None else names.take(result.labels)
        return (labels, result.scores, result.stats) if return_stats else (labels, result.scores)

    def predictor(
        self,
        k: int = 5,
        *,
        search: str | None = None,
        beam: int | None = AS_FITTED,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
    ) -> Predictor:
        """Return a `Predictor` for serving: one query in, the k best label ids and scores out, nothing around it.

        It takes a string where the model was fitted on texts, and goes from it to the labels in native code.
        """
        check_is_fitted(self, "searcher_")
        vectorizer = getattr(self, "vectorizer_", None)
        return self.searcher_.predictor(
            k,
            **self._how(search, beam),
            max_chunks=max_chunks,
            max_microseconds=max_microseconds,
            vectorizer=None if vectorizer is None else vectorizer.get_state().native,
        )

    # The same as sparse matrices.

    def predict_scores(self, X: Any, k: int | None = None) -> Any:
        """Return the scores of the k best labels of each point as CSR (n, L)."""
        X = self._queries(X)
        return self._as_matrix(*self._topk(X, self.k if k is None else k))

    def predict(self, X: Any) -> Any:
        """Return the predicted labels as a CSR indicator (n, L): the k best, or those that reach `threshold`."""
        X = self._queries(X)
        if self.threshold is None:
            matrix = self._as_matrix(*self._topk(X, self.k))
        else:
            matrix = self._reaching(X, check_number("threshold", self.threshold, 0, 1, low_open=True))
        matrix.data = np.ones(matrix.nnz, dtype=np.int32)
        return matrix

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

    def _probabilities(self, X: Any, k: int | None = None) -> Any:
        matrix = self.predict_scores(X, k)
        if self.calibration_ is not None:
            matrix.data[:] = self.calibration_(matrix.data)
        return matrix

    # Comparing with what is true.

    def calibrate(self, X: Any, Y: Any) -> Self:
        """Learn from points the model has not seen what its scores mean as probabilities, for `predict_proba`."""
        X = self._queries(X)
        Y = known_labels(Y, (X.shape[0], self.searcher_.n_labels), self._label_names)
        labels, scores = self._topk(X, max(check_integer("k", self.k, 1), 10))
        found = labels >= 0
        self.calibration_ = fit_calibration(scores[found], carry(Y, np.nonzero(found)[0], labels[found]))
        return self

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Return the precision at 1: the share of points whose best label is one of theirs."""
        X = self._queries(X)
        Y = known_labels(Y, (X.shape[0], self.searcher_.n_labels), self._label_names)
        labels, _ = self._topk(X, 1)
        best = labels[:, 0]
        if len(best) == 0:
            message = "score needs a point at least"
            raise InputError(message)
        hits = carry(Y, np.arange(len(best)), np.maximum(best, 0)) & (best >= 0)
        return float(np.average(hits, weights=check_sample_weight(sample_weight, len(best))))

    # How all of these ask.

    def _queries(self, X: Any, n_jobs: int | None = None) -> Any:
        check_is_fitted(self, "searcher_")
        X = text_features(self, X, self.n_jobs if n_jobs is None else n_jobs)
        return check_points(self, X, fitting=False)

    def _how(self, search: str | None = None, beam: int | None = AS_FITTED) -> dict[str, Any]:
        mode = check_choice("search", self.search if search is None else search, MODES)
        return {"mode": mode, "beam": self.beam if beam is AS_FITTED else beam}

    def _topk(self, X: Any, k: Any) -> tuple[Any, Any]:
        k = min(check_integer("k", k, 1), self.searcher_.n_labels)
        result = self.searcher_.topk(X, k, **self._how(), n_jobs=self.n_jobs)
        return result.labels, result.scores

    def _reaching(self, X: Any, threshold: float) -> Any:
        """Return the scores of all labels that reach `threshold`: ask those for more whose last label does."""
        n, n_labels = X.shape[0], self.searcher_.n_labels
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))]
        unfinished, k = np.arange(n), min(16, n_labels)
        while len(unfinished) > 0:
            ask_more = np.zeros(len(unfinished), dtype=bool)
            for first in range(0, len(unfinished), max(_CELLS_AT_ONCE // k, 1)):
                block = slice(first, first + max(_CELLS_AT_ONCE // k, 1))
                rows = unfinished[block]
                labels, scores = self._topk(X[rows], k)
                reached = (scores >= threshold) & (labels >= 0)
                ask_more[block] = reached[:, -1] & (k < n_labels)
                reached[ask_more[block]] = False
                found.append((rows[np.nonzero(reached)[0]], labels[reached], scores[reached]))
            unfinished = unfinished[ask_more]
            k = min(4 * k, n_labels)
        rows, labels, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(rows, kind="stable")
        return self._csr(np.bincount(rows, minlength=n), labels[order], scores[order])

    def _as_matrix(self, labels: Any, scores: Any) -> Any:
        found = labels >= 0
        return self._csr(found.sum(axis=1), labels[found], scores[found])

    def _csr(self, n_of_row: Any, labels: Any, scores: Any) -> Any:
        indptr = np.concatenate([[0], np.cumsum(n_of_row)])
        matrix = sp.csr_array((scores, labels, indptr), shape=(len(n_of_row), self.searcher_.n_labels))
        matrix.sort_indices()
        return matrix
