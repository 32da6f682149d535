"""Evidence beside the tree: nearest training points and label centroids, in the form that native searches use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees._validation import check_n_jobs
from labeltrees.errors import FileFormatError
from labeltrees.search.queries import query_rows

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s, UInt16s


N_SEARCHED = 5  # labels that the search finds
N_CANDIDATES = 10  # labels that the trees propose: the best of those scored during that search
N_NEIGHBOURS = 16  # training points that vote
QUERY_FEATURES = 6  # the strongest features of a query find training points
POINTS_PER_FEATURE = 24  # a feature finds the training points in which it is strongest
CENTROID_FEATURES = 24  # the strongest features of a centroid are kept


class ShortRows(NamedTuple):
    """Sparse rows: `columns` and `values` of row i are those from ``indptr[i]`` to ``indptr[i + 1]``.

    Values are the upper 16 bits of float32, which keep 8 bits of precision: see `to_short` and `from_short`.
    """

    indptr: Int64s
    columns: Int32s
    values: UInt16s

    def is_sound(self, n_rows: int, n_columns: int) -> bool:
        """Return whether native code can trust the rows; those of a file may be anything."""
        if self.values.dtype != np.uint16 or self.values.shape != self.columns.shape:
            return False
        at_most_one = bool(((self.values & 0x7FFF) <= 0x3F80).all())  # they are parts of vectors of length 1
        return at_most_one and rows_are_sound(self.indptr, self.columns, n_rows, n_columns)


def rows_are_sound(indptr: Any, columns: Any, n_rows: int, n_columns: int) -> bool:
    """Return whether `indptr` and `columns` are the arrays of `n_rows` sparse rows with columns below `n_columns`."""
    if indptr.dtype != np.int64 or indptr.shape != (n_rows + 1,) or columns.dtype != np.int32 or columns.ndim != 1:
        return False
    if not (indptr.flags.c_contiguous and columns.flags.c_contiguous):
        return False
    if indptr[0] != 0 or indptr[-1] != len(columns) or (np.diff(indptr) < 0).any():
        return False
    return len(columns) == 0 or bool(columns.min() >= 0 and columns.max() < n_columns)


def to_short(values: Any) -> UInt16s:
    """Return float32 values rounded to their upper 16 bits."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return np.asarray((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, dtype=np.uint16)


def from_short(values: UInt16s) -> Float32s:
    """Return the float32 values of their upper 16 bits.

    Examples
    --------
    >>> from_short(to_short([1.0, -0.5, 0.3])).tolist()
    [1.0, -0.5, 0.30078125]
    """
    return np.asarray(values.astype(np.uint32) << 16).view(np.float32)


class NearestPoints(NamedTuple):
    """The training points in which each feature is strongest, weights of features, and labels of training points."""

    points_of_feature: ShortRows
    feature_weights: Float32s
    label_ptr: Int64s
    labels: Int32s


@dataclass(frozen=True, eq=False)
class Evidence:
    """What adjusts the scores of the labels that the tree proposes for a query.

    The score of a label becomes ``(s + a v + b c) / (1 + a + b)``: s is the score in the tree, v the share of the
    similarities of the nearest training points that have the label, c the cosine with the centroid of the label, and a
    and b are weights.

    Parameters
    ----------
    n_labels, n_features : int
    neighbour_weight, centroid_weight : float
    points : NearestPoints, optional
        Without them v is 0.
    centroids : ShortRows, optional
        Features of each label; without them c is 0.
    n_searched, n_candidates : int
        Labels that the search finds, and labels that the trees propose: the best of those scored during that search.
    n_neighbours, n_query_features : int
        Points that vote, and features of a query that find points: those with the largest value times weight.
    """

    n_labels: int
    n_features: int
    neighbour_weight: float = 0.0
    centroid_weight: float = 0.0
    points: NearestPoints | None = None
    centroids: ShortRows | None = None
    n_searched: int = N_SEARCHED
    n_candidates: int = N_CANDIDATES
    n_neighbours: int = N_NEIGHBOURS
    n_query_features: int = QUERY_FEATURES

    def native(self) -> _core.Evidence:
        """Return the object for native code."""
        native = _core.Evidence(
            n_features=self.n_features,
            n_labels=self.n_labels,
            neighbour_weight=self.neighbour_weight,
            centroid_weight=self.centroid_weight,
            n_searched=self.n_searched,
            n_candidates=self.n_candidates,
            n_neighbours=self.n_neighbours,
            n_query_features=self.n_query_features,
        )
        if self.points is not None:
            own = self.points
            native.set_points(*own.points_of_feature, own.feature_weights, own.label_ptr, own.labels)
        if self.centroids is not None:
            native.set_centroids(*self.centroids)
        return native

    def measure(self, X: Any, labels: Int64s, n_jobs: int | None = None) -> tuple[Float32s, Float32s]:
        """Return the votes and the cosines of `labels` (n, k), padded with -1, for the points X."""
        n_threads = check_n_jobs(n_jobs)
        rows = query_rows(X, self.n_features, n_threads)
        flat = np.ascontiguousarray(labels, np.int64).ravel()
        votes, cosines = self.native().measure(rows, flat, labels.shape[1], n_threads)
        return votes.reshape(labels.shape), cosines.reshape(labels.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, in memory and on disk."""
        return sum(array.nbytes for array in self.arrays().values())

    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> Evidence:
        """Return the evidence without the labels that are not `kept` (L,); a kept label i becomes ``new_ids[i]``."""
        points, centroids = self.points, self.centroids
        if points is not None:
            stays = kept[points.labels]
            before = np.concatenate([[0], np.cumsum(stays)]).astype(np.int64)
            labels = new_ids[points.labels[stays]].astype(np.int32)
            points = points._replace(label_ptr=before[points.label_ptr], labels=labels)
        if centroids is not None:
            lengths = np.zeros(n_labels, np.int64)
            lengths[new_ids[kept]] = np.diff(centroids.indptr)[kept]
            entries = np.repeat(kept, np.diff(centroids.indptr))
            indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            centroids = ShortRows(indptr, centroids.columns[entries], centroids.values[entries])
        return replace(self, n_labels=n_labels, points=points, centroids=centroids)

    # Files.

    NUMBERS = ("n_searched", "n_candidates", "n_neighbours", "n_query_features")
    WEIGHTS = ("neighbour_weight", "centroid_weight")

    def parameters(self) -> dict[str, Any]:
        """Return the numbers to save."""
        numbers = {name: getattr(self, name) for name in (*self.WEIGHTS, *self.NUMBERS)}
        return {**numbers, "n_points": 0 if self.points is None else len(self.points.label_ptr) - 1}

    def arrays(self, prefix: str = "") -> dict[str, Any]:
        """Return the arrays to save, by name."""
        arrays: dict[str, Any] = {}
        if self.points is not None:
            arrays |= _named("postings", self.points.points_of_feature)
            arrays |= {"feature_weights": self.points.feature_weights}
            arrays |= {"labels.indptr": self.points.label_ptr, "labels.columns": self.points.labels}
        if self.centroids is not None:
            arrays |= _named("centroids", self.centroids)
        return {prefix + name: array for name, array in arrays.items()}

    @classmethod
    def from_files(
        cls, parameters: Any, arrays: Mapping[str, Any], prefix: str, n_labels: int, n_features: int, source: str
    ) -> Evidence:
        """Return what was saved; raise `FileFormatError` if anything in it cannot be trusted."""

        def fail(fault: str) -> None:
            message = f"{source}: the evidence is damaged: {fault}"
            raise FileFormatError(message)

        def rows(name: str, parts: tuple[str, ...]) -> list[Any]:
            for part in parts:
                if f"{prefix}{name}.{part}" not in arrays:
                    fail(f"the array {prefix}{name}.{part} is missing")
            return [arrays[f"{prefix}{name}.{part}"] for part in parts]

        keys = {*cls.WEIGHTS, *cls.NUMBERS, "n_points"}
        if not isinstance(parameters, dict) or set(parameters) != keys:
            fail(f"its parameters must be {', '.join(sorted(keys))}")
        for name in cls.WEIGHTS:
            if type(parameters[name]) not in (int, float) or not 0 <= parameters[name] <= 1e6:
                fail(f"{name} must be a number from 0 to 1e6")
        for name in (*cls.NUMBERS, "n_points"):
            lowest = 0 if name == "n_points" else 1
            if type(parameters[name]) is not int or not lowest <= parameters[name] < 2**31:
                fail(f"{name} must be a count")
        n_points = parameters["n_points"]
        points = centroids = None
        if n_points > 0:
            postings = ShortRows(*rows("postings", ShortRows._fields))
            label_ptr, labels = rows("labels", ("indptr", "columns"))
            weights = arrays.get(f"{prefix}feature_weights", np.zeros(0))
            if weights.dtype != np.float32 or weights.shape != (n_features,) or not (abs(weights) < 1e6).all():
                fail("the weights of the features are not sound")
            if not postings.is_sound(n_features, n_points) or not rows_are_sound(label_ptr, labels, n_points, n_labels):
                fail("the training points are not sound")
            points = NearestPoints(postings, weights, label_ptr, labels)
        if f"{prefix}centroids.indptr" in arrays:
            centroids = ShortRows(*rows("centroids", ShortRows._fields))
            if not centroids.is_sound(n_labels, n_features):
                fail("the centroids are not sound")
        numbers = {name: parameters[name] for name in (*cls.WEIGHTS, *cls.NUMBERS)}
        return cls(n_labels, n_features, **numbers, points=points, centroids=centroids)


def _named(name: str, rows: ShortRows) -> dict[str, Any]:
    return {f"{name}.{part}": array for part, array in rows._asdict().items()}
