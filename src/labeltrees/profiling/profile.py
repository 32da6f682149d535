"""Where the time of searches goes: nodes opened, and microseconds by part, query by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s
from labeltrees._progress import ProgressArgument, watch
from labeltrees._validation import check_integer, check_seed, refuse
from labeltrees.errors import InputError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.prediction import AS_FITTED
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.profiling.cost_model import CostModel
from labeltrees.profiling.counts import SearchCounts
from labeltrees.profiling.hardware_counters import HardwareCounters
from labeltrees.profiling.linear_searches import LinearWork
from labeltrees.profiling.measure_costs import Asked, Searches, measure_costs
from labeltrees.profiling.oracle import mark_oracle
from labeltrees.profiling.text_searches import TextWork

MOST_POINTS = 1000
_ONLY_COSTS = {"queries", "visits", "roots", "below_root"}  # what the number of nodes tells


@dataclass(frozen=True)
class Profile:
    """What the searches of some points did, and how long it took.

    Parameters
    ----------
    rows : int64 (n,)
        Which points of X were asked.
    k : int
    how : dict
        How labels were searched: mode and beam, or the agreement asked for.
    labels : int64 (n, k)
        Label ids returned, padded with -1.
    counts : SearchCounts
        How often each search did what takes time, and the nodes it opened (``counts.visits``).
    oracle : int64 (n,)
        How many nodes an oracle would have opened: the ancestors of the labels returned.
    is_oracle : bool (number of visits,)
        Which of the nodes opened are among those.
    microseconds : float64 (n,)
        Measured: the search alone, one query after the other on one thread, the best of several rounds.
    predicted : float64 (n,)
        The same by the cost model.
    parts : dict from str to float64 (n,)
        Predicted microseconds by part.
    costs : CostModel
        Nanoseconds of each thing counted, measured on this machine for this model.
    error : float
        By how much the predicted mean is above the real one, as a share of it, on points the costs were not fitted to.
    counters : dict from str to float, or None
        Instructions and cache misses a query, where the processor's counters are available.
    counters_reason : str or None
        Why they are not.
    """

    rows: Int64s
    k: int
    how: dict[str, Any]
    labels: Int64s
    counts: SearchCounts
    oracle: Int64s
    is_oracle: NDArray[np.bool_]
    microseconds: Float64s
    predicted: Float64s
    parts: dict[str, Float64s]
    costs: CostModel
    error: float
    counters: dict[str, float] | None
    counters_reason: str | None

    @property
    def n_queries(self) -> int:
        """The number of points asked."""
        return len(self.rows)

    @property
    def table(self) -> list[dict[str, Any]]:
        """A record a query: counts, and microseconds real, predicted and by part."""
        return _records(self._columns)

    def record(self, place: int) -> dict[str, Any]:
        """Return the record of one query of the `table`; `place` counts from 0 to `n_queries` - 1."""
        place = check_integer("place", place, 0, self.n_queries - 1)
        return {name: column[place].item() for name, column in self._columns.items()}

    @cached_property
    def _columns(self) -> dict[str, Any]:
        each = {name: values for name, values in self.counts.each.items() if name not in _ONLY_COSTS}
        return {
            "query": self.rows,
            "nodes": self.counts.each["visits"],
            **each,
            "oracle": self.oracle,
            "microseconds": np.round(self.microseconds, 3),
            "predicted": np.round(self.predicted, 3),
            **{f"{part.replace(' ', '_')}_us": np.round(times, 3) for part, times in self.parts.items()},
        }

    def visits_of(self, place: int) -> list[dict[str, Any]]:
        """Return the nodes that one of the queries opened, in order: node, depth, score, and whether an oracle would.

        `place` counts from 0 to `n_queries` - 1.
        """
        place = check_integer("place", place, 0, self.n_queries - 1)
        visits = self.counts.visits
        own = slice(visits.ends[place], visits.ends[place + 1])
        columns: dict[str, Any] = {
            "tree": visits.trees[own],
            "node": visits.nodes[own],
            "depth": visits.depths[own],
            "score": visits.scores[own],
            "oracle": self.is_oracle[own],
            "on_path": visits.on_path[own],
        }
        return _records(columns)

    def by_depth(self) -> list[dict[str, float]]:
        """Return, for each depth, the mean numbers of nodes opened and of those an oracle would have opened."""
        depths = self.counts.visits.depths
        opened = np.bincount(depths) / self.n_queries
        needed = np.bincount(depths[self.is_oracle], minlength=len(opened)) / self.n_queries
        return [
            {"depth": depth, "nodes": float(own), "oracle": float(part)}
            for depth, (own, part) in enumerate(zip(opened, needed, strict=True))
        ]

    def summary(self) -> dict[str, Any]:
        """Return means and percentiles over the queries, ready for JSON."""
        opened = self.counts.each["visits"]
        predicted = float(self.predicted.mean())
        parts = {
            part: {"microseconds": float(times.mean()), "share": float(times.mean() / max(predicted, 1e-12))}
            for part, times in self.parts.items()
        }
        return {
            "n_queries": self.n_queries,
            "k": self.k,
            **self.how,
            "counts": {name: float(own.mean()) for name, own in self.counts.each.items() if name not in _ONLY_COSTS},
            "features": _spread(self.counts.each["features" if "features" in self.counts.each else "nonzeros"]),
            "nodes": _spread(opened),
            "oracle": _spread(self.oracle),
            "oracle_share": float(self.is_oracle.sum() / max(opened.sum(), 1)),
            "by_depth": self.by_depth(),
            "microseconds": _spread(self.microseconds),
            "predicted": _spread(self.predicted),
            "error": self.error,
            "parts": parts,
            "nanoseconds": dict(self.costs.nanoseconds),
            "counters": self.counters,
            "counters_reason": self.counters_reason,
        }


def _records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns, all equally long, as records of plain numbers."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _spread(values: Any) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "p50": float(np.percentile(values, 50)),
        "p99": float(np.percentile(values, 99)),
    }


def profile(
    model: Any,
    X: Any,
    k: int = 5,
    *,
    search: str | None = None,
    beam: int | None = AS_FITTED,
    agreement: float | None = None,
    rows: Any = None,
    repeats: int = 10,
    random_state: int = 0,
    progress: ProgressArgument = None,
) -> Profile:
    """Return where the time of a model's searches goes.

    The searches are timed, counted, and a cost model is fitted to them: what a node opened, a feature looked up, a row
    added and so on cost on this machine. Half of the points are kept apart to check it (`Profile.error`).

    Parameters
    ----------
    model : LabelTreeClassifier or TextLabelTreeClassifier
        Fitted.
    X : sparse or dense matrix (n, d), or n texts
        Making features of texts, where a LabelTreeClassifier does, is not part of the search and not timed.
    k : int
    search, beam, agreement
        Other than the model's own; see `LabelTreeClassifier.predict_topk`.
    rows : array of int, optional
        Which points to ask; by default 1,000 drawn at random, or all where there are fewer.
    repeats : int
        Rounds; the best counts for each query.
    random_state : int
    progress : bool or callable(done, total), optional

    Examples
    --------
    >>> import labeltrees as lt
    >>> X = [[1, 0], [0.9, 0.1], [0, 1], [0.2, 0.8]]
    >>> model = lt.LabelTreeClassifier(prune_below=0).fit(X, [["a"], ["a", "c"], ["b"], ["b"]])
    >>> found = lt.profile(model, X, k=1, repeats=1)
    >>> found.counts.each["visits"].tolist(), found.oracle.tolist()
    ([1, 1, 1, 1], [1, 1, 1, 1])
    """
    if isinstance(model, TextLabelTreeClassifier):
        if search is not None or beam is not AS_FITTED:
            refuse("search and beam", "left out with a TextLabelTreeClassifier: its search has none", beam)
        asked_for, how = model.how_to_search(k, agreement)
    elif isinstance(model, LabelTreeClassifier):
        asked_for, how = model.how_to_search(k, agreement, search=search, beam=beam)
    else:
        refuse("model", "a LabelTreeClassifier or a TextLabelTreeClassifier", model)
    points = model.check_queries(X)
    rows = _check_rows(rows, points.shape[0], check_seed(random_state))
    with watch("Timing searches", repeats, progress) as advance:
        return profile_searches(
            model,
            points,
            k,
            asked_for,
            how,
            rows,
            agreement=agreement,
            repeats=repeats,
            random_state=random_state,
            advance=advance,
        )


def profile_searches(
    model: LabelTreeClassifier | TextLabelTreeClassifier,
    points: Any,
    k: int,
    n_searched: int,
    how: dict[str, Any],
    rows: Int64s,
    *,
    agreement: float | None = None,
    repeats: int,
    random_state: int = 0,
    advance: Callable[[int], object] | None = None,
) -> Profile:
    """Return the profile of points that are as the model's searcher takes them, searched as `how_to_search` says."""
    searches: Searches
    if isinstance(model, TextLabelTreeClassifier):
        searches, trees = TextWork(model.searcher_), [model.tree_]
    else:
        searches, trees = LinearWork(model.searcher_), model.trees_
    n_labels = model.searcher_.n_labels
    k = min(check_integer("k", k, 1), n_labels)
    asked = Asked(points[rows], min(n_searched, n_labels), how)
    measured = measure_costs(searches, asked, repeats=repeats, random_state=random_state, advance=advance)
    labels = model.searcher_.topk(asked.queries, asked.k, n_jobs=1, **how).labels[:, :k]
    with HardwareCounters() as counters:
        searches.time(asked, measured.counts.visits)
    counted = counters.counts
    each = measured.counts.each
    of_two = isinstance(model, TextLabelTreeClassifier)
    oracle, is_oracle = mark_oracle(trees, labels, measured.counts.visits, of_two=of_two)
    return Profile(
        rows=rows,
        k=k,
        how=_told(how, agreement),
        labels=labels,
        counts=measured.counts,
        oracle=oracle,
        is_oracle=is_oracle,
        microseconds=measured.microseconds,
        predicted=measured.costs.microseconds(each),
        parts=measured.costs.by_part(each),
        costs=measured.costs,
        error=measured.error,
        counters=None if counted is None else {name: count / len(rows) for name, count in counted.items()},
        counters_reason=counters.reason,
    )


def _told(how: dict[str, Any], agreement: float | None) -> dict[str, Any]:
    """Return how labels were searched, for a reader."""
    if agreement is not None:
        return {"agreement": agreement}
    return {name: how[name] for name in ("mode", "beam") if name in how}


def _check_rows(rows: Sequence[int] | None, n_points: int, seed: int) -> Int64s:
    if n_points == 0:
        message = "X must have at least one point, got none"
        raise InputError(message)
    if rows is None:
        return np.sort(np.random.default_rng(seed).permutation(n_points)[:MOST_POINTS])
    array = np.asarray(rows)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        refuse("rows", "the numbers of some points", rows)
    if array.min() < 0 or array.max() >= n_points:
        refuse("rows", f"below {n_points}, the number of points", rows)
    return array.astype(np.int64)
