"""Thresholds: the lowest score of returned labels, and the resulting precision and recall."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import check_Y
from labeltrees._validation import check_number, refuse
from labeltrees.metrics.hits import check_returned

_DIGITS = 1e4  # thresholds are rounded down to 4 digits, so that they can be typed


class Threshold(NamedTuple):
    """A threshold, and the quality of the sets of labels that reach it.

    Parameters
    ----------
    name : str
        The criterion: ``"best F1"``, or ``"precision of 90 %"``.
    threshold : float
    precision, recall, f1 : float
        Micro-averaged: over all pairs of a point and a label.
    labels_per_point : float
        Mean number of labels that reach the threshold.
    without_labels : float
        The share of points without any label that reaches the threshold.
    limit : int
        Maximum number of labels per point: the length of the lists.
    """

    name: str
    threshold: float
    precision: float
    recall: float
    f1: float
    labels_per_point: float
    without_labels: float
    limit: int


def suggest_thresholds(Y_true: Any, labels: Any, scores: Any, *, precision: float = 0.9) -> list[Threshold]:
    """Return the threshold with the best F1, and the lowest threshold that reaches a given precision.

    Parameters
    ----------
    Y_true : matrix (n, L)
        The true labels of points that the model has not seen.
    labels : array of ids (n, k)
        The best labels of each point, padded with -1. A label that is not in the list counts as not returned.
    scores : array (n, k)
        Their scores or probabilities.
    precision : float in (0, 1]
        The precision to reach. If no threshold reaches it, only the best F1 is returned.

    Examples
    --------
    >>> import numpy as np
    >>> Y, labels = np.array([[1, 0], [0, 1], [1, 0]]), np.array([[0, 1], [0, 1], [0, 1]])
    >>> best, precise = suggest_thresholds(Y, labels, np.array([[0.9, 0.1], [0.4, 0.3], [0.8, 0.2]]))
    >>> best.name, best.threshold, best.recall
    ('best F1', 0.3, 1.0)
    """
    check_number("precision", precision, 0, 1, low_open=True)
    truth = check_Y(Y_true, "Y_true").matrix
    lists = check_returned(labels, np.shape(labels)[1], truth.shape[1])
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != lists.shape:
        refuse("scores", f"of the shape of labels, {lists.shape}", values.shape)
    rows, places = np.nonzero(lists >= 0)
    if len(rows) == 0:
        return []
    found = values[rows, places]
    hits = np.asarray(truth[rows, lists[rows, places]]).ravel() > 0
    order = np.argsort(-found, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(found[order]) != 0, True))  # labels of equal score share a threshold
    n_returned, n_correct = ends + 1, np.cumsum(hits[order])[ends]
    n_true = int((truth.data > 0).sum())
    f1 = 2 * n_correct / (n_returned + n_true)
    reached = np.flatnonzero(n_correct >= precision * n_returned)
    chosen = {"best F1": int(np.argmax(f1))} | (
        {f"precision of {100 * precision:g} %": int(reached[-1])} if len(reached) else {}
    )
    best = np.full(len(lists), -np.inf)
    np.maximum.at(best, rows, found)
    suggestions = []
    for name, place in chosen.items():
        threshold = float(np.floor(found[order[ends[place]]] * _DIGITS + 1e-6) / _DIGITS)
        at = int(np.searchsorted(-found[order[ends]], -threshold, side="right")) - 1
        suggestions.append(
            Threshold(
                name,
                threshold,
                float(n_correct[at] / n_returned[at]),
                float(n_correct[at] / max(n_true, 1)),
                float(f1[at]),
                float(n_returned[at] / len(lists)),
                float((best < threshold).mean()),
                lists.shape[1],
            )
        )
    return suggestions


def suggest_limits(Y_true: Any, labels: Any, scores: Any) -> list[Threshold]:
    """Return the threshold with the best F1 for each list length up to k, to find the best combination of both.

    Parameters
    ----------
    Y_true, labels, scores
        As for `suggest_thresholds`.

    Examples
    --------
    >>> import numpy as np
    >>> Y, labels = np.array([[1, 0], [0, 1], [1, 0]]), np.array([[0, 1], [0, 1], [0, 1]])
    >>> found = suggest_limits(Y, labels, np.array([[0.9, 0.1], [0.4, 0.3], [0.8, 0.2]]))
    >>> [(own.limit, own.threshold, round(own.f1, 3)) for own in found]
    [(1, 0.8, 0.8), (2, 0.3, 0.857)]
    """
    longest = np.shape(labels)[1]
    lists = [suggest_thresholds(Y_true, labels[:, :k], scores[:, :k]) for k in range(1, longest + 1)]
    return [found[0] for found in lists if found]
