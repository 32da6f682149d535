"""Evidence: neighbours and centroids of training points, and how much they count.

The weights are learned on points that were held out from a model trained for this purpose.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone

from labeltrees._holding_out import draw_held_out
from labeltrees._matrices import Float32s, Float64s
from labeltrees.data.label_sets import has_label
from labeltrees.labels.embedding import pifa
from labeltrees.models.linear.blocks import OneBlock
from labeltrees.models.linear.features import unit_rows
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.search.evidence import (
    CENTROID_FEATURES,
    N_CANDIDATES,
    N_SEARCHED,
    POINTS_PER_FEATURE,
    Evidence,
    NearestPoints,
    ShortRows,
    to_short,
)
from labeltrees.search.request import SearchRequest

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier
    from labeltrees.models.linear.points import TrainingPoints


def make_evidence(X: Any, Y: Any, *, neighbours: bool, centroids: bool, n_jobs: int | None = None) -> Evidence:
    """Return the evidence of training points, with weights of 0.

    Parameters
    ----------
    X : csr_array or dense array (N, d)
    Y : csr_array (N, L)
    neighbours, centroids : bool
        Which kinds to make. Neighbours take at most 6 bytes per value of X and 4 per value of Y, centroids at most 6
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


WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_UNKNOWN_WEIGHT = 0.1  # where there are too few points to learn from
MIN_POINTS = 50  # held out
# A tenth of the points is held out, or up to a quarter where a tenth is less than 2,000 points, and at most 10,000. A
# model is trained on the others: on at most half of all points where these are more than 20,000, so that learning costs
# at most half of a fit on large data.
_SHARE, _LARGEST_SHARE, _MANY, _MAX_HELD_OUT, _ENOUGH_POINTS = 0.1, 0.25, 2000, 10_000, 20_000
_LENGTHS = (1, 3, 5)
_CONFIDENCE = 0.95
_MAX_ROUNDS = 5


class LearnedEvidence(NamedTuple):
    """The evidence of a model, None if it is off, what was measured, and the time it took."""

    evidence: Evidence | None
    stats: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Proposals:
    """Scores and evidence of the labels that the tree proposes for held-out points, all (n, m), labels rising per row.

    `hits` says whether the point has the label; the score of a place without a label is minus infinity.
    """

    scores: Float32s
    votes: Float32s
    cosines: Float32s
    hits: NDArray[np.bool_]

    def take(self, rows: Any) -> Proposals:
        """Return some of the points."""
        return Proposals(self.scores[rows], self.votes[rows], self.cosines[rows], self.hits[rows])

    def quality(self, neighbour_weight: float, centroid_weight: float) -> Float64s:
        """Return for each point the mean of its precision at 1, 3 and 5 with these weights (n,)."""
        blended = self.scores + np.float32(neighbour_weight) * self.votes + np.float32(centroid_weight) * self.cosines
        order = np.argsort(-blended, axis=1, kind="stable")[:, : max(_LENGTHS)]
        found = np.take_along_axis(self.hits, order, axis=1)
        return np.asarray(np.mean([found[:, :k].sum(axis=1) / k for k in _LENGTHS], axis=0))

    def best_weights(self, neighbours: bool, centroids: bool) -> tuple[float, float]:
        """Return the weights of the highest mean quality, found by changing one weight at a time."""
        best = [0.0, 0.0]
        free = [place for place, used in enumerate((neighbours, centroids)) if used]
        highest = float(self.quality(*best).mean())
        for _ in range(_MAX_ROUNDS):
            before = list(best)
            for place in free:
                for weight in WEIGHTS:
                    tried = list(best)
                    tried[place] = weight
                    quality = float(self.quality(*tried).mean())
                    if quality > highest + 1e-12:
                        best, highest = tried, quality
            if best == before:
                break
        return best[0], best[1]

    def gains(self, neighbours: bool, centroids: bool) -> Float64s:
        """Return the gain of quality at each point, with weights that were learned on the other half of the points."""
        halves = np.arange(len(self.scores)) % 2
        gains = np.zeros(len(self.scores))
        for half in (0, 1):
            weights = self.take(halves != half).best_weights(neighbours, centroids)
            own = self.take(halves == half)
            gains[halves == half] = own.quality(*weights) - own.quality(0.0, 0.0)
        return gains


def learn_evidence(
    model: LabelTreeClassifier, points: TrainingPoints, settings: LinearSettings, seed: int
) -> LearnedEvidence:
    """Return the evidence that `model.evidence` asks for, with weights learned on held-out points.

    Parameters
    ----------
    model : LabelTreeClassifier
        Its parameters are used for the model that is trained without the held-out points.
    points : TrainingPoints
        Those that texts of labels have added are not held out.
    settings : LinearSettings
        Those of the model.
    seed : int
    """
    started = time.perf_counter()
    kind = model.evidence
    use = {"neighbours": kind != "centroids", "centroids": kind != "neighbours"}
    blocks, n_points = points.blocks, points.n_points
    assert isinstance(blocks, OneBlock)
    X, Y = blocks.X, blocks.Y
    fitted_on, held_out = _split(n_points, seed, None if points.groups is None else points.groups[:n_points])
    fitted_on = np.append(fitted_on, np.arange(n_points, X.n_points))
    stats: dict[str, Any] = {"held_out_points": len(held_out)}
    if len(held_out) < MIN_POINTS:
        weights = tuple(_UNKNOWN_WEIGHT if used else 0.0 for used in use.values())
    else:
        helper = _helper(model, settings, seed)
        own_weight, own_groups = (
            None if values is None else values[fitted_on] for values in (blocks.weights, points.groups)
        )
        helper.fit(X.matrix[fitted_on], Y.matrix[fitted_on], own_weight, groups=own_groups)
        made = make_evidence(X.matrix[fitted_on], Y.matrix[fitted_on], **use, n_jobs=model.n_jobs)
        proposals = propose(helper, made, X.matrix[held_out], Y.matrix[held_out])
        weights = proposals.best_weights(**use)
        gain, lower = _mean_and_bound(proposals.gains(**use))
        stats |= {"gain": gain, "gain_lower": lower}
    is_off = not any(weights) or (kind == "auto" and not stats.get("gain_lower", 0.0) > 0)
    evidence = None
    if not is_off:
        used = {name: weight > 0 for name, weight in zip(use, weights, strict=True)}
        whole = make_evidence(X.matrix, Y.matrix, **used, n_jobs=model.n_jobs)
        evidence = replace(whole, neighbour_weight=weights[0], centroid_weight=weights[1])
    stats |= {
        "used": evidence is not None,
        "neighbour_weight": 0.0 if evidence is None else weights[0],
        "centroid_weight": 0.0 if evidence is None else weights[1],
        "bytes": 0 if evidence is None else evidence.nbytes,
    }
    return LearnedEvidence(evidence, stats, time.perf_counter() - started)


def propose(model: LabelTreeClassifier, evidence: Evidence, X: Any, Y: Any) -> Proposals:
    """Return what a model and evidence know about the labels that the model's trees propose for points."""
    request = model.complete_request(SearchRequest(N_SEARCHED, n_candidates=N_CANDIDATES, evidence=False))
    found = model.searcher_.topk(X, request, n_jobs=model.n_jobs)
    # Of equal scores, the smaller label comes first.
    order = np.argsort(np.where(found.labels < 0, np.iinfo(np.int64).max, found.labels), axis=1, kind="stable")
    labels = np.take_along_axis(found.labels, order, axis=1)
    scores = np.take_along_axis(found.scores, order, axis=1)
    votes, cosines = evidence.measure(X, labels, model.n_jobs)
    is_label = labels >= 0
    hits = np.zeros(labels.shape, dtype=bool)
    hits[is_label] = has_label(Y, np.nonzero(is_label)[0], labels[is_label])
    return Proposals(np.where(is_label, scores, -np.inf).astype(np.float32), votes, cosines, hits)


def _split(n_points: int, seed: int, groups: Any) -> tuple[Any, Any]:
    """Return the points to train on and the points to hold out."""
    n_held_out = max(int(n_points * _SHARE), min(int(n_points * _LARGEST_SHARE), _MANY))
    n_held_out = min(n_held_out, _MAX_HELD_OUT)
    order, n_held_out = draw_held_out(n_points, n_held_out, np.random.default_rng(seed), groups)
    n_fitted = min(n_points - n_held_out, max(n_points // 2, _ENOUGH_POINTS))
    return np.sort(order[n_held_out : n_held_out + n_fitted]), np.sort(order[:n_held_out])


def _helper(model: LabelTreeClassifier, settings: LinearSettings, seed: int) -> LabelTreeClassifier:
    helper: LabelTreeClassifier = clone(model)
    class_weight = "balanced" if settings.balanced else settings.label_cost
    helper.set_params(
        evidence=None, trend=None, vectorizer=None, class_weight=class_weight, random_state=seed, verbose=0
    )
    return helper


def _mean_and_bound(gains: Float64s) -> tuple[float, float]:
    """Return the mean gain and its lower 95 % confidence bound."""
    n, mean = len(gains), float(gains.mean())
    if not gains.any():
        return 0.0, 0.0
    return mean, mean - float(student.ppf(_CONFIDENCE, n - 1) * np.std(gains, ddof=1) / np.sqrt(n))
