"""The nodes a search opens for one point, one by one: the plain form of what the native search does, to look at."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import is_sparse
from labeltrees.storage.unpack import NodeClassifiers, unpack_node


class Visit(NamedTuple):
    """A node that was opened."""

    node: int
    depth: int
    score: float


class SearchTracer:
    """Repeats searches in the first tree of a linear model, slowly, and tells which nodes they open."""

    def __init__(self, model: Any) -> None:
        self._searcher = model.searcher_
        self._beam = model.beam
        self._opened: dict[int, NodeClassifiers] = {}

    def trace(self, row: Any, k: int) -> list[Visit]:
        """Return the nodes opened for a point (1, d) until the k best labels are known, in the order of opening."""
        query = self._prepared(row)
        found: list[float] = []  # log scores of the k best labels so far, a heap
        waiting: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # minus the log score, node, depth
        opened_at: dict[int, int] = {}
        visits: list[Visit] = []
        while waiting:
            lost, node, depth = heapq.heappop(waiting)
            if len(found) == k and -lost < found[0]:
                break
            if self._beam is not None and opened_at.get(depth, 0) >= self._beam:
                continue
            opened_at[depth] = opened_at.get(depth, 0) + 1
            visits.append(Visit(node, depth, float(np.exp(-lost))))
            children, log_scores = self._scores(node, query)
            for child, log_score in zip(children, log_scores - lost, strict=True):
                if child >= 0:
                    heapq.heappush(waiting, (-float(log_score), int(child), depth + 1))
                elif len(found) < k:
                    heapq.heappush(found, float(log_score))
                else:
                    heapq.heappushpop(found, float(log_score))
        return visits

    def _prepared(self, row: Any) -> Any:
        dense = row.toarray()[0] if is_sparse(row) else np.asarray(row).reshape(-1)
        norm = float(np.linalg.norm(dense))
        return dense / norm if self._searcher.normalize and norm > 0 else dense

    def _scores(self, node: int, query: Any) -> tuple[Any, Any]:
        if node not in self._opened:
            self._opened[node] = unpack_node(self._searcher.stores[0], node)
        part = self._opened[node]
        margins = part.weights @ query + part.bias
        if self._searcher.loss == "logistic":
            return part.children, -np.logaddexp(0, -margins)
        return part.children, -(np.maximum(0, 1 - margins) ** self._searcher.score_power)
