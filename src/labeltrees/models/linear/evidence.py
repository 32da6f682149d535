"""Evidence: how each kind is made from training points, and how its weight is learned.

The weights are learned on held-out points, with a model that is trained without them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import t as student

from labeltrees import _core
from labeltrees._holding_out import draw_held_out
from labeltrees._matrices import Float32s, Float64s
from labeltrees.data.encoders import TextEncoder
from labeltrees.data.label_sets import has_label
from labeltrees.errors import InputError, Parameter
from labeltrees.labels.embedding import pifa
from labeltrees.models.linear.blocks import OneBlock
from labeltrees.models.linear.classifiers import KnownPoints, train_classifiers
from labeltrees.models.linear.features import labels_of_items, unit_rows
from labeltrees.models.linear.items import make_items, make_own, show_more
from labeltrees.models.linear.names import NameFeatures, NameUse, learn_use, name_features, names_with, train_names
from labeltrees.models.linear.settings import OF_ITEMS, LinearSettings, evidence_kinds, label_text_use
from labeltrees.search.evidence import (
    CENTROID_FEATURES,
    KINDS,
    POINTS_PER_FEATURE,
    Centroids,
    Evidence,
    Kind,
    Names,
    NearestPoints,
    Neighbours,
)
from labeltrees.search.evidence_arrays import strongest_entries
from labeltrees.search.request import SearchRequest

if TYPE_CHECKING:
    from labeltrees.models.linear.estimator import LabelTreeClassifier
    from labeltrees.models.linear.points import TrainingPoints


def make_neighbours(known: KnownPoints) -> Neighbours:
    """Return the training points that vote; they take at most 6 bytes per value of X and 4 per value of Y."""
    return Neighbours(nearest_points(sp.csr_array(unit_rows(known.X)), known.Y))


def make_centroids(known: KnownPoints) -> Centroids:
    """Return the centroids of the labels; they take at most 144 bytes per label."""
    means = sp.csr_array(pifa(unit_rows(known.X), known.Y, n_jobs=known.model.n_jobs))
    return Centroids(strongest_entries(means.indptr, means.indices, means.data, CENTROID_FEATURES))


class Maker(NamedTuple):
    """A function that makes a kind from training points and a parameter, and the parameter values to try."""

    make: Callable[[KnownPoints, float], Kind]
    values: tuple[float, ...] = (0.0,)


MAKERS = {
    "neighbours": Maker(lambda known, _: make_neighbours(known)),
    "centroids": Maker(lambda known, _: make_centroids(known)),
    "items": Maker(make_items, (10.0, 100.0)),  # ridge
    "own": Maker(lambda known, _: make_own(known)),
    "classifiers": Maker(train_classifiers, (0.25, 1.0)),  # C
}


def make_kinds(known: KnownPoints, chosen: Mapping[str, float]) -> Evidence:
    """Return evidence from training points, with weights of 0; `chosen` maps each kind to its parameter."""
    n_labels, n_features = int(known.Y.shape[1]), int(known.X.shape[1])
    made = {name: MAKERS[name].make(known, value) for name, value in chosen.items()}
    return Evidence(n_labels, n_features, tuple(made[name] for name in KINDS if name in made))


def nearest_points(X: Any, Y: Any) -> NearestPoints:
    """Return the points in which each feature is strongest, and the labels of all points."""
    by_feature = X.tocsc()
    points = strongest_entries(by_feature.indptr, by_feature.indices, by_feature.data, POINTS_PER_FEATURE)
    # Rare features distinguish points: a query uses those with the largest value times this weight.
    n_points_with = np.diff(by_feature.indptr)
    weights = np.log1p(X.shape[0] / np.maximum(n_points_with, 1)).astype(np.float32)
    return NearestPoints(points, weights, Y.indptr.astype(np.int64), Y.indices.astype(np.int32))


WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_UNKNOWN_WEIGHT = 0.1  # if there are too few points to learn from
MIN_POINTS = 50  # minimum number of held-out points
# A tenth of the points is held out, or up to a quarter if a tenth is less than 2,000 points, and a model is trained on
# the others. If half of the points is more than `enough`, the model is trained on half of them and a third is held out,
# so that learning costs at most half of a fit. At most 10,000 points are held out. Classifiers train two more models,
# so fewer points are enough for them.
_SHARE, _LARGEST_SHARE, _MANY, _MAX_HELD_OUT, _ENOUGH_POINTS = 0.1, 0.25, 2000, 10_000, 20_000
_SHARE_OF_MANY, _ENOUGH_FOR_CLASSIFIERS = 1 / 3, 5_000
_LENGTHS = (1, 3, 5)
_CONFIDENCE = 0.95
_MAX_ROUNDS = 5


class LearnedEvidence(NamedTuple):
    """The evidence of a model (None if it is off), measurements for `stats_`, and the time it took."""

    evidence: Evidence | None
    stats: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Proposals:
    """Scores and evidence of the labels that the tree proposes for held-out points, all (n, m), labels sorted per row.

    `measured` has the values of each kind, by name. `hits` marks labels that the point has. A place without a label has
    a score of minus infinity. `weights` (n, 1) are those of the points, 1 on average.
    """

    scores: Float32s
    measured: Mapping[str, Float32s]
    hits: NDArray[np.bool_]
    weights: Float64s

    def take(self, rows: Any) -> Proposals:
        """Return some of the points."""
        measured = {name: values[rows] for name, values in self.measured.items()}
        return Proposals(self.scores[rows], measured, self.hits[rows], self.weights[rows])

    def quality(self, weights: Mapping[str, float]) -> Float64s:
        """Return for each point its weight times the mean of its precision at 1, 3 and 5 with these weights (n,)."""
        used = [name for name in self.measured if weights.get(name)]
        blended = self.scores
        if used:
            measured = np.concatenate([self.measured[name].ravel() for name in used])
            multiplies = np.array([KINDS[name].multiplies for name in used], np.uint8)
            own = np.array([weights[name] for name in used], np.float32)
            found = _core.blend_scores(np.maximum(self.scores, 0).ravel(), measured, own, multiplies)
            blended = np.where(np.isneginf(self.scores), -np.inf, found.reshape(self.scores.shape))
        order = np.argsort(-blended, axis=1, kind="stable")[:, : max(_LENGTHS)]
        found_hits = self.weights * np.take_along_axis(self.hits, order, axis=1)
        return np.asarray(np.mean([found_hits[:, :k].sum(axis=1) / k for k in _LENGTHS], axis=0))

    def improve(self, weights: Mapping[str, float], name: str) -> tuple[dict[str, float], float]:
        """Return `weights` with the best value for one kind (the smallest if several are best), and the quality."""
        tried = [{**weights, name: weight} for weight in WEIGHTS]
        quality = [float(self.quality(one).mean()) for one in tried]
        best = int(np.argmax(np.array(quality) > max(quality) - 1e-12))
        return tried[best], quality[best]

    def best_weights(self, names: Iterable[str]) -> dict[str, float]:
        """Return the weights with the highest mean quality, found by changing one weight at a time."""
        best = dict.fromkeys(names, 0.0)
        for _ in range(_MAX_ROUNDS):
            before = dict(best)
            for name in before:
                best, _ = self.improve(best, name)
            if best == before:
                break
        return best

    def halves(self) -> list[tuple[NDArray[np.bool_], Proposals, Proposals]]:
        """Return for each half of the points: its mask, the other half to learn on, and this half to measure on."""
        number = np.arange(len(self.scores)) % 2
        return [(number == half, self.take(number != half), self.take(number == half)) for half in (0, 1)]

    def gains(self, names: Iterable[str]) -> Float64s:
        """Return the gain in quality of each point, with weights learned on the other half of the points."""
        gains, names = np.zeros(len(self.scores)), tuple(names)
        for here, learned_on, own in self.halves():
            gains[here] = own.quality(learned_on.best_weights(names)) - own.quality({})
        return gains

    def useful(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the kinds with a significant gain, each in addition to those before it."""
        halves, left = self.halves(), list(names)
        n_tried = len(left)
        chosen: list[str] = []
        weights = [dict[str, float]() for _ in halves]
        so_far = self.quality({})
        while left:
            best: Any = (0.0,)
            for name in left:
                quality, tried = np.zeros(len(so_far)), []
                for (here, learned_on, own), before in zip(halves, weights, strict=True):
                    tried.append(learned_on.improve(before, name)[0])
                    quality[here] = own.quality(tried[-1])
                _, lower = _mean_and_bound(quality - so_far, n_tried)
                if lower > best[0]:
                    best = lower, name, tried, quality
            if len(best) == 1:
                break
            _, name, weights, so_far = best
            chosen.append(name)
            left.remove(name)
        return tuple(chosen)


def asked_kinds(model: LabelTreeClassifier, points: TrainingPoints) -> tuple[str, ...]:
    """Return the kinds of evidence that a model asks for.

    "default" asks for the kinds of items if the points are in memory and their features are items. "names" is added for
    texts with `label_texts` if their use is "auto".
    """
    kinds = () if model.evidence is None else evidence_kinds(str(model.evidence))
    if model.evidence == "default" and not (
        isinstance(points.blocks, OneBlock) and labels_of_items(points.encoder, points.names) is not None
    ):
        kinds = ()
    by_default = label_text_use(model.label_texts).points == "auto" and points.label_texts is not None
    is_text = isinstance(points.encoder, TextEncoder)
    return (*kinds, "names") if by_default and is_text and "names" not in kinds else kinds


def learn_evidence(
    model: LabelTreeClassifier, points: TrainingPoints, settings: LinearSettings, seed: int
) -> LearnedEvidence:
    """Return the evidence that `model` asks for, with weights learned on held-out points.

    Parameters
    ----------
    model : LabelTreeClassifier
        Fitted without evidence. Its parameters are used for the model that is trained without the held-out points.
    points : TrainingPoints
        Points added from label texts are not held out.
    settings : LinearSettings
        Those of the model.
    seed : int
    """
    started = time.perf_counter()
    names, is_auto = asked_kinds(model, points), model.evidence in (None, "auto", "default")
    blocks, n_points = points.blocks, points.n_points
    assert isinstance(blocks, OneBlock)
    X, Y = blocks.X.matrix, blocks.Y.matrix
    items = labels_of_items(points.encoder, points.names)
    features = name_features(points.label_texts, points.encoder, X) if "names" in names else None
    names = _usable(names, is_auto, items, features)
    known = KnownPoints(X, Y, blocks.weights, points.groups, model, settings, seed, items)
    enough = _ENOUGH_FOR_CLASSIFIERS if "classifiers" in names else _ENOUGH_POINTS
    groups = None if points.groups is None else points.groups[:n_points]
    fitted_on, held_out = _split(n_points, seed, groups, enough)
    fitted_on = np.append(fitted_on, np.arange(n_points, X.shape[0]))
    uses_names = "names" in names
    names = tuple(name for name in names if name != "names")
    stats: dict[str, Any] = {"held_out_points": len(held_out)}
    weights = dict.fromkeys(names, 0.0 if is_auto else _UNKNOWN_WEIGHT)
    chosen = {name: MAKERS[name].values[-1] for name in names}
    if names and len(held_out) >= MIN_POINTS:
        own = known.take(fitted_on, known.fit(fitted_on))
        asked = X[held_out], Y[held_out]
        if items is not None:
            asked = show_more(*asked, items, seed)
        of_points = None if blocks.weights is None else blocks.weights[held_out]
        learned = learn_weights(own, HeldOut(*asked, of_points), names, is_auto)
        weights, chosen = learned.weights, learned.chosen
        stats |= {"gain": learned.gain, "gain_lower": learned.gain_lower}
    used = {name: chosen[name] for name, weight in weights.items() if weight > 0}
    evidence = make_kinds(known, used).with_weights(weights) if used else None
    if uses_names:
        assert features is not None
        kind, found = _learn_names(known, features, points, (fitted_on, held_out))
        stats |= found
        if kind is not None:
            kinds = () if evidence is None else evidence.kinds
            evidence = Evidence(int(Y.shape[1]), int(X.shape[1]), (*kinds, kind))
    stats |= {
        "used": evidence is not None,
        "weights": {} if evidence is None else evidence.weights,
        "bytes": 0 if evidence is None else evidence.nbytes,
    }
    named = {"classifiers": "classifier_C", "items": "item_ridge"}
    stats |= {key: used[name] for name, key in named.items() if name in used}
    return LearnedEvidence(evidence, stats, time.perf_counter() - started)


def _learn_names(
    known: KnownPoints, features: NameFeatures, points: TrainingPoints, split: tuple[Any, Any]
) -> tuple[Names | None, dict[str, Any]]:
    """Return the evidence of label names, or None if it is not useful, and its entries for `stats_`."""
    counts = points.label_counts
    if counts is None:
        counts = np.bincount(known.Y.indices, minlength=known.Y.shape[1])
    use = learn_use(known, features, split, _mean_and_bound) if len(split[1]) >= MIN_POINTS else NameUse()
    stats = {"name_power": use.power, "points_like_a_name": use.points}
    if use.weight == 0 or (use.points == 0 and (counts > 0).all()):
        return None, stats
    return names_with(train_names(known, features), features, counts, use), stats


def _usable(names: tuple[str, ...], is_auto: bool, items: Any, features: Any) -> tuple[str, ...]:
    """Return the kinds that these points support; refuse others if the user asked for them by name."""
    missing = [name for name in names if name in OF_ITEMS and items is None]
    if missing and not is_auto:
        message = "{}={!r} needs features that are items, such as those of baskets: a Dataset with an ItemEncoder"
        raise InputError(message, Parameter("evidence"), missing[0])
    if "names" in names and features is None:
        if not is_auto:
            message = "{}='names' needs texts of points, and {} with words that occur in them"
            raise InputError(message, Parameter("evidence"), Parameter("label_texts"))
        missing.append("names")
    return tuple(name for name in names if name not in missing)


class LearnedWeights(NamedTuple):
    """The weights of kinds, their parameters, and the gain on held-out points with its lower bound."""

    weights: dict[str, float]
    chosen: dict[str, float]
    gain: float
    gain_lower: float


class HeldOut(NamedTuple):
    """Held-out points: features, labels, and weights (n,) if they have any."""

    X: Any
    Y: Any
    weights: Float64s | None = None


def learn_weights(known: KnownPoints, held_out: HeldOut, names: tuple[str, ...], is_auto: bool) -> LearnedWeights:
    """Learn the weights of kinds of evidence from known points, on held-out points.

    If `is_auto`, kinds without a significant gain are left out. The weights of the others are learned again, with only
    as many candidates as these need.
    """
    chosen: dict[str, float] = {}
    made: list[Kind] = []
    for name in names:
        chosen[name], kind = _best_kind(known, name, held_out)
        made.append(kind)
    evidence = Evidence(int(held_out.Y.shape[1]), int(held_out.X.shape[1]), tuple(made))
    proposals = propose(known.model, evidence, held_out)
    if is_auto:
        names = proposals.useful(names)
        fewer = evidence.with_kinds(kind for kind in evidence.kinds if kind.NAME in names)
        if fewer.n_candidates < evidence.n_candidates:
            proposals = propose(known.model, fewer, held_out)
    gain, lower = _mean_and_bound(proposals.gains(names))
    is_off = is_auto and not lower > 0
    weights = dict.fromkeys(names, 0.0) if is_off else proposals.best_weights(names)
    return LearnedWeights(weights, chosen, gain, lower)


def _best_kind(known: KnownPoints, name: str, held_out: HeldOut) -> tuple[float, Kind]:
    """Return the parameter that is best for a kind on held-out points, and the kind made with it."""
    values = MAKERS[name].values
    made = [make_kinds(known, {name: value}) for value in values]
    if len(made) == 1:
        return values[0], made[0].kinds[0]
    quality = [propose(known.model, one, held_out).improve({}, name)[1] for one in made]
    best = int(np.argmax(quality))
    return values[best], made[best].kinds[0]


def propose(model: LabelTreeClassifier, evidence: Evidence, points: HeldOut) -> Proposals:
    """Return scores and evidence of the labels that the model's trees and the evidence propose for points."""
    X, Y, weights = points
    weights = np.ones(Y.shape[0]) if weights is None else weights / weights.mean()
    n_searched, n_candidates = (min(n, Y.shape[1]) for n in (evidence.n_searched, evidence.n_candidates))
    request = model.complete_request(SearchRequest(n_searched, n_candidates=n_candidates, evidence=False))
    found = model.searcher_.topk(X, request, n_jobs=model.n_jobs)
    proposed = evidence.propose(X, found.labels, model.n_jobs)
    labels, scores = np.hstack([found.labels, proposed]), np.hstack([found.scores, np.zeros(proposed.shape)])
    # Of equal scores, the smaller label comes first.
    order = np.argsort(np.where(labels < 0, np.iinfo(np.int64).max, labels), axis=1, kind="stable")
    labels = np.take_along_axis(labels, order, axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    is_label = labels >= 0
    hits = np.zeros(labels.shape, dtype=bool)
    hits[is_label] = has_label(Y, np.nonzero(is_label)[0], labels[is_label])
    measured = evidence.measure(X, labels, model.n_jobs)
    return Proposals(np.where(is_label, scores, -np.inf).astype(np.float32), measured, hits, weights[:, np.newaxis])


def _split(n_points: int, seed: int, groups: Any, enough: int = _ENOUGH_POINTS) -> tuple[Any, Any]:
    """Return the points to train on and the points to hold out."""
    n_held_out = max(int(n_points * _SHARE), min(int(n_points * _LARGEST_SHARE), _MANY))
    if n_points // 2 > enough:
        n_held_out = int(n_points * _SHARE_OF_MANY)
    n_held_out = min(n_held_out, _MAX_HELD_OUT)
    order, n_held_out = draw_held_out(n_points, n_held_out, np.random.default_rng(seed), groups)
    n_fitted = min(n_points - n_held_out, max(n_points // 2, enough))
    return np.sort(order[n_held_out : n_held_out + n_fitted]), np.sort(order[:n_held_out])


def _mean_and_bound(gains: Float64s, n_tried: int = 1) -> tuple[float, float]:
    """Return the mean gain and its lower 95 % confidence bound; valid also for the best of `n_tried` gains."""
    n, mean = len(gains), float(gains.mean())
    if not gains.any():
        return 0.0, 0.0
    return mean, mean - float(student.ppf(1 - (1 - _CONFIDENCE) / n_tried, n - 1) * np.std(gains, ddof=1) / np.sqrt(n))
