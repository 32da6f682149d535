"""The forms of a fitted model's answers that do not depend on what it searches: matrices, thresholds, precision."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import check_sample_weight
from labeltrees._validation import check_integer, check_number
from labeltrees.errors import InputError
from labeltrees.models.common.calibration import Calibration, fit_calibration
from labeltrees.models.common.early_stop import LENGTHS, EarlyStop, check_lengths, learn_early_stop
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.common.label_sets import carry, known_labels
from labeltrees.models.common.protocol import Searches

# Labels asked for at once where it is not known how many reach the threshold: 64 MB of labels and scores.
_CELLS_AT_ONCE = 2**22


class AnswerForms:
    """What an estimator answers once it can say the k best labels of its points.

    An estimator sets `searcher_`, `calibration_`, `early_stop_` and `_label_names` when it is fitted, and has
    `check_queries`, `_topk` and `searches`.
    """

    searcher_: Any
    calibration_: Calibration | None
    early_stop_: EarlyStop | None
    _label_names: LabelNames | None
    k: int
    threshold: float | None
    verbose: int

    @abstractmethod
    def check_queries(self, X: Any, n_jobs: int | None = None) -> Any:
        """Return points in the form that `searcher_` takes; they have a shape and can be indexed with rows."""

    @abstractmethod
    def _topk(self, X: Any, k: Any) -> tuple[Any, Any]:
        """Return label ids (n, k) and scores (n, k) of checked points, k at most the number of labels."""

    @abstractmethod
    def searches(self) -> Searches:
        """Return the model's searches as learning when to stop asks for them."""

    @property
    def label_names_(self) -> Any:
        """The names of the labels (L,), or None where they have none."""
        return None if self._label_names is None else self._label_names.array

    @property
    def classes_(self) -> Any:
        """The names of the labels (L,), or their ids where they have no names."""
        return np.arange(self.searcher_.n_labels) if self._label_names is None else self._label_names.array

    # The same as sparse matrices.

    def predict_scores(self, X: Any, k: int | None = None) -> Any:
        """Return the scores of the k best labels of each point as CSR (n, L)."""
        X = self.check_queries(X)
        return self._as_matrix(*self._topk(X, self.k if k is None else k))

    def predict(self, X: Any) -> Any:
        """Return the predicted labels as a CSR indicator (n, L): the k best, or those that reach `threshold`."""
        X = self.check_queries(X)
        if self.threshold is None:
            matrix = self._as_matrix(*self._topk(X, self.k))
        else:
            matrix = self._reaching(X, check_number("threshold", self.threshold, 0, 1, low_open=True))
        matrix.data = np.ones(matrix.nnz, dtype=np.int32)
        return matrix

    def _probabilities(self, X: Any, k: int | None = None) -> Any:
        matrix = self.predict_scores(X, k)
        if self.calibration_ is not None:
            matrix.data[:] = self.calibration_(matrix.data)
        return matrix

    # Comparing with what is true.

    def calibrate(self, X: Any, Y: Any = None, *, k: Any = LENGTHS) -> Self:
        """Learn from points the model has not seen when a search may stop, and what scores mean as probabilities.

        Parameters
        ----------
        X : n points
            From the distribution of those that will be asked for: a third of them teach, the others check. A promise
            of ``agreement=0.99`` needs 700 points at the least, one of 0.999 needs 7,000, and both gain from more.
        Y : labels, as in `fit`, optional
            Where they are given, `predict_proba` returns probabilities.
        k : sequence of int
            The lengths of lists that `agreement` is for; other lengths up to the longest are cut from the next one.
        """
        X = self.check_queries(X)
        lengths = check_lengths(k, self.searcher_.n_labels)
        calibration = getattr(self, "calibration_", None) if Y is None else self._learn_probabilities(X, Y)
        progress = bool(getattr(self, "verbose", 0))
        self.early_stop_ = learn_early_stop(self.searches(), X, X.shape[0], lengths, progress=progress)
        self.calibration_ = calibration
        return self

    def _learn_probabilities(self, X: Any, Y: Any) -> Calibration:
        Y = known_labels(Y, (X.shape[0], self.searcher_.n_labels), self._label_names)
        labels, scores = self._topk(X, max(check_integer("k", self.k, 1), 10))
        found = labels >= 0
        return fit_calibration(scores[found], carry(Y, np.nonzero(found)[0], labels[found]))

    def _promised(self, k: Any, agreement: Any, **others: Any) -> tuple[int, Any]:
        """Return how many labels to search for, and the losses of nodes, so that the promise holds for k labels.

        `others` are arguments that mean nothing beside it.
        """
        k = check_integer("k", k, 1, 2**31 - 1)
        agreement = check_number("agreement", agreement, 0, 1, low_open=True)
        for name, value in others.items():
            if value is not None:
                message = f"{name} cannot be combined with agreement: it is about the exact search of all labels"
                raise InputError(message)
        if agreement == 1:
            return k, None
        early_stop = getattr(self, "early_stop_", None)
        if early_stop is None:
            message = "agreement needs bounds that are learnt: call calibrate(X) on points the model has not seen"
            raise InputError(message)
        place = early_stop.place(min(k, self.searcher_.n_labels))
        return int(early_stop.k[place]), early_stop.node_losses(self.searches(), place, agreement)

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Return the precision at 1: the share of points whose best label is one of theirs."""
        X = self.check_queries(X)
        Y = known_labels(Y, (X.shape[0], self.searcher_.n_labels), self._label_names)
        labels, _ = self._topk(X, 1)
        best = labels[:, 0]
        if len(best) == 0:
            message = "score needs a point at least"
            raise InputError(message)
        hits = carry(Y, np.arange(len(best)), np.maximum(best, 0)) & (best >= 0)
        return float(np.average(hits, weights=check_sample_weight(sample_weight, len(best))))

    # How all of these ask.

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
