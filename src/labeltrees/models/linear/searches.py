"""The searches of a linear model that early stopping learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees.models.common.early_stop_tables import log_scores
from labeltrees.search import NodeValues, Searcher, SearchRequest
from labeltrees.search.result import SearchTrace
from labeltrees.search.searcher import PRIORITY_SCALE
from labeltrees.tree.label_tree import LabelTree


class LinearSearches:
    """The exact, discounted and traced searches of a linear model, over one tree or several, without evidence."""

    def __init__(self, searcher: Searcher, trees: list[LabelTree], n_jobs: int | None = None) -> None:
        self.searcher = searcher
        self.trees = trees
        self.n_jobs = n_jobs

    def lists(self, X: Any, k: int, discounts: NodeValues | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels found (n, k), and the number of nodes opened (n,)."""
        request = SearchRequest(k, discounts=discounts, evidence=False)
        result = self.searcher.topk(X, request, n_jobs=self.n_jobs, stats=True)
        assert result.stats is not None
        return result.labels, result.stats.chunks

    def tree_lists(self, X: Any, tree: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best labels in one of the trees (n, k), and the logarithms of their scores."""
        result = self.searcher.of_tree(tree).topk(X, k, n_jobs=self.n_jobs)
        return result.labels, log_scores(result.scores)

    def trace(self, X: Any, tree: int, k: int) -> SearchTrace:
        """Return the nodes that an exact search opens in one of the trees."""
        return self.searcher.trace(X, k, tree=tree)

    def required_discounts(self, scores: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest discount at which nodes with these log scores are skipped for these limits."""
        return (scores - limits) / (PRIORITY_SCALE - scores)
