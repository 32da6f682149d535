"""Profile: where the time of searches goes, query by query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Int64s
from labeltrees._validation import check_integer
from labeltrees.profiling.cost_model import CostModel
from labeltrees.profiling.counts import SearchCounts

_ONLY_FOR_COSTS = {"queries", "visits", "roots", "below_root"}  # not reported: the number of nodes says the same


@dataclass(frozen=True, repr=False)
class Profile:
    """What the searches of some points did, and how long they took.

    Parameters
    ----------
    rows : int64 (n,)
        The points of X that were searched.
    k : int
    search : dict
        How labels were searched: mode and beam, or the requested agreement.
    labels : int64 (n, k)
        The returned label ids, padded with -1.
    counts : SearchCounts
        How often each search ran each operation, and the nodes it opened (``counts.visits``).
    oracle : int64 (n,)
        The number of nodes that an oracle would open: the ancestors of the returned labels.
    is_oracle : bool (number of visits,)
        Which of the opened nodes an oracle would open too.
    microseconds : float64 (n,)
        Measured time of the search alone, one query after the other on one thread: the shortest of several rounds.
    predicted : float64 (n,)
        The time predicted by the cost model.
    parts : dict from str to float64 (n,)
        Predicted microseconds of each part of the search.
    costs : CostModel
        Nanoseconds per operation, measured on this machine for this model.
    error : float
        Relative error of the predicted mean time on the points that the costs were not fitted to.
    counters : dict from str to float, or None
        Instructions and cache misses per query, if the hardware counters are available.
    counters_reason : str or None
        Why the hardware counters are not available.
    """

    rows: Int64s
    k: int
    search: dict[str, Any]
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

    def __repr__(self) -> str:
        parts = ", ".join(f"{part} {times.mean():.1f} us" for part, times in self.parts.items())
        nodes = f"{self.counts.each['visits'].mean():.1f} nodes per query (an oracle: {self.oracle.mean():.1f})"
        return (
            f"Profile({self.n_queries:,} queries, k={self.k}; {self.microseconds.mean():.1f} us and {nodes}; {parts})"
        )

    @property
    def n_queries(self) -> int:
        """The number of points that were searched."""
        return len(self.rows)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One record per query: counts, and microseconds measured, predicted and by part."""
        return _records(self._columns)

    def record(self, place: int) -> dict[str, Any]:
        """Return one record of the `table`; `place` is in [0, n_queries)."""
        place = check_integer("place", place, 0, self.n_queries - 1)
        return {name: column[place].item() for name, column in self._columns.items()}

    @cached_property
    def _columns(self) -> dict[str, Any]:
        each = {name: values for name, values in self.counts.each.items() if name not in _ONLY_FOR_COSTS}
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
        """Return the nodes that one query opened, in order, with whether an oracle would open them too.

        `place` is in [0, n_queries).
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
        """Return for each depth the mean number of nodes that a search opens, and that an oracle would open."""
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
            **self.search,
            "counts": {
                name: float(own.mean()) for name, own in self.counts.each.items() if name not in _ONLY_FOR_COSTS
            },
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
    """Return columns of equal length as records of plain numbers."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _spread(values: Any) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "p50": float(np.percentile(values, 50)),
        "p99": float(np.percentile(values, 99)),
    }
