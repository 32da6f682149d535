"""Evidence from training data: where each feature is strongest, and the centroids of labels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees.labels.embedding import pifa
from labeltrees.models.linear.points import unit_rows
from labeltrees.search.evidence import (
    CENTROID_FEATURES,
    POINTS_PER_FEATURE,
    Evidence,
    NearestPoints,
    ShortRows,
    to_short,
)


def make_evidence(X: Any, Y: Any, *, neighbours: bool, centroids: bool, n_jobs: int | None = None) -> Evidence:
    """Return the evidence of training points, with weights of 0.

    Parameters
    ----------
    X : csr_array or dense array (N, d)
    Y : csr_array (N, L)
    neighbours, centroids : bool
        Which parts to make. Neighbours take at most 6 bytes per value of X and 4 per value of Y, centroids at most 6
        bytes times 32 per label.
    n_jobs : int, optional
    """
    n_labels, n_features = int(Y.shape[1]), int(X.shape[1])
    unit = unit_rows(X)
    points = nearest_points(sp.csr_array(unit), Y) if neighbours else None
    rows = None
    if centroids:
        means = sp.csr_array(pifa(unit, Y, n_jobs=n_jobs))
        rows = strongest_entries(means.indptr, means.indices, means.data, CENTROID_FEATURES)
    return Evidence(n_labels, n_features, points=points, centroids=rows)


def nearest_points(X: Any, Y: Any) -> NearestPoints:
    """Return the points in which each feature is strongest, and the labels of all points."""
    by_feature = X.tocsc()
    points = strongest_entries(by_feature.indptr, by_feature.indices, by_feature.data, POINTS_PER_FEATURE)
    # Rare features tell points apart: those of a query are chosen by their value times this weight.
    n_points_with = np.diff(by_feature.indptr)
    weights = np.log1p(X.shape[0] / np.maximum(n_points_with, 1)).astype(np.float32)
    return NearestPoints(points, weights, Y.indptr.astype(np.int64), Y.indices.astype(np.int32))


def strongest_entries(indptr: Any, columns: Any, values: Any, n_kept: int) -> ShortRows:
    """Return sparse rows with only the `n_kept` largest magnitudes of each; of equal ones, the first.

    Examples
    --------
    >>> strongest_entries(np.array([0, 3]), np.array([2, 5, 7]), np.array([0.5, -1.0, 0.25]), 2).columns
    array([2, 5], dtype=int32)
    """
    kept = np.ones(len(columns), dtype=bool)
    spans = list(pairwise(indptr.tolist()))
    for row in np.flatnonzero(np.diff(indptr) > n_kept).tolist():
        start, end = spans[row]
        size = np.abs(values[start:end])
        limit = np.partition(size, end - start - n_kept)[end - start - n_kept]
        keep = size > limit
        keep[np.flatnonzero(size == limit)[: n_kept - int(np.count_nonzero(keep))]] = True
        kept[start:end] = keep
    ends = np.concatenate([[0], np.cumsum(kept)])[indptr].astype(np.int64)
    return ShortRows(ends, columns[kept].astype(np.int32), to_short(values[kept]))
