"""The searches of a text model, counted and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.profiling.measure_costs import AT_ONCE, Asked
from labeltrees.search.request import SearchRequest
from labeltrees.search.result import SearchStats

if TYPE_CHECKING:
    from labeltrees._core import Float64s

COUNTED = ("bytes", "features", "rows", "visits", "heap_steps")  # as src/core/text/hsoftmax_counts.hpp has them


class TextWork:
    """Counts and times the searches of a `TextSearcher`.

    Counted for each text are its bytes; its features, words and n-grams, each looked up; rows, those of them that have
    a vector; visits, the nodes evaluated; and heap steps, nodes entered among the open ones or taken from them and
    labels offered.
    """

    parts = {  # noqa: RUF012 (read only)
        "prepare": ("queries", "bytes", "features"),
        "rows": ("rows",),
        "visits": ("visits",),
        "heap": ("heap_steps",),
    }

    # What is left to count where a search is not whole.
    stages = {  # noqa: RUF012 (read only)
        "read": ("queries", "bytes", "features"),
        "sum": ("queries", "bytes", "features", "rows"),
        "score": ("queries", "bytes", "features", "rows", "visits"),
    }

    def __init__(self, searcher: TextSearcher) -> None:
        self._searcher = searcher
        self._engine = searcher._engine

    def count(self, asked: Asked) -> SearchCounts:
        """Return the counts of every text."""
        flat, ends, nodes, depths, scores = self._engine.count(
            asked.queries.items, self._most(asked.k), self._factors(asked)
        )
        none = np.zeros(len(nodes), np.int32)
        return SearchCounts.of(COUNTED, flat, Visits(ends, nodes, depths, scores, none, none.astype(bool)))

    def time(self, asked: Asked, visits: Visits) -> Float64s:
        """Return the microseconds of every text, one after the other on this thread."""
        texts = asked.queries.items
        ends = visits.ends if asked.stage == "score" else np.zeros(len(texts) + 1, np.int64)
        microseconds = np.empty(len(texts), np.float32)
        for first in range(0, len(texts), AT_ONCE):
            own = slice(first, first + AT_ONCE)
            if asked.stage == "search":
                result = self._searcher.topk(Texts(texts[own]), self._most(asked.k), **asked.how, n_jobs=1, stats=True)
                microseconds[own] = cast(SearchStats, result.stats).microseconds
            else:
                own_ends = ends[first : first + AT_ONCE + 1]
                self._engine.time_parts(texts[own], asked.stage != "read", own_ends, visits.nodes, microseconds[own])
        return microseconds.astype(np.float64)

    def altered(self, asked: Asked, random: np.random.Generator) -> list[Asked]:
        """Return the texts read only, summed only, scored only, and with half of their words, drawn at random."""
        halves = []
        for text in asked.queries.items:
            words = text.split()
            kept = random.random(len(words)) < 0.5
            halves.append((b" " if isinstance(text, bytes) else " ").join(words[i] for i in np.flatnonzero(kept)))
        others = [asked._replace(stage=stage) for stage in self.stages]
        return [*others, *(asked._replace(queries=Texts(halves), k=k) for k in (1, max(asked.k, 5)))]

    def _factors(self, asked: Asked) -> Any:
        return self._searcher._native(SearchRequest(asked.k), asked.how.get("factors"))[-1]

    def _most(self, k: int) -> int:
        return min(k, self._searcher.n_labels)
