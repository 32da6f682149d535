"""SearchRequest: how many labels to find for each query, and how to look for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labeltrees import _core
from labeltrees._settings import anything, check_settings, flag, integer, number, optional, setting
from labeltrees._validation import check_choice, refuse
from labeltrees.errors import InputError
from labeltrees.search.node_values import NodeValues
from labeltrees.search.queries import label_lists

MODES = ("best_first", "beam", "paths")
AS_FITTED: Any = "as fitted"  # the beam that the model was fitted with


def _mode(name: str, value: Any) -> None:
    check_choice(name, value, MODES)


def _beam(name: str, value: Any) -> None:
    if value != AS_FITTED:
        optional(integer(1, 2**62))(name, value)


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """How many labels to find for each query, and how to look for them.

    A request is made and checked once and then passed unchanged from a model to its searcher and to native code. A
    model completes it first: it fills in how it was fitted, and turns `agreement` into `discounts`.

    Parameters
    ----------
    k : int
        Labels to return per query.
    search : {"best_first", "beam", "paths"}, optional
        ``"best_first"`` opens the best open node until no open node can hold a label that belongs in the list.
        ``"beam"`` goes level by level. ``"paths"`` goes level by level too and keeps `beam` paths in all, as Parabel
        does. By default as the model was fitted; a searcher alone uses ``"best_first"``.
    beam : int or None
        For ``"best_first"`` and ``"beam"``, the most nodes to open per depth, best first. Labels and leaves that were
        reached take no place at later depths, so in a tree with leaves at many depths more than `beam` leaves can be
        opened. Both return the same lists for the same beam. For ``"paths"``, the most paths to keep per depth. A path
        that has reached a leaf (a node with labels only) or a label beside nodes keeps its place as long as its score
        is among the best, so at most `beam` leaves are opened. None: no limit, which finds exactly the k best of all
        labels. By default as the model was fitted; a searcher alone has no limit.
    prune : bool
        For ``"beam"`` and ``"paths"``: do not open nodes below the k-th label found. The lists stay the same.
    agreement : float, optional
        Stop early, so that at least this share of the lists is the same as with exact search. The model must have been
        calibrated.
    max_chunks : int, optional
        The most nodes to open per query. A search that is stopped by it returns the best labels found so far.
    max_microseconds : int, optional
        The most time per query. The node that is being evaluated at that time is finished.
    candidates : label ids, or one list of label ids per query, or sparse matrix (n, L), optional
        The labels allowed; only their ancestors are searched.
    exclude : like candidates, optional
        Labels not to return.
    discounts : NodeValues, optional
        How much the score of each node is lowered before it is compared; set by a model from `agreement`.
    n_searched : int, optional
        Labels to search for, if more than k: discounts are learnt for lists of certain lengths.

    Examples
    --------
    >>> SearchRequest(3, beam=10).beam
    10
    >>> SearchRequest(0)
    Traceback (most recent call last):
    labeltrees.errors.InputError: k must be an integer of at least 1, got 0
    """

    k: int = setting(5, integer(1), "Labels to return per query.")
    search: str | None = setting(None, optional(_mode), "How the tree is searched.", choices=MODES)
    beam: int | None = setting(
        AS_FITTED,
        _beam,
        "Most nodes to open per depth, or most paths to keep (search paths); none: exact search.",
        metavar="N|none",
    )
    prune: bool = setting(True, flag, "Skip nodes below the k-th label found.")
    agreement: float | None = setting(
        None,
        optional(number(0, 1, low_open=True)),
        "Stop early, so that at least this share of the lists is the same as with exact search.",
    )
    max_chunks: int | None = setting(None, optional(integer(1, 2**62)), "Most nodes to open per query.")
    max_microseconds: int | None = setting(None, optional(integer(1, 2**62)), "Most microseconds per query.")
    candidates: Any = setting(None, anything, "Labels that may be returned.")
    exclude: Any = setting(None, anything, "Labels that must not be returned.")
    discounts: NodeValues | None = None
    n_searched: int | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.agreement is None:
            return
        given = {
            "search": self.search not in (None, "best_first"),
            "beam": self.beam not in (None, AS_FITTED),
            "candidates": self.candidates is not None,
            "exclude": self.exclude is not None,
        }
        for name, is_given in given.items():
            if is_given:
                message = f"{name} cannot be combined with agreement, which is about exact search among all labels"
                raise InputError(message)

    @classmethod
    def of(cls, request: SearchRequest | int) -> SearchRequest:
        """Return the request, or for an int the exact search for that many labels."""
        return request if isinstance(request, SearchRequest) else cls(request)

    def n_found(self, n_labels: int) -> int:
        """Return how many labels a search looks for, of `n_labels` that there are."""
        return min(max(self.k, self.n_searched or 0), max(n_labels, 1))

    def native(self, n_queries: int, n_labels: int, discounts: _core.Float32s | None) -> _core.SearchRequest:
        """Return the request for native code, where 0 means no limit.

        Parameters
        ----------
        n_queries, n_labels : int
        discounts : float32 (n_nodes,) or None
            Those of the request in the form that the model's native search takes.
        """
        if discounts is not None and self.search in ("beam", "paths"):
            refuse("discounts", f"None with search={self.search!r}", "some")
        candidates = label_lists("candidates", self.candidates, n_queries, n_labels)
        exclude = label_lists("exclude", self.exclude, n_queries, n_labels)
        return _core.SearchRequest(
            k=self.n_found(n_labels),
            search=self.search or "best_first",
            beam=0 if self.beam is None or self.beam == AS_FITTED else self.beam,
            prune=bool(self.prune),
            max_chunks=self.max_chunks or 0,
            max_microseconds=min(self.max_microseconds or 0, 2**50),
            discounts=discounts,
            candidate_ptr=candidates.indptr,
            candidates=candidates.labels,
            exclude_ptr=exclude.indptr,
            exclude=exclude.labels,
        )
