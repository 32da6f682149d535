"""Scores of the k best labels, or of all labels above a threshold, as sparse matrices; calibration to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from labeltrees import _core
from labeltrees.errors import InputError

MIN_LABELS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """A rising, piecewise linear function: `probabilities` (n,) at rising `scores` (n,)."""

    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    @cached_property
    def native(self) -> _core.Calibration:
        """The same function for native code."""
        return _core.Calibration(np.ascontiguousarray(self.scores), np.ascontiguousarray(self.probabilities))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    def __repr__(self) -> str:
        return f"Calibration({len(self.scores):,} steps, probabilities up to {self.probabilities[-1]:.3f})"

    def is_sound(self) -> bool:
        """Return whether both arrays are valid: a file may contain anything."""
        # Scores can exceed 1 in models with a trend.
        for values, largest in ((self.scores, np.finfo(np.float64).max), (self.probabilities, 1.0)):
            if values.dtype != np.float64 or values.ndim != 1 or len(values) == 0:
                return False
            if not (values[0] >= 0 and values[-1] <= largest and (np.diff(values) >= 0).all()):  # no NaN passes
                return False
        return len(self.scores) == len(self.probabilities)

    def __call__(self, scores: Any) -> NDArray[np.float32]:
        """Return the probabilities of `scores`."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities), dtype=np.float32)


def fit_calibration(scores: NDArray[Any], hits: NDArray[np.bool_]) -> Calibration:
    """Fit a calibration (isotonic regression) to the scores of returned labels and whether they were correct.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.repeat([0.1, 0.9], 10)
    >>> hits = np.tile([True, False, False, False, False], 4) | (scores > 0.5)
    >>> fit_calibration(scores, hits)(np.array([0.1, 0.9])).tolist()
    [0.20000000298023224, 1.0]
    """
    if len(scores) < MIN_LABELS:
        message = f"calibrate needs at least {MIN_LABELS} returned labels to learn from, got {len(scores)}"
        raise InputError(message)
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted.fit(np.asarray(scores, dtype=np.float64), hits.astype(np.float64))
    return Calibration(fitted.X_thresholds_.astype(np.float64), fitted.y_thresholds_.astype(np.float64))


# Scores per block, because the number of labels that reach the threshold is unknown: about 50 MB with their labels.
_BLOCK_SIZE = 2**22


def top_scores(labels: Any, scores: Any, n_labels: int) -> Any:
    """Return the scores of label lists, padded with -1, as CSR (n, n_labels).

    Examples
    --------
    >>> import numpy as np
    >>> top_scores(np.array([[2, 0], [1, -1]]), np.array([[0.5, 0.25], [1.0, 0.0]]), 3).toarray()
    array([[0.25, 0.  , 0.5 ],
           [0.  , 1.  , 0.  ]])
    """
    found = labels >= 0
    return _csr(found.sum(axis=1), labels[found], scores[found], n_labels)


def scores_above(threshold: float, X: Any, topk: Callable[[Any, int], tuple[Any, Any]], n_labels: int) -> Any:
    """Return the scores of all labels that reach `threshold` as CSR (n, n_labels).

    Parameters
    ----------
    threshold : float
    X : n points
    topk : function of points and k
        Returns the k best labels (n, k) and their scores. It is called again with a larger k for points whose k-th
        label reaches the threshold.
    n_labels : int
    """
    n = X.shape[0]
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))]
    unfinished, k = np.arange(n), min(16, n_labels)
    while len(unfinished) > 0:
        needs_more = np.zeros(len(unfinished), dtype=bool)
        step = max(_BLOCK_SIZE // k, 1)
        for first in range(0, len(unfinished), step):
            block = slice(first, first + step)
            rows = unfinished[block]
            labels, scores = topk(X[rows], k)
            reached = (scores >= threshold) & (labels >= 0)
            needs_more[block] = reached[:, -1] & (k < n_labels)
            reached[needs_more[block]] = False
            found.append((rows[np.nonzero(reached)[0]], labels[reached], scores[reached]))
        unfinished = unfinished[needs_more]
        k = min(4 * k, n_labels)
    rows, labels, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(rows, kind="stable")
    return _csr(np.bincount(rows, minlength=n), labels[order], scores[order], n_labels)


def _csr(row_lengths: Any, labels: Any, scores: Any, n_labels: int) -> Any:
    indptr = np.concatenate([[0], np.cumsum(row_lengths)])
    matrix = sp.csr_array((scores, labels, indptr), shape=(len(row_lengths), n_labels))
    matrix.sort_indices()
    return matrix
