"""Nearest neighbours: the training points most similar to a point vote for its labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from labeltrees._matrices import Float32s, Int64s
from labeltrees._validation import check_integer
from labeltrees.baselines.baseline import Baseline
from labeltrees.baselines.top_labels import top_entries, top_labels
from labeltrees.baselines.training_points import TrainingPoints, training_points
from labeltrees.models.linear.points import unit_rows

_MAX_SIMILARITIES = 8_000_000  # in one block, so that memory is bounded: less than 100 MB
_DENSE = 0.2  # from this share of nonzeros on, dense products are faster


class Neighbours(Baseline):
    """Scores a label by the cosine similarity of the nearest training points that have it.

    Attributes
    ----------
    n_neighbours : int
    """

    name = "neighbours"

    def __init__(self, points: TrainingPoints, n_neighbours: int) -> None:
        super().__init__(points)
        self.n_neighbours = n_neighbours
        self._Y = points.Y
        unit = unit_rows(points.X)
        self._training = unit.toarray() if unit.nnz > _DENSE * unit.shape[0] * unit.shape[1] else unit

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        unit = unit_rows(queries)
        n_rows = max(1, _MAX_SIMILARITIES // max(self._training.shape))
        for start in range(0, unit.shape[0], n_rows):
            # Dense queries, although they are sparse: the product of two sparse matrices took three times as long.
            similarities = self._training @ unit[start : start + n_rows].toarray().T
            yield top_labels((self._votes(np.ascontiguousarray(similarities.T)) @ self._Y).tocsr(), k)

    def _votes(self, similarities: Float32s) -> Any:
        """Return the share of the vote of each training point, as a csr_array (n, N), from similarities (n, N)."""
        all_points = np.arange(similarities.shape[1])
        points, shares, ends = [], [], [0]
        for of_query in similarities:
            nearest = top_entries(of_query, all_points, self.n_neighbours)
            nearest = np.sort(nearest[of_query[nearest] > 0])
            votes = of_query[nearest].astype(np.float64)
            points.append(nearest)
            shares.append(votes / votes.sum() if len(votes) else votes)
            ends.append(ends[-1] + len(votes))
        parts: Any = (np.concatenate(shares), np.concatenate(points), ends)
        return sparse.csr_array(parts, shape=similarities.shape)


def neighbours(train: Any, n_neighbours: int = 50) -> Neighbours:
    """Return the labels of the most similar training points.

    The `n_neighbours` training points with the largest cosine similarity vote for their labels, each with its
    similarity. The score of a label is its share of the vote. Training points without any common feature do not vote.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
    n_neighbours : int

    Notes
    -----
    Every point is compared with every training point, so the time of a prediction grows with their number. A training
    point finds itself: measure on other points.

    Examples
    --------
    >>> import labeltrees as lt
    >>> baseline = lt.baselines.neighbours(([[1, 0], [0, 1]], [[1, 0], [0, 1]]), n_neighbours=1)
    >>> baseline.predict_topk([[3, 1]], k=1)[0].tolist()
    [[0]]
    """
    n_neighbours = check_integer("n_neighbours", n_neighbours, 1)
    return Neighbours(training_points(train), n_neighbours)
