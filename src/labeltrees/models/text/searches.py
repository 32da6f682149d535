"""The searches of a text model that early stopping learns from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labeltrees.models.common.early_stop import log_scores
from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.search import NodeValues, SearchRequest
from labeltrees.search.result import SearchTrace


class TextSearches:
    """The exact, discounted and traced searches of a text model, which has one tree."""

    def __init__(self, searcher: TextSearcher, n_jobs: int | None = None) -> None:
        self.searcher = searcher
        self.trees = [searcher.store.tree]
        self.n_jobs = n_jobs

    def lists(
        self, X: Texts, k: int, discounts: NodeValues | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels found (n, k), and the number of nodes opened (n,)."""
        result = self.searcher.topk(X, SearchRequest(k, discounts=discounts), n_jobs=self.n_jobs, stats=True)
        assert result.stats is not None
        return result.labels, result.stats.chunks

    def tree_lists(self, X: Texts, tree: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best labels (n, k), and the logarithms of their scores."""
        result = self.searcher.topk(X, k, n_jobs=self.n_jobs)
        return result.labels, log_scores(result.scores)

    def trace(self, X: Texts, tree: int, k: int) -> SearchTrace:
        """Return the nodes that an exact search evaluates."""
        return self.searcher.trace(X, k)

    def required_discounts(self, scores: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest discount at which nodes with these log scores are skipped for these limits."""
        return scores - limits
