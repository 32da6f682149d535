"""Broader labels: the answer if no label reaches the threshold, but several labels below a broader one do together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees.data.label_relations import LabelRelations
from labeltrees.errors import InputError, Parameter, Phrase
from labeltrees.search.queries import label_lists
from labeltrees.search.request import SearchRequest
from labeltrees.search.result import SearchResult

N_ADDED = 10  # labels whose probabilities are added up, or k if that is more; calibration also learns from 10


def broader_label(
    found: Iterable[tuple[int, float]],
    threshold: float,
    above: Callable[[int], Iterable[int]],
    is_allowed: Callable[[int], bool],
) -> tuple[int, float] | None:
    """Return a broader label and its probability, for a point for which no label reaches the threshold.

    The probability of a broader label is the sum of the probabilities of the labels found below it, plus its own if it
    was found, at most 1. This is the probability that one of them is correct, if at most one is. The candidates are the
    allowed labels above a label found whose probability reaches the threshold. Candidates with another candidate below
    them are dropped. The most probable of the others is returned; if several are equal, the one with the smallest id.
    None if there is no candidate.

    Parameters
    ----------
    found : pairs of labels and probabilities
    threshold : float
    above : function
        Returns all labels above a label.
    is_allowed : function
        Returns whether a label may be returned.

    Examples
    --------
    >>> above = {1: [3, 4], 2: [3, 4]}
    >>> broader_label([(1, 0.25), (2, 0.375), (5, 0.25)], 0.5, lambda label: above.get(label, []), lambda label: True)
    (3, 0.625)
    """
    own = dict(found)
    sums: dict[int, float] = {}
    for label, probability in own.items():
        for other in above(label):
            sums[other] = sums.get(other, own.get(other, 0.0)) + probability
    reached = {label: min(value, 1.0) for label, value in sums.items() if value >= threshold and is_allowed(label)}
    wide = {other for label in reached for other in above(label) if label not in above(other)}
    narrow = [(-value, label) for label, value in reached.items() if label not in wide]
    if not narrow:
        return None
    value, label = min(narrow)
    return label, -value


def check_broader(request: SearchRequest, relations: LabelRelations | None) -> None:
    """Raise `InputError` if a completed request for broader labels cannot be answered."""
    broader = Parameter("broader")
    if relations is None or not relations.has_broader:
        message = (
            "{} needs a model that was fitted with a SKOS vocabulary that has skos:broader (fit --vocabulary FILE)"
        )
        raise InputError(message, broader)
    if request.label_weight is not None or request.raw_scores:
        name = "raw_scores" if request.raw_scores else "label_weight"
        message = "{} cannot be combined with {}: it adds up probabilities"
        raise InputError(message, broader, Parameter(name))
    if request.calibration is None:
        message = "{} adds up probabilities, which this model has not learned yet: {}"
        raise InputError(message, broader, Phrase.CALIBRATE)
    if not request.threshold:
        message = "{} needs {}: a broader label is the answer where no label reaches it"
        raise InputError(message, broader, Parameter("threshold"))


def with_broader(
    searcher: Any,
    points: Any,
    request: SearchRequest,
    result: SearchResult,
    relations: LabelRelations | None,
    n_jobs: int | None = None,
) -> tuple[SearchResult, NDArray[np.bool_]]:
    """Return the result with a broader label in each empty list for which there is one, and which lists these are (n,).

    Lists of points without a known feature stay empty.
    """
    check_broader(request, relations)
    assert relations is not None
    assert request.threshold is not None
    is_broader = np.zeros(len(result.labels), dtype=bool)
    empty = np.flatnonzero(result.labels[:, 0] < 0)
    if len(empty) == 0:
        return result, is_broader
    wider = replace(request, k=max(request.k, N_ADDED), threshold=None, n_searched=None, diversity=None)
    near = searcher.topk(points, wider, n_jobs=n_jobs, stats=True)
    allowed = _Allowed(request, len(result.labels), searcher)
    labels, scores = result.labels.copy(), result.scores.copy()
    for row in empty[~near.stats.no_features[empty]].tolist():
        known = [
            (label, score)
            for label, score in zip(near.labels[row].tolist(), near.scores[row].tolist(), strict=True)
            if label >= 0
        ]
        chosen = broader_label(known, request.threshold, relations.above, partial(allowed, row))
        if chosen is not None:
            labels[row, 0], scores[row, 0] = chosen
            is_broader[row] = True
    return SearchResult(labels, scores, result.stats), is_broader


class _Allowed:
    """Whether the candidates, exclusions and retired labels of a request allow a label for a point."""

    def __init__(self, request: SearchRequest, n_points: int, searcher: Any) -> None:
        self._retired = set(searcher.retired.tolist())
        self._sets = [
            _label_set(name, getattr(request, name), n_points, searcher.n_labels) for name in ("candidates", "exclude")
        ]

    def __call__(self, row: int, label: int) -> bool:
        candidates, exclude = (own if own is None else own(row) for own in self._sets)
        inside = candidates is None or label in candidates
        return inside and (exclude is None or label not in exclude) and label not in self._retired


def _label_set(name: str, given: Any, n_points: int, n_labels: int) -> Callable[[int], Any] | None:
    """Return a function from a row to its set of labels, or None if no labels are given."""
    if given is None or isinstance(given, _core.LabelSet):
        return None if given is None else lambda _row: given
    lists = label_lists(name, given, n_points, n_labels)
    assert lists.labels is not None
    labels, indptr = lists.labels, lists.indptr
    if indptr is None:
        same = set(labels.tolist())
        return lambda _row: same
    return lambda row: set(labels[indptr[row] : indptr[row + 1]].tolist())
