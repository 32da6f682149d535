"""What a model family provides so that its searches can be profiled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.search.request import SearchRequest

if TYPE_CHECKING:
    from labeltrees._core import Float64s

BLOCK_SIZE = 500  # queries timed by one native call: short enough for Ctrl-C, and it stays on this thread


class Workload(NamedTuple):
    """Queries and how to search them: the whole search, or only up to one of `SearchMeter.stages`."""

    queries: Any
    request: SearchRequest
    stage: str = "search"

    def with_k(self, k: int) -> Workload:
        """Return the same searches for another number of labels."""
        return self._replace(request=replace(self.request, k=k))


class SearchMeter(Protocol):
    """Counts and times the searches of one model. Each model family has such a class, listed in `METERS`."""

    SKIPS_SINGLE_CHILDREN: ClassVar[bool]  # whether nodes with a single child are passed without being counted

    parts: dict[str, tuple[str, ...]]  # the parts of a search, each with the operations that belong to it
    stages: dict[str, tuple[str, ...]]  # stages of a search that can be timed alone, with the operations done by then

    def count(self, workload: Workload) -> SearchCounts:
        """Return the counts of the whole search of every query."""

    def time(self, workload: Workload, visits: Visits) -> Float64s:
        """Return the microseconds of every query, searched one after the other on this thread."""

    def variants(self, workload: Workload, random: np.random.Generator) -> list[Workload]:
        """Return variants of the workload in which counts that usually grow together differ."""
