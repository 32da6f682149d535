"""SearchRequest: how many labels to find for each query, and how to search for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees._settings import anything, check_settings, flag, integer, number, optional, setting
from labeltrees._validation import check_choice, refuse
from labeltrees.errors import InputError, Parameter
from labeltrees.search.queries import (
    NO_LISTS,
    LabelBoosts,
    LabelLists,
    label_limits,
    label_lists,
    label_weight_values,
)

if TYPE_CHECKING:
    from labeltrees._core import Float32s


class NodeValues:
    """One discount per node, finite and at least 0, checked once for many searches.

    A discount lowers the log score of a node before it is compared: in a text model by the discount, in a linear model
    by the discount times (`PRIORITY_SCALE` - log score).

    Parameters
    ----------
    values : array (n_nodes,)
        The discounts of all nodes, one tree after another.

    Examples
    --------
    >>> NodeValues([0, 0.5]).values
    array([0. , 0.5], dtype=float32)
    """

    def __init__(self, values: Any) -> None:
        array = np.ascontiguousarray(values, np.float32)
        if array.ndim != 1 or not (np.isfinite(array) & (array >= 0)).all():
            refuse("discounts", "one finite number of at least 0 per node", values)
        self.values: Float32s = array

    @cached_property
    def factors(self) -> Float32s:
        """The discounts as factors, for searches that compare scores instead of log scores: exp(-discount)."""
        return np.asarray(np.exp(-self.values))

    def check_length(self, n_nodes: int) -> None:
        """Refuse discounts for another number of nodes."""
        if len(self.values) != n_nodes:
            refuse("discounts", f"of {n_nodes} nodes", f"{len(self.values)} numbers")


MODES = ("best_first", "paths")
_LONG_LIST = 8  # a list with at least 1 / 8 of the labels is long, as LabelSet::kExcludedShare in native code
_MANY_QUERIES = 512  # as SearchEngine::kPackedQueries in native code
AS_FITTED: Any = "as fitted"  # the beam that the model was fitted with
_LIMIT = optional(integer(1, 2**62))


def check_search(name: str, value: Any) -> None:
    """Raise `InputError` for an unknown search."""
    if isinstance(value, str) and value == "beam":
        message = f'{name}="beam" is gone: "best_first", the default, finds the same labels with the same beam'
        raise InputError(message)
    check_choice(name, value, MODES)


def _beam(name: str, value: Any) -> None:
    if value != AS_FITTED:
        _LIMIT(name, value)


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """How many labels to find for each query, and how to search for them.

    Four parameters matter most. `k` is the length of the lists. `beam` limits the search: fewer nodes per depth are
    faster, None is exact. `candidates` and `exclude` say which labels may be returned.

    A request is checked once, when it is created. A model then completes it (it fills in fitted defaults, and turns
    `agreement` into `discounts`) and passes it to its searcher and to native code.

    Parameters
    ----------
    k : int
        Labels to return per query.
    search : {"best_first", "paths"}, optional
        ``"best_first"`` expands the best open node until no open node can hold a label that belongs in the list.
        ``"paths"`` searches level by level and keeps `beam` paths in all, as Parabel does. By default as the model was
        fitted; a searcher without a model uses ``"best_first"``.
    beam : int or None
        For ``"best_first"``, the maximum number of nodes to open per depth, best first. The lists are those of a
        level-wise beam search. Labels and leaves do not count against the beam at later depths, so in a tree with
        leaves at many depths more than `beam` leaves can be opened. For ``"paths"``, the maximum number of paths to
        keep per depth. A path that has reached a leaf (a node with labels only), or a label whose siblings include
        nodes, still counts while its score is among the best, so at most `beam` leaves are opened. None: no limit,
        which finds exactly the k best of all labels. By default as the model was fitted; a searcher without a model
        has no limit.
    evidence : bool
        Adjust the scores by the evidence that the model was fitted with; False returns the list of the tree alone.
    agreement : float, optional
        Stop early, so that at least this share of the lists is the same as with exact search. The model must have been
        calibrated.
    max_chunks : int, optional
        Maximum number of nodes to open per query. A search that reaches it returns the best labels found so far.
    max_microseconds : int, optional
        Maximum time per query. The search still finishes the node that it is evaluating.
    candidates : label ids, a label set, one list of label ids per query, or sparse matrix (n, L), optional
        The labels allowed; only their ancestors are searched. A model searches exactly, without a beam, if any of
        these rules is given and neither `search` nor `beam` is: candidates, exclude, label_weight, limits, diversity.
    exclude : like candidates, optional
        Labels not to return.
    label_weight : array (L,), LabelBoosts or LabelWeights, optional
        Factors for the scores of labels. Labels are ordered by the product, which is returned as the score; labels with
        weight 0 are left out. The search stays exact: a node is compared by its score times the largest weight below
        it.
    limits : pair (groups, m) or LabelLimits, optional
        At most m labels of each group: labels are taken best first, and labels whose group is full are skipped.
        `groups` is one group per label (-1 or None: no group), or a mapping from label ids to groups. `m` is a number,
        or a mapping from groups to numbers; other groups have no limit.
    threshold : float, optional
        Leave out labels whose returned score is below it. The returned score is the probability in a calibrated model,
        and the product if label weights are given. It cuts the list of the same search without a threshold.
    raw_scores : bool
        Return the scores of the search, even if a calibrated model would return probabilities.
    diversity : float in [0, 1]
        How much the similarity of labels counts against their scores (maximal marginal relevance): the list is chosen
        from the 10 k best labels (at most 100, at least k). The first label is the best one; each next label maximises
        ``(1 - diversity) * score / best score - diversity * similarity``, where similarity is the largest similarity to
        a label chosen before. The similarity of two labels is ``1 - log(n) / log(L)``, where n is the number of labels
        below their lowest common ancestor. The list is in the order in which labels were chosen, so its scores can
        rise.
    broader : bool
        If no label reaches `threshold`, return a broader label that does: see `broader_label`.
    discounts : NodeValues, optional
        How much the score of each node is lowered before it is compared; set by a model from `agreement`.
    n_searched : int, optional
        Number of labels to search for, if more than k: discounts are learned only for certain list lengths.
    n_candidates : int, optional
        If more than k, return this many of the labels that were scored during the search for the k best.
    keep_beam : bool
        Whether a predictor also uses `beam` for calls with rules. False if the beam is the one that the model was
        fitted with: calls with rules then search exactly.
    calibration : Calibration, optional
        Turns scores into probabilities; set by a calibrated model, unless `raw_scores` or `label_weight` is given.

    Examples
    --------
    >>> SearchRequest(3, beam=10).beam
    10
    >>> SearchRequest(0)
    Traceback (most recent call last):
    labeltrees.errors.InputError: k must be an integer of at least 1, got 0
    """

    k: int = setting(5, integer(1), "Labels to return per query.")
    search: str | None = setting(None, optional(check_search), "How the tree is searched.", choices=MODES)
    beam: int | None = setting(
        AS_FITTED,
        _beam,
        "Most nodes to open per depth, or most paths to keep (search paths); none: exact search.",
        metavar="N|none",
        daily=True,
    )
    evidence: bool = setting(
        True, flag, "Adjust scores by the evidence that the model was fitted with, if any.", daily=True
    )
    agreement: float | None = setting(
        None,
        optional(number(0, 1, low_open=True)),
        "Stop early, so that at least this share of the lists is the same as with exact search.",
        daily=True,
    )
    max_chunks: int | None = setting(None, _LIMIT, "Most nodes to open per query.")
    max_microseconds: int | None = setting(None, _LIMIT, "Most microseconds per query.")
    candidates: Any = setting(None, anything, "Labels that may be returned.")
    exclude: Any = setting(None, anything, "Labels that must not be returned.")
    label_weight: Any = setting(None, anything, "Factors for the scores of labels.")
    limits: Any = setting(None, anything, "Maximum number of labels per group: a pair (groups, m).")
    threshold: float | None = setting(
        None,
        optional(number(0)),
        "Leave out labels whose score (after calibration: probability) is below it.",
        metavar="T",
        daily=True,
    )
    raw_scores: bool = setting(False, flag, "Return raw scores, not the probabilities of a calibrated model.")
    diversity: float | None = setting(
        None,
        optional(number(0, 1)),
        "How much the similarity of labels counts against their scores, from 0 to 1.",
        metavar="D",
        daily=True,
    )
    broader: bool = setting(
        False, flag, "If no label reaches the threshold, return the broader subject whose narrower ones do together."
    )
    discounts: NodeValues | None = None
    n_searched: int | None = None
    n_candidates: int | None = None
    keep_beam: bool = True
    calibration: Any = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.agreement is None:
            return
        given = {
            "search": self.search not in (None, "best_first"),
            "beam": self.beam not in (None, AS_FITTED),
        }
        for name, is_given in given.items():
            if is_given:
                message = "{} cannot be combined with {}, which is about exact search"
                raise InputError(message, Parameter(name), Parameter("agreement"))

    @classmethod
    def of(cls, request: SearchRequest | int) -> SearchRequest:
        """Return the request; an int k becomes a request for the k best labels."""
        return request if isinstance(request, SearchRequest) else cls(request)

    def n_found(self, n_labels: int) -> int:
        """Return how many of `n_labels` labels a search looks for."""
        return min(max(self.k, self.n_searched or 0), max(n_labels, 1))

    @property
    def has_rules(self) -> bool:
        """Whether rules change which labels are the k best. A threshold is not such a rule: it only cuts the list."""
        rules = self.candidates, self.exclude, self.label_weight, self.limits
        return any(rule is not None for rule in rules) or bool(self.diversity)

    def native(
        self,
        n_queries: int,
        n_labels: int,
        discounts: _core.Float32s | None,
        engine: _core.SearchEngine | _core.TextEngine,
        *,
        evidence: bool = False,
    ) -> _core.SearchRequest:
        """Return the request for native code, where 0 means no limit.

        Parameters
        ----------
        n_queries, n_labels : int
        discounts : float32 (n_nodes,) or None
            The discounts of the request, in the form that the model's native search takes.
        engine : native engine
            The engine that label sets must belong to.
        evidence : bool
            Whether the engine has evidence to use.
        """
        if discounts is not None and self.search == "paths":
            refuse("discounts", f"None with search={self.search!r}", "some")
        if discounts is not None and self.label_weight is not None:
            refuse("discounts", "None with label_weight", "some")
        candidates, candidate_set = _label_argument("candidates", self.candidates, n_queries, n_labels, engine)
        exclude, exclude_set = _label_argument("exclude", self.exclude, n_queries, n_labels, engine)
        weights, boosts = _label_weights(self.label_weight, n_labels, engine)
        return _core.SearchRequest(
            self,
            k=self.n_found(n_labels),
            n_candidates=min(self.n_candidates or 0, n_labels),
            evidence=bool(evidence),
            discounts=discounts,
            candidate_ptr=candidates.indptr,
            candidates=candidates.labels,
            exclude_ptr=exclude.indptr,
            exclude=exclude.labels,
            candidate_set=candidate_set,
            exclude_set=exclude_set,
            weights=weights,
            boosted=None if boosts is None else boosts.labels,
            boosts=None if boosts is None else boosts.native(isinstance(engine, _core.SearchEngine)),
            limits=None if self.limits is None else label_limits(self.limits, n_labels),
            calibration=None if self.calibration is None else self.calibration.native,
        )


def _label_weights(given: Any, n_labels: int, engine: Any) -> tuple[_core.LabelWeights | None, LabelBoosts | None]:
    """Return the weights of all labels and the weights of some labels; each can be None."""
    boosts = given if isinstance(given, LabelBoosts) else None
    weights = given if boosts is None else boosts.base
    if weights is not None and not isinstance(weights, _core.LabelWeights):
        weights = engine.label_weights(label_weight_values(weights, n_labels))
    if weights is not None and not weights.belongs_to(engine):
        message = "label_weight was prepared for another model; make it with label_weights of this one"
        raise InputError(message)
    return weights, boosts


def _label_argument(
    name: str, given: Any, n_queries: int, n_labels: int, engine: Any
) -> tuple[LabelLists, _core.LabelSet | None]:
    """Return labels as lists or as a prepared set.

    A long list of excluded labels for all queries becomes a set: searches with a set skip nodes without allowed labels.
    So does a list of candidates for many queries: searches with a set can pack the classifiers of its labels.
    """
    if isinstance(given, _core.LabelSet):
        if not given.belongs_to(engine):
            message = f"{name} is a label set of another model; make it with label_set of this one"
            raise InputError(message)
        return NO_LISTS, given
    lists = label_lists(name, given, n_queries, n_labels)
    if lists.labels is not None and lists.indptr is None:
        if n_queries >= _MANY_QUERIES if name == "candidates" else len(lists.labels) * _LONG_LIST >= n_labels:
            return NO_LISTS, engine.label_set(lists.labels, None)
    return lists, None


def describe_search(request: SearchRequest) -> str:
    """Return a short description of the search of a completed request.

    Examples
    --------
    >>> describe_search(SearchRequest(5, beam=None)), describe_search(SearchRequest(1, agreement=0.99))
    ('exact search for 5 labels', 'search with agreement 0.99 for 1 label')
    """
    labels = f"{request.k} label" + ("" if request.k == 1 else "s")
    if request.agreement is not None:
        return f"search with agreement {request.agreement:g} for {labels}"
    exact = request.beam is None or request.beam == AS_FITTED
    return f"exact search for {labels}" if exact else f"search with beam {request.beam} for {labels}"
