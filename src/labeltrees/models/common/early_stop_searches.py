"""What learning when to stop asks of the two model families."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.search import PerNode, Searcher
from labeltrees.search.result import SearchTrace
from labeltrees.search.searcher import HOPE_SCALE
from labeltrees.tree.label_tree import LabelTree

_LEAST = 1e-37  # scores are float32


def _logs(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(scores.astype(np.float64), _LEAST)))


class LinearSearches:
    """The exact and the hopeful searches of a linear model, over one tree or several."""

    def __init__(self, searcher: Searcher, trees: list[LabelTree], n_jobs: int | None = None) -> None:
        self.searcher = searcher
        self.trees = trees
        self.n_jobs = n_jobs

    def take(self, X: Any, rows: NDArray[np.int64]) -> Any:
        """Return some of the points."""
        return X[rows]

    def lists(self, X: Any, k: int, losses: Any = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels found (n, k), and the nodes opened (n,)."""
        result = self.searcher.topk(X, k, losses=losses, n_jobs=self.n_jobs, stats=True)
        assert result.stats is not None
        return result.labels, result.stats.chunks

    def tree_lists(self, X: Any, tree: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best labels in one of the trees, and their scores as logs."""
        result = self.searcher.of_tree(tree).topk(X, k, n_jobs=self.n_jobs)
        return result.labels, _logs(result.scores)

    def trace(self, X: Any, tree: int, k: int) -> SearchTrace:
        """Return the nodes opened in one of the trees."""
        return self.searcher.trace(X, k, tree=tree)

    def slack(self, scores: NDArray[np.float64], limit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss from which on nodes of these scores (logs) are not opened where the limit is this."""
        return (scores - limit) / (HOPE_SCALE - scores)

    def node_losses(self, losses: NDArray[np.float32]) -> PerNode:
        """Return the losses of all nodes of all trees as the native search takes them."""
        return PerNode("losses", losses, self.searcher.n_nodes, 0.0)


class TextSearches:
    """The same of a text model."""

    def __init__(self, searcher: TextSearcher, n_jobs: int | None = None) -> None:
        self.searcher = searcher
        self.trees = [searcher.store.tree]
        self.n_jobs = n_jobs

    def take(self, X: Texts, rows: NDArray[np.int64]) -> Texts:
        """Return some of the points."""
        return X[rows]

    def lists(self, X: Texts, k: int, losses: Any = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels found (n, k), and the nodes opened (n,)."""
        result = self.searcher.topk(X, k, factors=losses, n_jobs=self.n_jobs, stats=True)
        assert result.stats is not None
        return result.labels, result.stats.chunks

    def tree_lists(self, X: Texts, tree: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the k best labels, and their scores as logs."""
        result = self.searcher.topk(X, k, n_jobs=self.n_jobs)
        return result.labels, _logs(result.scores)

    def trace(self, X: Texts, tree: int, k: int) -> SearchTrace:
        """Return the nodes evaluated."""
        return self.searcher.trace(X, k)

    def slack(self, scores: NDArray[np.float64], limit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss from which on nodes of these scores (logs) are not opened where the limit is this."""
        return scores - limit

    def node_losses(self, losses: NDArray[np.float32]) -> PerNode:
        """Return the losses of all nodes as the native search takes them."""
        return PerNode("factors", np.exp(-losses), self.searcher.store.tree.n_nodes, 0.0, 1.0)
