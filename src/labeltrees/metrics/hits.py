"""Comparing returned labels with true labels, and averaging over points: the basis of all metrics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import Float64s, Indicator, Int64s, check_sample_weight, check_Y
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError

Bools = NDArray[np.bool_]


class Hits(NamedTuple):
    """Which of the first k returned labels are true. Metrics that are means over points need only this."""

    hit: Bools  # (n, number of ranks): k ranks, or fewer if there are fewer labels
    labels_per_point: Int64s  # (n,): true labels
    k: int

    def first(self, k: int) -> Hits:
        """Return the hits among the first k ranks."""
        return Hits(self.hit[:, :k], self.labels_per_point, k)


class ComparedLists(NamedTuple):
    """Returned and true labels. Metrics that depend on which labels were found need this."""

    true: Indicator
    returned: Int64s  # (n, number of ranks), -1 where fewer labels were returned
    hits: Hits

    @property
    def n_ranks(self) -> int:
        """The length of the lists."""
        return int(self.returned.shape[1])

    def points_of_true(self) -> Int64s:
        """Return the point of each true label, in the order of ``true.indices``."""
        return np.repeat(np.arange(self.true.n_points, dtype=np.int64), self.true.labels_per_point())


def compare_lists(Y_true: Any, labels: Any, k: Any) -> ComparedLists:
    """Check the arguments of a metric and compare the first k returned labels with the true ones."""
    Y_true = getattr(Y_true, "Y", Y_true)  # of a Dataset
    true = check_Y(Y_true, "Y_true").indicator
    returned = check_returned(ids_of(labels, getattr(Y_true, "label_names", None)), k, true.n_labels)
    if len(returned) != true.n_points:
        message = f"Y_true and labels must have the same number of rows, got {true.n_points} and {len(returned)}"
        raise InputError(message)
    return ComparedLists(true, returned, Hits(_is_true(true, returned), true.labels_per_point(), int(k)))


def ids_of(labels: Any, names: Any) -> Any:
    """Return label ids for names (n, k) padded with None; return `labels` unchanged if they are not names.

    Examples
    --------
    >>> ids_of(np.array([["b", None]], dtype=object), np.array(["a", "b"], dtype=object))
    array([[ 1, -1]])
    """
    if names is None:
        return labels
    array = np.asarray(labels, dtype=object) if isinstance(labels, list) else np.asarray(labels)
    if array.ndim != 2 or not (array.dtype.kind == "U" or any(isinstance(name, str) for name in array.ravel())):
        return labels
    position = {name: label for label, name in enumerate(names.tolist())} | {None: -1}
    unknown = next((name for name in array.ravel().tolist() if name not in position), None)
    if unknown is not None:
        refuse("labels", "names of labels of Y_true; read both datasets with the same label_names", unknown)
    return np.vectorize(position.__getitem__, otypes=[np.int64])(array)


def check_returned(labels: Any, k: Any, n_labels: int) -> Int64s:
    """Return the first k columns of `labels`, checked to be distinct label ids (or -1).

    k may exceed the number of columns only if there are at least `n_labels` columns: no list can be longer.
    """
    allowed = "a matrix of label ids (n, k), as predict_topk returns for labels without names"
    try:
        array = np.asarray(labels)
    except ValueError:
        refuse("labels", allowed, labels)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        message = f"labels must be {allowed}, got an array of shape {array.shape} and type {array.dtype}"
        raise InputError(message)
    if array.shape[0] == 0 or array.shape[1] == 0:
        message = f"labels must have at least one row and one column, got shape {array.shape}"
        raise InputError(message)
    k = check_integer("k", k, 1, array.shape[1] if array.shape[1] < n_labels else None)
    returned = np.ascontiguousarray(array[:, :k], dtype=np.int64)
    outside = (returned < -1) | (returned >= n_labels)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        message = f"labels must be in [-1, {n_labels - 1}], got {array[row, column]} in row {row}"
        raise InputError(message)
    ascending = np.sort(returned, axis=1)
    repeated = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0)
    if repeated.any():
        row, column = np.argwhere(repeated)[0]
        message = f"labels must be distinct in every row, got {ascending[row, column]} twice in row {row}"
        raise InputError(message)
    return returned


def _is_true(true: Indicator, returned: Int64s) -> Bools:
    """Return whether each returned label is one of its point's true labels."""
    # One number per pair (point, label), ascending because points and the labels of each point are.
    points = np.repeat(np.arange(true.n_points, dtype=np.int64), true.labels_per_point())
    pairs = points * true.n_labels + true.indices
    wanted = np.arange(true.n_points, dtype=np.int64)[:, np.newaxis] * true.n_labels + returned
    if len(pairs) == 0:
        return np.zeros(returned.shape, dtype=bool)
    place = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    return np.asarray((pairs[place] == wanted) & (returned >= 0))


def discounts(k: int) -> Float64s:
    """Return 1 / log2(rank + 1) for the ranks 1, ..., k."""
    return np.asarray(1 / np.log2(np.arange(2, k + 2)))


# Point weights: a point of weight 2 counts like two equal points.


def check_weights(sample_weight: Any, n_points: int) -> Float64s | None:
    """Return the weights divided by the largest, so that no product overflows; None for equal weights."""
    weights = check_sample_weight(sample_weight, n_points)
    return None if weights is None else weights / weights.max()


def mean_over_points(values: NDArray[Any], weights: Float64s | None) -> float:
    """Return the weighted mean of one value per point."""
    return float(values.mean() if weights is None else np.average(values, weights=weights))


def count_labels(labels: NDArray[Any], points: Int64s, weights: Float64s | None, n_labels: int) -> Float64s:
    """Return the total weight of each label's points (L,), from pairs of a label and a point."""
    return np.bincount(labels, None if weights is None else weights[points], minlength=n_labels).astype(np.float64)
