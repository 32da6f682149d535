"""Changes of an estimator: which ones `choose` tries, and what they gain, alone and together.

A candidate is a tuple of changes, at most one of each kind. To let `choose` try another parameter, add its values to
`make_changes`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.data.tfidf_state import detect_language, make_stemmer
from labeltrees.errors import InputError, MissingExtraError
from labeltrees.models.linear.settings import Solver, solver_of
from labeltrees.tuning.budget import AND, OWN
from labeltrees.tuning.candidates import AS_GIVEN, FEATURES, STEM, Parameters, words_of
from labeltrees.tuning.data import TuningData
from labeltrees.tuning.limits import Limits, luck_of
from labeltrees.tuning.trial import kinds_of_features

# Values of C by loss, besides the estimator's own. Higher values take long, and are worse on noisy data.
_COSTS = {"squared_hinge": (0.1, 0.3, 1.0, 3.0), "logistic": (0.3, 1.0, 3.0, 10.0)}
_N_TREES = 3
_HALF_LIFE = 14.0  # of the trend, in days
WIDER = 2  # the factor of a wider fanout, tried besides the estimator's own
_MAX_FLAT_POINTS = 10_000  # one-vs-all is tried if there are fewer points
# Expected training time with a change, relative to training without it.
_FEATURE_COSTS = {"words": 0.7, "words+pairs": 2.0, "words+pieces": 3.0, "words+pairs+chars": 5.0}
_STEM_COST, _LOGISTIC_COST, _EVIDENCE_COST, _WIDE_COST, _TREE_COST = 1.5, 3.0, 3.5, 1.2, 0.75
_FLAT_COSTS = (1.5, 10.0)  # bounds; one-vs-all has a classifier per label for each point, a tree about twice its fanout
# Expected gains and their standard deviations, in percentage points where the metric is 50 %. Three trees and evidence
# gain a little on nearly all data; a number for C is seldom much better than "auto".
_EXPECTED, _USUAL, _LITTLE = (0.3, 1.0), (0.0, 2.5), (0.0, 0.5)
_UNKNOWN_COST = 3.0
# Prior standard deviations, relative to that of the metric over points: of slopes, and of the difference between the
# gain of two changes together and the sum of their gains.
_SLOPE, _TOGETHER = 0.02, 0.01
_LEAST_ERROR = 0.0005  # of a measured gain, because it varies with seeds and training points


class Change(NamedTuple):
    """Parameters to try.

    Parameters
    ----------
    kind : str
        The kind of change, such as "features"; a candidate has at most one change of each kind.
    parameters : dict
    cost : float
        Expected training time with it, relative to training without it.
    prior, width : float
        Expected gain before any trial and its standard deviation, in percentage points where the metric is 50 %.
    also : str
        Another kind that it excludes.
    """

    kind: str
    parameters: Parameters
    cost: float = 1.5
    prior: float = _USUAL[0]
    width: float = _USUAL[1]
    also: str = ""

    @property
    def name(self) -> str:
        """The change in words."""
        return words_of(self.parameters)

    def excludes(self, other: Change) -> bool:
        """Whether a candidate cannot have both."""
        return self.kind in (other.kind, other.also) or other.kind == self.also


Candidate = tuple[Change, ...]


def name_of(candidate: Candidate) -> str:
    """Return a candidate in words."""
    return AND.join(change.name for change in candidate) or OWN


# Which changes are tried.


def make_changes(
    estimator: Any, limits: Limits, tuned: Mapping[str, Any], train: TuningData, *, with_trees: bool
) -> list[Change]:
    """Return the changes of the estimator to try.

    Parameters
    ----------
    estimator : model
    limits : Limits
    tuned : dict
        The result of `check_tuned`.
    train : TuningData
    with_trees : bool
        Whether other trees are among the changes.
    """
    own = {FEATURES: AS_GIVEN, STEM: None, **estimator.get_params(deep=False)}

    def others(name: str, usual: Sequence[Any]) -> list[Any]:
        tried = (tuned[name] or usual) if name in tuned else ()
        return [value for value in tried if value != own[name]]

    found = [
        Change(FEATURES, {FEATURES: kind}, _FEATURE_COSTS.get(kind, _UNKNOWN_COST))
        for kind in others(FEATURES, kinds_of_features(train.vectorizer) if FEATURES in tuned else ())
    ]
    found += [Change(STEM, {STEM: stem}, _STEM_COST) for stem in others(STEM, _stems(train) if STEM in tuned else ())]
    for half_life in others("trend", [_HALF_LIFE] if own.get("trend") is None else []):
        found.append(Change("trend", {"trend": half_life}))
        if limits.has_latency:
            found.append(Change("trend", {"trend": half_life, "search": "paths"}))
    found += _losses_and_costs(own, others)
    if "n_trees" in tuned:
        for count in others("n_trees", [_N_TREES] if own["n_trees"] < _N_TREES else []):
            cost = _TREE_COST * count / own["n_trees"]
            found.append(Change("n_trees", {"n_trees": count}, cost, *_EXPECTED))
    if "label_texts" in own and train.label_texts is not None and own["label_texts"] == "auto" and "features" in tuned:
        found.append(Change("label texts", {"label_texts": "all"}))
    for kind in others("evidence", ["auto"] if own.get("evidence") in (None, "default") else []):
        found.append(Change("evidence", {"evidence": kind}, _EVIDENCE_COST, *_EXPECTED))
    if with_trees:
        if isinstance(own.get("fanout"), int):
            found += [
                Change("tree", {"fanout": value}, _WIDE_COST) for value in others("fanout", [WIDER * own["fanout"]])
            ]
        found += [Change("tree", {"tradeoff": value}) for value in others("tradeoff", [0.0])]
        if {"tradeoff", "tree"} <= own.keys() and "tradeoff" in tuned and train.n_points < _MAX_FLAT_POINTS:
            width = own["fanout"] if isinstance(own.get("fanout"), int) else 2
            cost = float(np.clip(train.Y.shape[1] / (2 * width), *_FLAT_COSTS))
            found.append(Change("tree", {"tree": "flat"}, cost, also="n_trees"))
    return found


def _losses_and_costs(own: Mapping[str, Any], others: Callable[[str, Sequence[Any]], list[Any]]) -> list[Change]:
    """Return pairs of loss and C."""
    if not {"loss", "C"} <= own.keys():
        return []
    name = "loss__loss" if isinstance(own["loss"], Solver) else "loss"  # a solver keeps its other settings
    loss = solver_of(own["loss"]).loss
    is_auto = own["C"] == "auto"  # then other values are tried only with the estimator's own loss
    prior, width = _LITTLE if is_auto else _USUAL
    found = [Change("loss and C", {"C": cost}, prior=prior, width=width) for cost in others("C", _COSTS.get(loss, ()))]
    for other in [value for value in others("loss", tuple(_COSTS)) if value != loss]:
        costs = [own["C"], *others("C", () if is_auto else _COSTS.get(other, ()))]
        found += [Change("loss and C", {name: other, "C": cost}, _LOGISTIC_COST) for cost in costs]
    return found


def _stems(train: TuningData) -> list[str]:
    """Return the language of the texts, if it is clear and its stems are available."""
    language = detect_language(map(str, train.texts))
    try:
        return [] if language is None or make_stemmer(language) is None else [language]
    except (MissingExtraError, InputError):
        return []


# What changes gain.


class Gain(NamedTuple):
    """The gain that a candidate will probably have at the full size, and its standard error."""

    mean: float
    error: float


class Effects:
    """What changes gain, alone and together, estimated from all trials by a Bayesian linear regression.

    The gain of a candidate on n of N points is the sum of ``gain + slope * log(n / N)`` over its changes, plus one term
    for each pair of them. So a sample says something about the full size, two samples say more, and a trial with
    several changes says something about each of them. Noise is not extrapolated, because slopes are probably small.

    Parameters
    ----------
    changes : list of Change
    trials : list of (Candidate, share)
        The share of the points that each was trained on.
    gains : (n_trials,) floats
    covariance : (n_trials, n_trials) floats
        Of the gains, from the validation points that they share.
    scale : float
        The standard deviation of the metric over points.

    Examples
    --------
    >>> pairs = Change("features", {"features": "words+pairs"})
    >>> trials = [((pairs,), 1 / 9), ((pairs,), 1 / 3)]
    >>> gain = Effects([pairs], trials, np.array([0.0, 0.01]), 1e-6 * np.eye(2), 0.5).gain((pairs,))
    >>> round(gain.mean, 3)
    0.02
    >>> gain = Effects([pairs], trials, np.array([0.0, 0.01]), 1e-4 * np.eye(2), 0.5).gain((pairs,))
    >>> round(gain.mean, 3)
    0.008
    """

    def __init__(
        self,
        changes: Sequence[Change],
        trials: Sequence[tuple[Candidate, float]],
        gains: Float64s,
        covariance: Float64s,
        scale: float,
    ) -> None:
        self._place = {change.name: place for place, change in enumerate(changes)}
        n = len(changes)
        self._pair = {pair: 2 * n + place for place, pair in enumerate(itertools.combinations(range(n), 2))}
        width = scale * np.array([change.width for change in changes]) / 50
        # A large difference must not be explained by the noise that trials share. With few points, the noise of one of
        # many trials is a large difference, too.
        noise = max(1.0, luck_of(len(trials))) ** 2 * np.diag(covariance) if len(trials) else 0.0
        for (candidate, _), gain in zip(trials, np.sqrt(np.maximum(np.square(gains) - noise, 0.0)), strict=True):
            if len(candidate) == 1:
                place = self._place[candidate[0].name]
                width[place] = max(width[place], gain)
        others = scale * np.repeat([_SLOPE, _TOGETHER], [n, len(self._pair)])
        prior = np.square(np.concatenate([width, others]))
        self._mean = np.zeros(len(prior))
        self._mean[:n] = [scale * change.prior / 50 for change in changes]
        self._covariance = np.diag(prior)
        if len(trials):
            rows = np.array([self._row(candidate, math.log(share)) for candidate, share in trials])
            seen = rows * prior
            inverse = np.linalg.inv(seen @ rows.T + covariance + _LEAST_ERROR**2 * np.eye(len(rows)))
            self._mean += seen.T @ inverse @ (gains - rows @ self._mean)
            self._covariance -= seen.T @ inverse @ seen

    def _row(self, candidate: Candidate, log_share: float = 0.0) -> Float64s:
        places = sorted(self._place[change.name] for change in candidate)
        row = np.zeros(len(self._mean))
        row[places] = 1.0
        row[[len(self._place) + place for place in places]] = log_share
        row[[self._pair[pair] for pair in itertools.combinations(places, 2)]] = 1.0
        return row

    def gain(self, candidate: Candidate, than: Candidate = ()) -> Gain:
        """Return how much more a candidate gains at the full size than another one."""
        row = self._row(candidate) - self._row(than)
        return Gain(float(row @ self._mean), math.sqrt(max(0.0, float(row @ self._covariance @ row))))

    def possible_gain(self, candidate: Candidate, than: Candidate, optimism: float) -> float:
        """Return how much more a candidate may gain, if it is better than expected by `optimism` standard errors.

        Unknown gains of pairs do not count: they would favour candidates with many changes.
        """
        row = self._row(candidate) - self._row(than)
        alone = np.where(np.arange(len(row)) < len(self._place), row, 0.0)
        return float(row @ self._mean) + optimism * math.sqrt(max(0.0, float(alone @ self._covariance @ alone)))
