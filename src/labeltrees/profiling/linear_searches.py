"""The searches of a `Searcher`, counted and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.profiling.measure_costs import AT_ONCE, Asked
from labeltrees.search.queries import Rows, check_rows
from labeltrees.search.request import SearchRequest
from labeltrees.search.searcher import Searcher

if TYPE_CHECKING:
    from labeltrees._core import Float64s

# As src/core/search/counts.hpp has them.
COUNTED = (
    "nonzeros",
    "visits",
    "lookups",
    "hits",
    "weights",
    "vectors",
    "children",
    "heap_steps",
    "path_visits",
)


class LinearWork:
    """Counts and times the searches of a `Searcher`.

    Counted for each query are its nonzeros; visits, the nodes opened; lookups, a feature in a level of a chunk's index;
    hits, features that have a row there; weights added one by one, and vectors of 16 added at once; children scored;
    heap steps, nodes and labels entered in their heaps or taken from them; and, in an ensemble, path visits, nodes
    opened in one tree to score labels found in another. The root has a cost of its own: it is visited by all and always
    in the cache.
    """

    _PARTS = {  # noqa: RUF012 (read only)
        "prepare": ("queries", "nonzeros"),
        "visits": ("roots", "below_root"),
        "lookups": ("lookups",),
        "weights": ("hits", "weights", "vectors"),
        "children": ("children",),
        "heap": ("heap_steps",),
    }

    # What is left to count where a search is not whole.
    stages = {  # noqa: RUF012 (read only)
        "prepare": ("queries", "nonzeros"),
        "score": ("queries", "nonzeros", "roots", "below_root", "lookups", "hits", "weights", "vectors", "children"),
    }

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._engine = searcher._engine
        self.parts = {**self._PARTS, **({"other trees": ("path_visits",)} if len(searcher.stores) > 1 else {})}

    def count(self, asked: Asked) -> SearchCounts:
        """Return the counts of every query: its search is gone over again in plain code."""
        rows = check_rows(asked.queries, self._searcher.n_features)
        request = self._native(asked)
        flat, ends, nodes, depths, scores, trees, on_path = self._engine.count(
            rows.indptr, rows.features, rows.values, rows.n, *request
        )
        visits = Visits(ends, nodes, depths, np.exp(scores.astype(np.float64)), trees, on_path.view(bool))
        counted = SearchCounts.of(COUNTED, flat, visits)
        roots = np.full(rows.n, len(self._searcher.stores))
        each = {**counted.each, "roots": roots, "below_root": counted.each["visits"] - roots}
        return SearchCounts(each, visits)

    def time(self, asked: Asked, visits: Visits) -> Float64s:
        """Return the microseconds of every query, one after the other on this thread."""
        rows = check_rows(asked.queries, self._searcher.n_features)
        request = self._native(asked)
        ends = visits.ends if asked.stage == "score" else np.zeros(rows.n + 1, np.int64)
        microseconds = np.empty(rows.n, np.float32)
        for first in range(0, rows.n, AT_ONCE):
            own = slice(first, first + AT_ONCE)
            n, indptr, features, values = self._some(rows, first)
            if asked.stage == "search":
                given: Any = (indptr, features, values, n, *request, microseconds[own])
                self._engine.time_each(*given)
            else:
                own_ends = ends[first : first + n + 1]
                self._engine.time_scoring(
                    indptr, features, values, n, own_ends, visits.nodes, visits.trees, microseconds[own]
                )
        return microseconds.astype(np.float64)

    def _some(self, rows: Rows, first: int) -> Rows:
        """Return the queries of a block; a CSR matrix keeps its features, and its row ends point into them."""
        n = min(AT_ONCE, rows.n - first)
        if rows.indptr is not None:
            return Rows(n, rows.indptr[first : first + n + 1], rows.features, rows.values)
        width = self._searcher.n_features
        return Rows(n, None, None, rows.values[first * width : (first + n) * width])

    def _native(self, asked: Asked) -> Any:
        how = {name: value for name, value in asked.how.items() if name != "losses"}
        request = SearchRequest(asked.k, **how)
        return *request.native(), self._searcher._check_losses(asked.how.get("losses"), request)

    def altered(self, asked: Asked, random: np.random.Generator) -> list[Asked]:
        """Return the queries prepared only, scored only, with a narrow beam, with half their features, half exchanged.

        Fewer features for as many visits tell the two apart; features drawn at random are seldom found, which tells
        lookups from hits.
        """
        others = [asked._replace(stage=stage) for stage in self.stages]
        others.append(asked._replace(how={**asked.how, "beam": 1}))
        if self._searcher.stores[0].matrices:  # all features are looked at, whatever their values
            return others
        changed = [_thinned(asked.queries, random), _exchanged(asked.queries, random)]
        return [*others, *(asked._replace(queries=queries, k=k) for queries in changed for k in (1, max(asked.k, 5)))]


def _entries(queries: Any) -> Any:
    return sparse.coo_array(queries)


def _thinned(queries: Any, random: np.random.Generator) -> Any:
    """Return the queries with half of their features, drawn at random."""
    entries = _entries(queries)
    kept = random.random(entries.nnz) < 0.5
    row, column = (index[kept] for index in entries.coords)
    return sparse.csr_array((entries.data[kept], (row, column)), shape=entries.shape)


def _exchanged(queries: Any, random: np.random.Generator) -> Any:
    """Return the queries with half of their features exchanged for others, drawn from all."""
    entries = _entries(queries)
    row, column = entries.coords
    others = random.integers(0, entries.shape[1], entries.nnz)
    exchanged = np.where(random.random(entries.nnz) < 0.5, others, column)
    return sparse.csr_array((entries.data, (row, exchanged)), shape=entries.shape)
