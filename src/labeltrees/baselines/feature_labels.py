"""Co-occurrence: labels that often occur together with the features of a point."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from labeltrees._matrices import Float32s, Int64s
from labeltrees._validation import check_integer
from labeltrees.baselines.baseline import Baseline
from labeltrees.baselines.row_blocks import row_blocks
from labeltrees.baselines.top_labels import top_entries, top_labels
from labeltrees.baselines.training_points import TrainingPoints, training_points

_MAX_PRODUCTS = 8_000_000  # in one block, so that memory is bounded: about 200 MB


class CoOccurrence(Baseline):
    """Scores a label by its probability given each feature of the point, averaged over the features.

    Attributes
    ----------
    probabilities_ : csr_array (d, L)
        P(label | feature): the weighted share of the training points with the feature that have the label. Only the
        most probable labels of each feature are kept.
    """

    name = "co-occurrence"

    def __init__(self, points: TrainingPoints, labels_per_feature: int) -> None:
        super().__init__(points)
        self.probabilities_ = _probabilities(points, labels_per_feature)

    def _blocks(self, queries: Any, k: int) -> Iterator[tuple[Int64s, Float32s]]:
        # The value of a feature says how much it counts; its sign does not matter.
        weights = abs(queries).astype(np.float64)
        kept = np.diff(self.probabilities_.indptr)
        for start, end in row_blocks(queries, kept, _MAX_PRODUCTS):
            block = weights[start:end]
            total = np.asarray(block.sum(axis=1)).reshape(-1)
            scale = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)
            yield top_labels((sparse.diags_array(scale) @ block @ self.probabilities_).tocsr(), k)


def co_occurrence(train: Any, labels_per_feature: int = 100) -> CoOccurrence:
    """Return labels by how often they occur together with the features of a point: item to item, if features are items.

    The score of a label is the mean over the features of the point of P(label | feature), weighted by the values of the
    features.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
    labels_per_feature : int
        The number of labels to keep for each feature, the most probable ones.

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


def _probabilities(points: TrainingPoints, n_kept: int) -> Any:
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
