"""A broader label if unsure: what to answer where no label reaches the threshold, but narrower ones do together."""

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

N_ADDED = 10  # the most labels whose probabilities are added up, if a list is not longer; calibration learns from 10


def broader_label(
    found: Iterable[tuple[int, float]],
    threshold: float,
    above: Callable[[int], Iterable[int]],
    is_allowed: Callable[[int], bool],
) -> tuple[int, float] | None:
    """Return the broader label for a point of which no label reaches the threshold, and its probability.

    The probability of a broader label is the sum of the probabilities of the labels found below it, and of its own if
    it was found, at most 1: that of any of them being correct, if at most one is. Of the labels that are broader than
    one that was found, allowed, and reach the threshold, the narrow ones are taken: those with no other such label
    below them. The best of these is returned; of equal ones, the one with the smaller id.

    Parameters
    ----------
    found : pairs of labels and probabilities
    threshold : float
    above : function
        All labels above a label.
    is_allowed : function

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
    """Refuse a request for broader labels that cannot be answered; the request must have been completed."""
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
    """Return the result with a broader label for each empty list that has one, and which lists these are.

    Points without a known feature stay without a label.
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
    """Return the function from a point to its labels, or None."""
    if given is None or isinstance(given, _core.LabelSet):
        return None if given is None else lambda _row: given
    lists = label_lists(name, given, n_points, n_labels)
    assert lists.labels is not None
    labels, indptr = lists.labels, lists.indptr
    if indptr is None:
        same = set(labels.tolist())
        return lambda _row: same
    return lambda row: set(labels[indptr[row] : indptr[row + 1]].tolist())
