"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s, UInt8s


@dataclass(frozen=True)
class SearchStats:
    """What a search did, an entry a query.

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
        Whether a budget ended the search before its time.
    """

    chunks: Int64s
    classifiers: Int64s
    depth: Int32s
    microseconds: Float32s
    partial: NDArray[np.bool_]

    @classmethod
    def empty(cls, n: int) -> SearchStats:
        """Return arrays to be filled."""
        return cls(
            chunks=np.zeros(n, np.int64),
            classifiers=np.zeros(n, np.int64),
            depth=np.zeros(n, np.int32),
            microseconds=np.zeros(n, np.float32),
            partial=np.zeros(n, bool),
        )

    def native(self) -> tuple[Int64s, Int64s, Int32s, Float32s, UInt8s]:
        """Return the arrays in the order of the native call."""
        return self.chunks, self.classifiers, self.depth, self.microseconds, self.partial.view(np.uint8)


@dataclass(frozen=True)
class SearchResult:
    """The labels found.

    Parameters
    ----------
    labels : int64 (n, k)
        Best first, padded with -1. Equal scores: the smaller label first.
    scores : float32 (n, k)
        In [0, 1], padded with 0.
    stats : SearchStats or None
    """

    labels: Int64s
    scores: Float32s
    stats: SearchStats | None = None

    def of_length(self, k: int) -> SearchResult:
        """Return the first k of each list, padded where there are fewer."""
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
    """The nodes that searches opened in one tree, in the order in which they did.

    Parameters
    ----------
    ends : int64 (n + 1,)
        Query i opened ``nodes[ends[i]:ends[i + 1]]``.
    nodes : int32
    scores : float32
        Of each node when it was opened: the log of the product along its path.
    """

    ends: Int64s
    nodes: Int32s
    scores: Float32s
