"""Counts and times the searches of a `LabelTreeClassifier`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.profiling.meter import BLOCK_SIZE, Workload
from labeltrees.search.queries import query_rows
from labeltrees.search.searcher import Searcher

if TYPE_CHECKING:
    from labeltrees._core import Float64s

# In the order of src/core/search/counts.hpp.
OPERATIONS = (
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


class LinearMeter:
    """Counts and times the searches of a `Searcher`.

    The operations: `nonzeros` of the query; `visits`, nodes opened; `lookups` of a feature in one level of a chunk's
    index; `hits`, features that have a row there; `weights` added one by one, and `vectors` of 16 weights added
    together; `children` scored; `heap_steps`, nodes and labels that enter or leave a heap; and, in an ensemble,
    `path_visits`, nodes opened in one tree to score labels found in another. The root has its own cost: every query
    visits it, so it stays in the cache.
    """

    SKIPS_SINGLE_CHILDREN: ClassVar[bool] = False

    _PARTS = {  # noqa: RUF012 (read only)
        "prepare": ("queries", "nonzeros"),
        "visits": ("roots", "below_root"),
        "lookups": ("lookups",),
        "weights": ("hits", "weights", "vectors"),
        "children": ("children",),
        "heap": ("heap_steps",),
    }

    stages = {  # noqa: RUF012 (read only)
        "prepare": ("queries", "nonzeros"),
        "score": ("queries", "nonzeros", "roots", "below_root", "lookups", "hits", "weights", "vectors", "children"),
    }

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._engine = searcher._engine
        self.parts = {**self._PARTS, **({"other trees": ("path_visits",)} if len(searcher.stores) > 1 else {})}

    def count(self, workload: Workload) -> SearchCounts:
        """Return the counts of every query, from a slower search that counts its operations."""
        rows = query_rows(workload.queries, self._searcher.n_features)
        request = self._searcher._native(replace(workload.request, evidence=False), rows.n)
        flat, ends, nodes, depths, scores, trees, on_path = self._engine.count(rows, request)
        visits = Visits(ends, nodes, depths, np.exp(scores.astype(np.float64)), trees, on_path.view(bool))
        counted = SearchCounts.of(OPERATIONS, flat, visits)
        n_trees = len(self._searcher.stores)
        roots = np.where(counted.each["visits"] > 0, n_trees, 0)  # without any feature there is no search
        each = {**counted.each, "roots": roots, "below_root": counted.each["visits"] - roots}
        return SearchCounts(each, visits)

    def time(self, workload: Workload, visits: Visits) -> Float64s:
        """Return the microseconds of every query, searched one after the other on this thread."""
        rows = query_rows(workload.queries, self._searcher.n_features)
        request = self._searcher._native(replace(workload.request, evidence=False), rows.n)
        ends = visits.ends if workload.stage == "score" else np.zeros(rows.n + 1, np.int64)
        microseconds = np.empty(rows.n, np.float32)
        for first in range(0, rows.n, BLOCK_SIZE):
            own = microseconds[first : first + BLOCK_SIZE]
            if workload.stage == "search":
                self._engine.time_each(rows, request, first, own)
            else:
                own_ends = ends[first : first + len(own) + 1]
                self._engine.time_scoring(rows, first, own_ends, visits.nodes, visits.trees, own)
        return microseconds.astype(np.float64)

    def variants(self, workload: Workload, random: np.random.Generator) -> list[Workload]:
        """Return the single stages, a narrow beam, and queries with half of the features removed or replaced.

        Fewer features with as many visits separate the costs of the two. Replaced features are rarely found, which
        separates lookups from hits.
        """
        others = [workload._replace(stage=stage) for stage in self.stages]
        others.append(workload._replace(request=replace(workload.request, beam=1, agreement=None)))
        if self._searcher.stores[0].matrices:  # dense chunks read all features, whatever their values
            return others
        changed = [_with_half_removed(workload.queries, random), _with_half_replaced(workload.queries, random)]
        return [
            *others,
            *(
                workload._replace(queries=queries).with_k(k)
                for queries in changed
                for k in (1, max(workload.request.k, 5))
            ),
        ]


def _with_half_removed(queries: Any, random: np.random.Generator) -> Any:
    """Return the queries without a random half of their features."""
    entries = sparse.coo_array(queries)
    kept = random.random(entries.nnz) < 0.5
    row, column = (index[kept] for index in entries.coords)
    return sparse.csr_array((entries.data[kept], (row, column)), shape=entries.shape)


def _with_half_replaced(queries: Any, random: np.random.Generator) -> Any:
    """Return the queries with a random half of their features replaced by random ones."""
    entries = sparse.coo_array(queries)
    row, column = entries.coords
    others = random.integers(0, entries.shape[1], entries.nnz)
    features = np.where(random.random(entries.nnz) < 0.5, others, column)
    return sparse.csr_array((entries.data, (row, features)), shape=entries.shape)
