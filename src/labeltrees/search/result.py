"""Results of searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from labeltrees import _core
    from labeltrees._core import Float32s, Int32s, Int64s


_ALWAYS_PADDED = 1000


def list_length(k: int, n_labels: int) -> int:
    """Return the number of columns of lists of the k best of `n_labels` labels.

    Lists are padded to k columns. A k above both 1,000 and the number of labels is reduced to the number of labels, to
    save memory.

    Examples
    --------
    >>> list_length(5, 3), list_length(10**8, 3)
    (5, 3)
    """
    return k if k <= max(n_labels, _ALWAYS_PADDED) else n_labels


@dataclass(frozen=True)
class SearchStats:
    """What each search did, one entry per query.

    Parameters
    ----------
    chunks : int64 (n,)
        Nodes opened.
    classifiers : int64 (n,)
        Children scored.
    depth : int32 (n,)
        Depth of the deepest child scored; the root's children have depth 1.
    microseconds : float32 (n,)
    partial : bool (n,)
        Whether a budget ended the search.
    no_features : bool (n,)
        Whether the query has no feature that the model knows. Its list then contains the most frequent labels, with
        their shares of the training points as scores.
    """

    chunks: Int64s
    classifiers: Int64s
    depth: Int32s
    microseconds: Float32s
    partial: NDArray[np.bool_]
    no_features: NDArray[np.bool_]

    def __repr__(self) -> str:
        n = len(self.chunks)
        if n == 0:
            return "SearchStats(0 queries)"
        means = (self.chunks.mean(), self.classifiers.mean(), self.depth.max(), self.microseconds.mean())
        nodes, classifiers, depth, microseconds = map(float, means)
        return (
            f"SearchStats({n:,} queries: {nodes:.1f} nodes, {classifiers:.1f} classifiers and {microseconds:.1f} us "
            f"per query; depth at most {depth:.0f}; {self.partial.sum():,} partial, {self.no_features.sum():,} without "
            "known features)"
        )


@dataclass(frozen=True)
class SearchResult:
    """The labels found for each query.

    Parameters
    ----------
    labels : int64 (n, k)
        Best first, padded with -1. Of equal scores, the smaller label comes first.
    scores : float32 (n, k)
        In [0, 1] unless labels have weights or a trend; padded with 0.
    stats : SearchStats or None
    """

    labels: Int64s
    scores: Float32s
    stats: SearchStats | None = None

    def __repr__(self) -> str:
        n, k = self.labels.shape
        more = "" if self.stats is None else f"; {self.stats!r}"
        return f"SearchResult({n:,} queries, {k} labels each{more})"

    @classmethod
    def from_native(cls, arrays: _core.NativeResults, n_found: int, k: int) -> SearchResult:
        """Return the result of a native search for `n_found` labels as lists of length k, cut or padded.

        `n_found` is less than k only if the model has fewer than k labels.
        """
        labels, scores, stats = arrays
        own = None if stats is None else SearchStats(*stats[:4], stats[4].view(bool), stats[5].view(bool))
        return cls(labels.reshape(-1, n_found), scores.reshape(-1, n_found), own)._of_length(list_length(k, n_found))

    def _of_length(self, k: int) -> SearchResult:
        more = k - self.labels.shape[1]
        if more == 0:
            return self
        labels, scores = self.labels[:, :k], self.scores[:, :k]
        if more > 0:
            labels = np.pad(labels, ((0, 0), (0, more)), constant_values=-1)
            scores = np.pad(scores, ((0, 0), (0, more)))
        return SearchResult(np.ascontiguousarray(labels), np.ascontiguousarray(scores), self.stats)


@dataclass(frozen=True)
class SearchTrace:
    """The nodes that searches opened in one tree, in order.

    Parameters
    ----------
    ends : int64 (n + 1,)
        Query i opened ``nodes[ends[i]:ends[i + 1]]``.
    nodes : int32
    scores : float32
        Score of each node: the log of the product along its path.
    """

    ends: Int64s
    nodes: Int32s
    scores: Float32s
