"""Evidence in addition to the tree, in the form that native searches use.

Each kind of evidence is a subclass of `Kind` with an entry in `KINDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees._validation import check_n_jobs
from labeltrees.search.evidence_arrays import (
    LARGEST,
    SavedKind,
    ShortRows,
    from_short,
    named_rows,
    rows_are_sound,
)
from labeltrees.search.queries import query_rows

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s


N_NEIGHBOURS = 16  # training points that vote
QUERY_FEATURES = 6  # the strongest features of a query, used to find training points
POINTS_PER_FEATURE = 24  # training points per feature: those in which it is strongest
CENTROID_FEATURES = 24  # the strongest features of a centroid, which are kept
ABSENT = -1.0  # the margin for a label without training points
NO_NAME = -60.0  # the log odds of a label without names


class NearestPoints(NamedTuple):
    """The training points in which each feature is strongest, feature weights, and the labels of training points."""

    points_of_feature: ShortRows
    feature_weights: Float32s
    label_ptr: Int64s
    labels: Int32s


# Kinds.


@dataclass(frozen=True, eq=False)
class Kind(ABC):
    """One kind of evidence: its arrays, its weight, and its measure for a label and a query.

    Attributes
    ----------
    NAME : str
        Its name in `LabelTreeClassifier.evidence` and in files.
    N_SEARCHED, N_CANDIDATES : int
        Number of labels that the search should find, and number of labels that the trees should propose: the best of
        those scored during that search.
    multiplies : bool
        Whether it is a score that is multiplied by the score of the tree, instead of added to it. Its measure is then
        the log score.
    """

    NAME: ClassVar[str]
    N_SEARCHED: ClassVar[int] = 5
    N_CANDIDATES: ClassVar[int] = 10
    multiplies: ClassVar[bool] = False
    NUMBERS: ClassVar[tuple[str, ...]] = ()  # fields that are counts

    weight: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def add_to(self, native: _core.Evidence) -> None:
        """Add the kind to the evidence object for native code."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save, by name."""

    @abstractmethod
    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> Kind:
        """Return the kind without the labels that are not `kept` (L,); a kept label i becomes ``new_ids[i]``."""

    def parameters(self) -> dict[str, Any]:
        """Return the numbers to save."""
        return {name: getattr(self, name) for name in ("weight", *self.NUMBERS)}

    @classmethod
    @abstractmethod
    def from_files(cls, saved: SavedKind) -> Kind:
        """Return the kind that was saved; call ``saved.fail`` for invalid data."""


@dataclass(frozen=True, eq=False)
class Neighbours(Kind):
    """Votes of the nearest training points: the similarity of those with the label, as a share of the total.

    Parameters
    ----------
    points : NearestPoints
    n_neighbours, n_query_features : int
        Number of points that vote, and number of query features used to find them: those with the largest value times
        weight.
    """

    NAME = "neighbours"
    NUMBERS = ("n_neighbours", "n_query_features")

    points: NearestPoints
    n_neighbours: int = N_NEIGHBOURS
    n_query_features: int = QUERY_FEATURES

    def add_to(self, native: _core.Evidence) -> None:
        """Add the kind to the object for native code."""
        own = self.points
        rows = (*own.points_of_feature, own.feature_weights, own.label_ptr, own.labels)
        native.add_votes(self.weight, self.n_neighbours, self.n_query_features, *rows)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save."""
        own = self.points
        labels = {"labels.indptr": own.label_ptr, "labels.columns": own.labels}
        return {**named_rows("postings", own.points_of_feature), "feature_weights": own.feature_weights, **labels}

    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> Neighbours:
        """Return the kind without some labels."""
        own = self.points
        stays = kept[own.labels]
        before = np.concatenate([[0], np.cumsum(stays)]).astype(np.int64)
        labels = new_ids[own.labels[stays]].astype(np.int32)
        return replace(self, points=own._replace(label_ptr=before[own.label_ptr], labels=labels))

    def parameters(self) -> dict[str, Any]:
        """Return the numbers to save."""
        return {**super().parameters(), "n_points": len(self.points.label_ptr) - 1}

    @classmethod
    def from_files(cls, saved: SavedKind) -> Neighbours:
        """Return what was saved."""
        saved.check_keys({"weight", *cls.NUMBERS, "n_points"})
        for name in (*cls.NUMBERS, "n_points"):
            saved.check_count(name)
        n_points = saved.parameters["n_points"]
        postings = saved.rows("postings")
        label_ptr, labels = saved.array("labels.indptr"), saved.array("labels.columns")
        weights = saved.array("feature_weights")
        if weights.dtype != np.float32 or weights.shape != (saved.n_features,) or not (abs(weights) < LARGEST).all():
            saved.fail("the weights of the features are not sound")
        are_sound = postings.is_sound(saved.n_features, n_points)
        if not are_sound or not rows_are_sound(label_ptr, labels, n_points, saved.n_labels):
            saved.fail("the training points are not sound")
        return cls(NearestPoints(postings, weights, label_ptr, labels), **saved.values("weight", *cls.NUMBERS))


@dataclass(frozen=True, eq=False)
class LabelRows(Kind):
    """The dot product of the query and the label's row of weights, clipped to [0, 1].

    Parameters
    ----------
    rows : ShortRows
        The features of each label and their weights; features rise within a row.
    """

    LARGEST: ClassVar[float] = 1.0  # maximum magnitude of a weight
    PRESENT: ClassVar[bool] = False  # True: each feature of the query counts as 1. False: the query has length 1

    rows: ShortRows

    def add_to(self, native: _core.Evidence) -> None:
        """Add the kind to the object for native code."""
        native.add_rows(self.weight, *self.rows, self.PRESENT)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save."""
        return named_rows(self.NAME, self.rows)

    def row(self, label: int) -> tuple[Int32s, Float32s]:
        """Return the features of a label, and their weights."""
        own = slice(int(self.rows.indptr[label]), int(self.rows.indptr[label + 1]))
        return self.rows.columns[own], from_short(self.rows.values[own])

    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> LabelRows:
        """Return the kind without some labels."""
        lengths = np.zeros(n_labels, np.int64)
        lengths[new_ids[kept]] = np.diff(self.rows.indptr)[kept]
        entries = np.repeat(kept, np.diff(self.rows.indptr))
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return replace(self, rows=ShortRows(indptr, self.rows.columns[entries], self.rows.values[entries]))

    @classmethod
    def from_files(cls, saved: SavedKind) -> LabelRows:
        """Return what was saved."""
        saved.check_keys({"weight"})
        return cls(cls.read_rows(saved), **saved.values("weight"))

    @classmethod
    def read_rows(cls, saved: SavedKind) -> ShortRows:
        """Return the rows that were saved."""
        rows = saved.rows(cls.NAME)
        if not rows.is_sound(saved.n_labels, saved.n_features, cls.LARGEST):
            saved.fail(f"the {cls.NAME} are not sound")
        return rows


class Centroids(LabelRows):
    """The cosine of the query and the mean of the label's points; only the mean's strongest features are kept."""

    NAME = "centroids"


@dataclass(frozen=True, eq=False)
class Items(LabelRows):
    """How well the items of the query match the label, an item of the same catalogue: a sum of weights.

    Parameters
    ----------
    proposals : ShortRows, optional
        The labels for which each feature has its largest weights. The labels with the largest sums over the features of
        a query are added to those that the trees propose, with a tree score of 0.
    """

    NAME = "items"
    N_SEARCHED, N_CANDIDATES = 10, 50
    N_PROPOSED = 30
    LARGEST = LARGEST
    PRESENT = True

    proposals: ShortRows | None = None

    def add_to(self, native: _core.Evidence) -> None:
        """Add the kind to the object for native code."""
        super().add_to(native)
        if self.proposals is not None:
            native.set_proposals(self.N_PROPOSED, *self.proposals)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save."""
        own = {} if self.proposals is None else named_rows("proposals", self.proposals)
        return {**super().arrays(), **own}

    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> Items:
        """Return the kind without some labels."""
        rows, proposals = super().keep_labels(kept, new_ids, n_labels).rows, self.proposals
        if proposals is not None:
            stays = kept[proposals.columns]
            before = np.concatenate([[0], np.cumsum(stays)]).astype(np.int64)
            labels = new_ids[proposals.columns[stays]].astype(np.int32)
            proposals = ShortRows(before[proposals.indptr], labels, proposals.values[stays])
        return replace(self, rows=rows, proposals=proposals)

    @classmethod
    def from_files(cls, saved: SavedKind) -> Items:
        """Return the kind that was saved; files of earlier versions have no proposals."""
        saved.check_keys({"weight"})
        proposals = None
        if f"{saved.prefix}proposals.indptr" in saved.files:
            proposals = saved.rows("proposals")
            if not proposals.is_sound(saved.n_features, saved.n_labels, cls.LARGEST):
                saved.fail("the proposals of the items are not sound")
        return cls(cls.read_rows(saved), proposals, **saved.values("weight"))


class OwnItems(LabelRows):
    """The value of the label's own item in the query, scaled to length 1: each row has one weight, which is 1."""

    NAME = "own"


@dataclass(frozen=True, eq=False)
class Classifiers(LabelRows):
    """The score of a second classifier per label, trained against the points that are hardest to distinguish.

    Parameters
    ----------
    bias : float32 (n_labels,)
    normalize : bool
        Whether queries are scaled to length 1.
    loss : str
    score_power : float
        Turns a margin into a score, as in the tree.
    """

    NAME = "classifiers"
    N_SEARCHED = 7
    multiplies = True
    LARGEST = LARGEST

    bias: Float32s
    normalize: bool
    loss: str
    score_power: float

    def add_to(self, native: _core.Evidence) -> None:
        """Add the kind to the object for native code."""
        native.add_classifiers(self.weight, *self.rows, self.bias, self.normalize, self.loss, self.score_power)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save."""
        return {**super().arrays(), "classifiers.bias": self.bias}

    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> Classifiers:
        """Return the kind without some labels."""
        bias = np.full(n_labels, ABSENT, np.float32)
        bias[new_ids[kept]] = self.bias[kept]
        return replace(self, rows=super().keep_labels(kept, new_ids, n_labels).rows, bias=bias)

    @classmethod
    def from_files(cls, saved: SavedKind) -> Classifiers:
        """Return what was saved."""
        saved.check_keys({"weight"})
        return cls(cls.read_rows(saved), saved.biases(cls.NAME), **saved.scoring, **saved.values("weight"))


@dataclass(frozen=True, eq=False)
class Names(LabelRows):
    """The probability of a label, from the features of its texts that occur in the query; it also proposes labels.

    Parameters
    ----------
    bias : float32 (n_labels,)
        The bias of the log odds.
    postings : ShortRows
        Labels of each feature, the largest weights first.
    n_proposed : int
        Number of labels proposed for a query, in addition to those of the trees.
    """

    NAME = "names"
    NUMBERS = ("n_proposed",)
    LARGEST = LARGEST

    bias: Float32s
    postings: ShortRows
    n_proposed: int = 20

    def add_to(self, native: _core.Evidence) -> None:
        """Add the kind to the object for native code."""
        native.add_names(self.weight, *self.rows, self.bias, *self.postings, self.n_proposed)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays to save."""
        return {**super().arrays(), "names.bias": self.bias, **named_rows("name_postings", self.postings)}

    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> Names:
        """Return the kind without some labels."""
        bias = np.full(n_labels, NO_NAME, np.float32)
        bias[new_ids[kept]] = self.bias[kept]
        stays = kept[self.postings.columns]
        before = np.concatenate([[0], np.cumsum(stays)]).astype(np.int64)
        labels = new_ids[self.postings.columns[stays]].astype(np.int32)
        postings = ShortRows(before[self.postings.indptr], labels, self.postings.values[stays])
        return replace(self, rows=super().keep_labels(kept, new_ids, n_labels).rows, bias=bias, postings=postings)

    def widen(self, n_labels: int, n_features: int, columns: Int64s) -> Names:
        """Return the kind with more labels and features; `columns` has the new column of each feature, ascending.

        The added labels have no names.
        """
        moved = columns[self.rows.columns].astype(np.int32)
        rows = self.rows._replace(indptr=_longer(self.rows.indptr, n_labels + 1), columns=moved)
        sizes = np.zeros(n_features + 1, np.int64)
        sizes[columns + 1] = np.diff(self.postings.indptr)
        postings = self.postings._replace(indptr=np.cumsum(sizes))
        more = np.full(n_labels - len(self.bias), NO_NAME, np.float32)
        return replace(self, rows=rows, bias=np.append(self.bias, more), postings=postings)

    @classmethod
    def from_files(cls, saved: SavedKind) -> Names:
        """Return what was saved."""
        saved.check_keys({"weight", *cls.NUMBERS})
        saved.check_count("n_proposed")
        postings = saved.rows("name_postings")
        if not postings.is_sound(saved.n_features, saved.n_labels, LARGEST):
            saved.fail("the labels of features are not sound")
        return cls(cls.read_rows(saved), saved.biases(cls.NAME), postings, **saved.values("weight", *cls.NUMBERS))


KINDS: dict[str, type[Kind]] = {
    kind.NAME: kind for kind in (Neighbours, Centroids, Items, OwnItems, Classifiers, Names)
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """Adjusts the scores of the labels that the trees, names or items propose for a query.

    With the tree score s, the score f and weight g of the second classifiers, and the measures m and weights a of the
    other kinds, the score of a label becomes ``((s f^g)^(1 / (1 + g)) + sum(a m)) / (1 + sum(a))``.

    Parameters
    ----------
    n_labels, n_features : int
    kinds : tuple of Kind
        In the order of `KINDS`, each at most once.
    n_searched, n_candidates : int, optional
        Number of labels that the search finds, and number of labels that the trees propose: the best of those scored
        during that search. By default the largest number that any kind needs.
    """

    n_labels: int
    n_features: int
    kinds: tuple[Kind, ...] = ()
    n_searched: int = 0
    n_candidates: int = 0

    def __post_init__(self) -> None:
        searched, candidates = proposed_for(type(kind) for kind in self.kinds)
        object.__setattr__(self, "n_searched", self.n_searched or searched)
        object.__setattr__(self, "n_candidates", self.n_candidates or candidates)

    def __getitem__(self, name: str) -> Kind:
        return next(kind for kind in self.kinds if name == kind.NAME)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each kind, by name."""
        return {kind.NAME: kind.weight for kind in self.kinds}

    def with_weights(self, weights: Mapping[str, float]) -> Evidence:
        """Return the evidence with other weights; kinds with weight 0 or without a weight are left out."""
        return self.with_kinds(
            replace(kind, weight=weights[kind.NAME]) for kind in self.kinds if weights.get(kind.NAME)
        )

    def with_kinds(self, kinds: Iterable[Kind]) -> Evidence:
        """Return evidence for the same labels and features with other kinds."""
        return Evidence(self.n_labels, self.n_features, tuple(kinds))

    def native(self) -> _core.Evidence:
        """Return the object for native code."""
        native = _core.Evidence(
            n_features=self.n_features,
            n_labels=self.n_labels,
            n_searched=self.n_searched,
            n_candidates=self.n_candidates,
        )
        for kind in self.kinds:
            kind.add_to(native)
        return native

    def propose(self, X: Any, labels: Int64s, n_jobs: int | None = None) -> Int64s:
        """Return the labels that items propose for the points X in addition to `labels` (n, k); both padded with -1."""
        n_threads = check_n_jobs(n_jobs)
        rows = query_rows(X, self.n_features, n_threads)
        flat = np.ascontiguousarray(labels, np.int64).ravel()
        return self.native().propose(rows, flat, labels.shape[1], n_threads).reshape(len(labels), -1)

    def measure(self, X: Any, labels: Int64s, n_jobs: int | None = None) -> dict[str, Float32s]:
        """Return the measure of each kind (n, k), by name, for the `labels` (n, k, padded with -1) of the points X."""
        n_threads = check_n_jobs(n_jobs)
        rows = query_rows(X, self.n_features, n_threads)
        flat = np.ascontiguousarray(labels, np.int64).ravel()
        found = self.native().measure(rows, flat, labels.shape[1], n_threads).reshape(-1, *labels.shape)
        return {kind.NAME: own for kind, own in zip(self.kinds, found, strict=True)}

    def propose_names(self, X: Any, k: int, n_jobs: int | None = None) -> Int64s:
        """Return the labels whose names match the points X (n, k), best first, padded with -1."""
        n_threads = check_n_jobs(n_jobs)
        rows = query_rows(X, self.n_features, n_threads)
        return self.native().propose_names(rows, k, n_threads).reshape(-1, k)

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes, in memory and on disk."""
        return sum(array.nbytes for array in self.arrays().values())

    def keep_labels(self, kept: Any, new_ids: Any, n_labels: int) -> Evidence:
        """Return the evidence without the labels that are not `kept` (L,); a kept label i becomes ``new_ids[i]``."""
        kinds = tuple(kind.keep_labels(kept, new_ids, n_labels) for kind in self.kinds)
        return replace(self, n_labels=n_labels, kinds=kinds)

    # Files.

    def parameters(self) -> dict[str, Any]:
        """Return the numbers to save."""
        kinds = {kind.NAME: kind.parameters() for kind in self.kinds}
        return {"n_searched": self.n_searched, "n_candidates": self.n_candidates, "kinds": kinds}

    def arrays(self, prefix: str = "") -> dict[str, Any]:
        """Return the arrays to save, by name."""
        return {prefix + name: array for kind in self.kinds for name, array in kind.arrays().items()}

    @classmethod
    def from_files(
        cls,
        parameters: Any,
        arrays: Mapping[str, Any],
        prefix: str,
        n_labels: int,
        n_features: int,
        source: str,
        scoring: Mapping[str, Any],
    ) -> Evidence:
        """Return the evidence that was saved; raise `FileFormatError` for invalid data.

        Parameters
        ----------
        scoring : mapping
            loss, score_power and normalize of the model.
        """
        whole = SavedKind("", parameters, arrays, prefix, n_labels, n_features, source, scoring)
        if isinstance(parameters, dict) and "neighbour_weight" in parameters:
            whole = replace(whole, parameters=_of_two_kinds(whole))
        whole.check_keys({"n_searched", "n_candidates", "kinds"})
        for name in ("n_searched", "n_candidates"):
            whole.check_count(name)
        saved = whole.parameters["kinds"]
        if not isinstance(saved, dict) or not saved.keys() <= KINDS.keys():
            whole.fail(f"its kinds must be some of {', '.join(KINDS)}")
        kinds = []
        for name, kind in KINDS.items():
            if name in saved:
                own = replace(whole, name=f"{name}: ", parameters=saved[name])
                own.check_weight()
                kinds.append(kind.from_files(own))
        return cls(n_labels, n_features, tuple(kinds), **whole.values("n_searched", "n_candidates"))


def proposed_for(kinds: Iterable[type[Kind]]) -> tuple[int, int]:
    """Return how many labels the search must find, and how many the trees must propose, for some kinds of evidence."""
    some: list[type[Kind]] = [*kinds, Centroids]
    return max(kind.N_SEARCHED for kind in some), max(kind.N_CANDIDATES for kind in some)


def _of_two_kinds(saved: SavedKind) -> dict[str, Any]:
    """Convert the parameters of an earlier version, which had only neighbours and centroids, to the current form."""
    numbers, weights = ("n_searched", "n_candidates", *Neighbours.NUMBERS), ("neighbour_weight", "centroid_weight")
    saved.check_keys({*numbers, *weights, "n_points"})
    old, kinds = saved.parameters, dict[str, Any]()
    if old["n_points"] != 0:
        kinds["neighbours"] = {"weight": old["neighbour_weight"], **saved.values(*Neighbours.NUMBERS, "n_points")}
    if f"{saved.prefix}centroids.indptr" in saved.files:
        kinds["centroids"] = {"weight": old["centroid_weight"]}
    return {**saved.values("n_searched", "n_candidates"), "kinds": kinds}


def _longer(indptr: Int64s, length: int) -> Int64s:
    """Return `indptr` extended to `length` by empty rows."""
    return np.append(indptr, np.full(length - len(indptr), indptr[-1]))
