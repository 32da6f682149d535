"""What a fitted model answers: the best labels of points, in every form users ask for."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from labeltrees._matrices import check_sample_weight
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError
from labeltrees.models.calibration import Calibration, fit_calibration
from labeltrees.models.label_sets import align_labels, name_ids, read_label_sets
from labeltrees.search import Predictor, Searcher

AS_FITTED: Any = "as fitted"


class AnswersTopK:
    """The predicting half of an estimator that has a searcher."""

    searcher_: Searcher
    calibration_: Calibration | None
    classes_: Any
    label_names_: Any
    n_features_in_: int
    loss: str
    search: str
    beam: int | None
    k: int
    threshold: float | None
    n_jobs: int | None

    def _check_queries(self, X: Any) -> Any:
        if not sp.issparse(X):
            return validate_data(self, X, dtype=np.float32, reset=False)
        # Sparse matrices have no names of columns: scikit-learn would warn that they lack those `fit` was told.
        X = check_array(X, accept_sparse="csr", dtype=np.float32)
        if X.shape[1] != self.n_features_in_:
            name = type(self).__name__
            message = f"X has {X.shape[1]} features, but {name} is expecting {self.n_features_in_} features as input"
            raise InputError(message)
        return X

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
        X : sparse or dense matrix (n, d)
        k : int
        search, beam, prune
            Other than the model's own: `search` "best_first" or "beam", `beam` None for the exact k best.
        max_chunks, max_microseconds : int, optional
            Budgets of each search; what they cut short is marked as partial in the stats.
        candidates : labels, or one list of labels a point, or sparse (n, L), optional
            The labels allowed; only their ancestors are searched.
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
        check_is_fitted(self, "searcher_")
        X = self._check_queries(X)
        result = self.searcher_.topk(
            X,
            k,
            mode=self.search if search is None else search,
            beam=self.beam if beam is AS_FITTED else beam,
            prune=prune,
            max_chunks=max_chunks,
            max_microseconds=max_microseconds,
            candidates=self._label_ids("candidates", candidates),
            exclude=self._label_ids("exclude", exclude),
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
            stats=return_stats,
        )
        labels = self._named(result.labels)
        return (labels, result.scores, result.stats) if return_stats else (labels, result.scores)

    def predict_scores(self, X: Any, k: int | None = None) -> Any:
        """Return the scores of the k best labels of each point as CSR (n, L)."""
        check_is_fitted(self, "searcher_")
        X = self._check_queries(X)
        return self._as_matrix(*self._topk(X, self.k if k is None else check_integer("k", k, 1)))

    def predict(self, X: Any) -> Any:
        """Return the predicted labels as a CSR indicator (n, L): the k best, or those that reach `threshold`."""
        check_is_fitted(self, "searcher_")
        X = self._check_queries(X)
        labels, scores = self._topk(X, self.k) if self.threshold is None else self._reaching(X, float(self.threshold))
        matrix = self._as_matrix(labels, scores)
        matrix.data[:] = 1.0
        return matrix

    def predict_proba(self, X: Any, k: int | None = None) -> Any:
        """Return the probabilities of the k best labels of each point as CSR (n, L).

        With ``loss="logistic"`` these are the scores; otherwise `calibrate` must have been called with labels.
        """
        check_is_fitted(self, "searcher_")
        if self.loss != "logistic" and self.calibration_ is None:
            message = "predict_proba needs loss='logistic', or calibrate(X, Y) on points the model has not seen"
            raise InputError(message)
        matrix = self.predict_scores(X, k)
        if self.calibration_ is not None:
            matrix.data[:] = self.calibration_(matrix.data)
        return matrix

    def calibrate(self, X: Any, Y: Any) -> Self:
        """Learn from points the model has not seen what its scores mean as probabilities, for `predict_proba`."""
        check_is_fitted(self, "searcher_")
        X = self._check_queries(X)
        Y = self._known_labels(Y, X.shape[0])
        labels, scores = self._topk(X, max(self.k, 10))
        found = labels >= 0
        rows = np.nonzero(found)[0]
        hits = np.asarray(Y[rows, labels[found]]).ravel() > 0
        self.calibration_ = fit_calibration(scores[found], hits)
        return self

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Return the precision at 1: the share of points whose best label is one of theirs."""
        check_is_fitted(self, "searcher_")
        X = self._check_queries(X)
        Y = self._known_labels(Y, X.shape[0])
        labels, _ = self._topk(X, 1)
        best = labels[:, 0]
        hits = (np.asarray(Y[np.arange(len(best)), np.maximum(best, 0)]).ravel() > 0) & (best >= 0)
        return float(np.average(hits, weights=check_sample_weight(sample_weight, len(best))))

    def predictor(
        self,
        k: int = 5,
        *,
        search: str | None = None,
        beam: int | None = AS_FITTED,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
    ) -> Predictor:
        """Return a `Predictor` for serving: one query in, the k best label ids and scores out, nothing around it."""
        check_is_fitted(self, "searcher_")
        return self.searcher_.predictor(
            k,
            mode=self.search if search is None else search,
            beam=self.beam if beam is AS_FITTED else beam,
            max_chunks=max_chunks,
            max_microseconds=max_microseconds,
        )

    def _topk(self, X: Any, k: int, beam: int | None = AS_FITTED) -> tuple[Any, Any]:
        beam = self.beam if beam is AS_FITTED else beam
        result = self.searcher_.topk(X, k, mode=self.search, beam=beam, n_jobs=self.n_jobs)
        return result.labels, result.scores

    def _reaching(self, X: Any, threshold: float) -> tuple[Any, Any]:
        """Return enough of the best labels that every one that reaches `threshold` is among them."""
        n_labels = len(self.classes_)
        k = min(16, n_labels)
        while True:
            labels, scores = self._topk(X, k)
            if k >= n_labels or not (scores[:, -1] >= max(threshold, 1e-30)).any():
                return np.where(scores >= threshold, labels, -1), scores
            k = min(4 * k, n_labels)

    def _as_matrix(self, labels: Any, scores: Any) -> Any:
        found = labels >= 0
        indptr = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
        matrix = sp.csr_array((scores[found], labels[found], indptr), shape=(len(labels), len(self.classes_)))
        matrix.sort_indices()
        return matrix

    def _named(self, labels: Any) -> Any:
        if self.label_names_ is None:
            return labels
        names = np.empty(len(self.label_names_) + 1, dtype=object)  # -1 takes the None at the end
        names[:-1] = self.label_names_
        return names[labels]

    def _label_ids(self, name: str, lists: Any) -> Any:
        if lists is None or self.label_names_ is None or sp.issparse(lists) or isinstance(lists, str):
            return lists
        return name_ids(name, lists, self.label_names_)

    def _known_labels(self, Y: Any, n_points: int) -> Any:
        """Return Y over the labels of `fit`; names it did not see are left out."""
        sets = read_label_sets(Y)
        matrix = sets.Y
        if sets.names is not None and self.label_names_ is not None:
            matrix = align_labels(matrix, sets.names, self.label_names_)
        elif sets.names is None and not sp.issparse(Y) and matrix.shape[1] < len(self.classes_):
            matrix = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], len(self.classes_)))
        if matrix.shape != (n_points, len(self.classes_)):
            refuse("Y", f"of shape ({n_points}, {len(self.classes_)})", matrix.shape)
        return matrix
