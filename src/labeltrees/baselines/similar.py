"""Baselines that use the features of a point: co-occurrence with labels, and nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from labeltrees._matrices import Float32s, Int64s
from labeltrees._validation import check_integer
from labeltrees.baselines.baseline import Baseline, BaselinePoints, top_entries, top_labels, training_points
from labeltrees.models.linear.features import unit_rows


def row_blocks(left: Any, entries_per_row: Any, max_products: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of rows of `left` for a product with another sparse matrix.

    A range needs at most `max_products` multiplications of nonzeros, or is a single row.

    Parameters
    ----------
    left : csr_array (n, m)
    entries_per_row : array of int (m,)
        The nonzeros in each row of the other matrix.
    max_products : int

    Examples
    --------
    >>> from scipy import sparse
    >>> list(row_blocks(sparse.csr_array([[1, 0], [1, 1], [0, 1]]), np.array([4, 1]), 6))
    [(0, 1), (1, 3)]
    """
    n_rows = left.shape[0]
    products = np.asarray(entries_per_row, dtype=np.int64)[left.indices]
    # cumsum instead of reduceat, which fails on empty rows
    done = np.concatenate([[0], np.cumsum(products)])[left.indptr]
    start = 0
    while start < n_rows:
        end = int(np.searchsorted(done, done[start] + max_products, side="right")) - 1
        end = min(max(end, start + 1), n_rows)
        yield start, end
        start = end


_MAX_PRODUCTS = 8_000_000  # per block, which limits memory to about 200 MB


class CoOccurrence(Baseline):
    """Scores a label by its probability given each feature of the point, averaged over the features.

    Attributes
    ----------
    probabilities_ : csr_array (d, L)
        P(label | feature): the weighted share of the training points with the feature that have the label. Only the
        most probable labels of each feature are kept.
    """

    name = "co-occurrence"

    def __init__(self, points: BaselinePoints, labels_per_feature: int) -> None:
        super().__init__(points)
        self.probabilities_ = _probabilities(points, labels_per_feature)

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        # Features are weighted by their absolute values.
        weights = abs(queries).astype(np.float64)
        kept = np.diff(self.probabilities_.indptr)
        for start, end in row_blocks(queries, kept, _MAX_PRODUCTS):
            block = weights[start:end]
            total = np.asarray(block.sum(axis=1)).reshape(-1)
            scale = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)
            yield top_labels((sparse.diags_array(scale) @ block @ self.probabilities_).tocsr(), k)


def co_occurrence(train: Any, labels_per_feature: int = 100) -> CoOccurrence:
    """Return a baseline that predicts labels which often occur with the features of a point.

    The score of a label is the mean of P(label | feature) over the features of the point, weighted by their absolute
    values. If features are items, this is item-to-item recommendation.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
    labels_per_feature : int
        How many labels to keep for each feature: the most probable ones.

    Examples
    --------
    >>> import labeltrees as lt
    >>> baseline = lt.baselines.co_occurrence(([[1, 0], [1, 1], [0, 1]], [[1, 0], [1, 0], [0, 1]]))
    >>> labels, scores = baseline.predict_topk([[0, 1], [1, 0]], k=2)
    >>> labels.tolist(), scores.tolist()
    ([[0, 1], [0, -1]], [[0.5, 0.5], [1.0, 0.0]])
    """
    labels_per_feature = check_integer("labels_per_feature", labels_per_feature, 1)
    return CoOccurrence(training_points(train), labels_per_feature)


def _probabilities(points: BaselinePoints, n_kept: int) -> Any:
    """Return P(label | feature) for the `n_kept` most probable labels of each feature, as a csr_array (d, L)."""
    present = points.X.T.tocsr().astype(np.float64)  # (d, N): the points of each feature
    present.data[:] = present.data != 0
    present.eliminate_zeros()
    scaled = points.weights / points.weights.max()
    total = present @ scaled
    weighted = sparse.diags_array(scaled) @ points.Y
    labels_per_point = np.diff(points.Y.indptr)
    parts = [sparse.csr_array((0, points.Y.shape[1]))]
    for start, end in row_blocks(present, labels_per_point, _MAX_PRODUCTS):
        counts = (present[start:end] @ weighted).tocsr()
        counts.sort_indices()
        of_block = total[start:end]
        shares = sparse.diags_array(np.divide(1.0, of_block, out=np.zeros(end - start), where=of_block > 0)) @ counts
        parts.append(_keep_largest(shares.tocsr(), n_kept))
    return sparse.vstack(parts, format="csr")


def _keep_largest(matrix: Any, n_kept: int) -> Any:
    """Return a matrix with only the `n_kept` largest entries of each row; of equal ones, those in smaller columns."""
    kept = np.ones(matrix.nnz, dtype=bool)
    spans = list(pairwise(matrix.indptr.tolist()))
    for row in np.flatnonzero(np.diff(matrix.indptr) > n_kept).tolist():
        start, end = spans[row]
        kept[start:end] = False
        kept[start + top_entries(matrix.data[start:end], matrix.indices[start:end], n_kept)] = True
    ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


_MAX_SIMILARITIES = 8_000_000  # per block, which limits memory to less than 100 MB
_DENSE = 0.2  # above this share of nonzeros, dense products are faster


class Neighbours(Baseline):
    """Scores a label by the cosine similarity of the nearest training points that have it.

    Attributes
    ----------
    n_neighbours : int
    """

    name = "neighbours"

    def __init__(self, points: BaselinePoints, n_neighbours: int) -> None:
        super().__init__(points)
        self.n_neighbours = n_neighbours
        self._Y = points.Y
        unit = unit_rows(points.X)
        self._training = unit.toarray() if unit.nnz > _DENSE * unit.shape[0] * unit.shape[1] else unit

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        unit = unit_rows(queries)
        n_rows = max(1, _MAX_SIMILARITIES // max(self._training.shape))
        for start in range(0, unit.shape[0], n_rows):
            # Queries are made dense, because the product of two sparse matrices took three times as long.
            similarities = self._training @ unit[start : start + n_rows].toarray().T
            yield top_labels((self._votes(np.ascontiguousarray(similarities.T)) @ self._Y).tocsr(), k)

    def _votes(self, similarities: Float32s) -> Any:
        """Return each training point's share of the vote, as a csr_array (n, N), from similarities (n, N)."""
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
    """Return a baseline that predicts the labels of the most similar training points.

    The `n_neighbours` training points with the largest cosine similarity vote for their labels, each with its
    similarity if that is positive. The score of a label is its share of the vote.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
    n_neighbours : int

    Notes
    -----
    Every point is compared with every training point, so the time of a prediction grows with their number. A training
    point is its own nearest neighbour, so evaluate on other points.

    Examples
    --------
    >>> import labeltrees as lt
    >>> baseline = lt.baselines.neighbours(([[1, 0], [0, 1]], [[1, 0], [0, 1]]), n_neighbours=1)
    >>> baseline.predict_topk([[3, 1]], k=1)[0].tolist()
    [[0]]
    """
    n_neighbours = check_integer("n_neighbours", n_neighbours, 1)
    return Neighbours(training_points(train), n_neighbours)
