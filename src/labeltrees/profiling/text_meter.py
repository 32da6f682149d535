"""Counts and times the searches of a `TextLabelTreeClassifier`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.profiling.meter import BLOCK_SIZE, Workload
from labeltrees.search.result import SearchStats

if TYPE_CHECKING:
    from labeltrees._core import Float64s

# In the order of src/core/text/hsoftmax_search.hpp.
OPERATIONS = ("bytes", "features", "rows", "visits", "heap_steps")


class TextMeter:
    """Counts and times the searches of a `TextSearcher`.

    The operations: `bytes` of the text; `features`, its words and n-grams, each looked up; `rows`, features that have a
    vector; `visits`, nodes evaluated; and `heap_steps`, nodes that enter or leave the open nodes and labels found.
    """

    SKIPS_SINGLE_CHILDREN: ClassVar[bool] = True

    parts = {  # noqa: RUF012 (read only)
        "prepare": ("queries", "bytes", "features"),
        "rows": ("rows",),
        "visits": ("visits",),
        "heap": ("heap_steps",),
    }

    stages = {  # noqa: RUF012 (read only)
        "read": ("queries", "bytes", "features"),
        "sum": ("queries", "bytes", "features", "rows"),
        "score": ("queries", "bytes", "features", "rows", "visits"),
    }

    def __init__(self, searcher: TextSearcher) -> None:
        self._searcher = searcher
        self._engine = searcher._engine

    def count(self, workload: Workload) -> SearchCounts:
        """Return the counts of every text."""
        texts = workload.queries.items
        request = self._searcher._native(workload.request, len(texts))
        flat, ends, nodes, depths, scores = self._engine.count(texts, request)
        none = np.zeros(len(nodes), np.int32)
        return SearchCounts.of(OPERATIONS, flat, Visits(ends, nodes, depths, scores, none, none.astype(bool)))

    def time(self, workload: Workload, visits: Visits) -> Float64s:
        """Return the microseconds of every text, searched one after the other on this thread."""
        texts = workload.queries.items
        ends = visits.ends if workload.stage == "score" else np.zeros(len(texts) + 1, np.int64)
        microseconds = np.empty(len(texts), np.float32)
        for first in range(0, len(texts), BLOCK_SIZE):
            own = slice(first, first + BLOCK_SIZE)
            if workload.stage == "search":
                result = self._searcher.topk(Texts(texts[own]), workload.request, n_jobs=1, stats=True)
                microseconds[own] = cast(SearchStats, result.stats).microseconds
            else:
                own_ends = ends[first : first + BLOCK_SIZE + 1]
                self._engine.time_parts(texts[own], workload.stage != "read", own_ends, visits.nodes, microseconds[own])
        return microseconds.astype(np.float64)

    def variants(self, workload: Workload, random: np.random.Generator) -> list[Workload]:
        """Return the single stages, and texts with a random half of their words."""
        halves = []
        for text in workload.queries.items:
            words = text.split()
            kept = random.random(len(words)) < 0.5
            halves.append((b" " if isinstance(text, bytes) else " ").join(words[i] for i in np.flatnonzero(kept)))
        others = [workload._replace(stage=stage) for stage in self.stages]
        return [*others, *map(workload._replace(queries=Texts(halves)).with_k, (1, max(workload.request.k, 5)))]
