"""Names of labels as evidence: how likely a label is for a text that contains words of its name.

A logistic regression gives the probability that a text has a label, from the features (words, pieces of words) that the
text shares with the label's texts: their number, their rarity, their share of a text of the label, and how often labels
with the feature in their texts were right for texts that have it. All of these are sums over features, so a label has a
row of weights over features and a bias. They are learned from some labels, and applied to others. Labels without
training points become candidates. Labels with points are proposed by the trees; the more points a label has, the less
its name counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from labeltrees._matrices import Float64s, Int64s
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.label_sets import has_label
from labeltrees.data.label_texts import LabelTexts
from labeltrees.models.linear.classifiers import KnownPoints
from labeltrees.search.evidence import NO_NAME, Evidence, Names
from labeltrees.search.evidence_arrays import ShortRows, from_short, strongest_entries, to_short
from labeltrees.search.request import SearchRequest

MOST_FEATURES = 64  # kept per label: those with the largest shares
_SAMPLE_POINTS, _SAMPLE_PAIRS = 5000, 300_000  # for the regression, and for counting features
_N_COMPARED = 50  # labels per point for the regression
_PRIOR_POINTS = 20.0  # weight of the regression's estimate, relative to the feature's own counts
_LEAST = 50  # minimum positive examples of the regression, and pairs with held-out labels
_SHARE_OF_LABELS, _MOST_OF_POINTS = 0.1, 0.01  # held-out labels; largest share of points of one
_N_RANKED = 20
_TOLERANCE = 0.002  # allowed loss in the mean of P@1, 3 and 5 of points without held-out labels
_WEIGHTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
_POWERS = (1.0, 0.7, 0.5, 0.35)
_POINTS_LIKE_A_NAME = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_FORGOTTEN = 1000.0  # names of labels with more than this many times `NameUse.points` points are left out


class NameFeatures(NamedTuple):
    """The features of labels' texts (L, d), as shares of the idf of a text (the largest of several), and the idf."""

    shares: Any
    idf: Float64s


@dataclass(frozen=True)
class NameModel:
    """The regression: the amount that a feature adds to the log odds of labels with it in their texts.

    Parameters
    ----------
    coefficients : float64 (6,)
        For every feature: a constant, its idf, its own log odds, its share; for the label: a constant, and the
        logarithm of the number of its features.
    log_odds : float64 (d,)
        Log odds that a label with the feature in its texts is right for a text that has the feature.
    """

    coefficients: Float64s
    log_odds: Float64s

    def weights(self, names: NameFeatures) -> tuple[Any, Float64s]:
        """Return the weights of the features of each label (L, d), and the biases (L,)."""
        shares = names.shares
        constant, idf, odds, share, bias, size = self.coefficients
        of_feature = constant + idf * names.idf + odds * self.log_odds
        values = of_feature[shares.indices] + share * shares.data
        rows = sp.csr_array((values, shares.indices, shares.indptr), shape=shares.shape)
        return rows, bias + size * np.log1p(np.diff(shares.indptr))


class NameUse(NamedTuple):
    """How much names count.

    Parameters
    ----------
    weight : float
        Weight of the evidence.
    power : float
        Factor of the log odds.
    points : float
        The number of points that count as much as a name; 0: names of labels with points are ignored.
    """

    weight: float = 0.3  # defaults if there are too few points to learn from
    power: float = 1.0
    points: float = 0.0


def name_features(texts: LabelTexts | None, encoder: Encoder | None, X: Any) -> NameFeatures | None:
    """Return the features of the texts of all labels; None if there are no texts or the model does not read texts."""
    if texts is None or not isinstance(encoder, TextEncoder) or isinstance(X, np.ndarray):
        return None
    lists = texts.lists()
    rows = sp.csr_array(encoder.transform([text for own in lists for text in own]))
    n_labels, n_features = len(lists), X.shape[1]
    counts = np.bincount(X.indices, minlength=n_features)
    idf = np.log((1 + X.shape[0]) / (1 + counts)) + 1
    of_text = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    owners = np.repeat(np.arange(n_labels), [len(own) for own in lists])[of_text]
    values = idf[rows.indices]
    shares = values / np.maximum(np.bincount(of_text, values, minlength=rows.shape[0]), 1e-12)[of_text]
    order = np.lexsort((-shares, rows.indices, owners))
    owners, columns, shares = owners[order], rows.indices[order], shares[order]
    first = np.ones(len(owners), bool)
    first[1:] = (np.diff(owners) != 0) | (np.diff(columns) != 0)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owners[first], minlength=n_labels))])
    kept = strongest_entries(indptr, columns[first], shares[first].astype(np.float32), MOST_FEATURES)
    matrix = sp.csr_array((from_short(kept.values), kept.columns, kept.indptr), shape=(n_labels, n_features))
    return NameFeatures(matrix, idf) if matrix.nnz else None


# Rows for native code.


def make_names(rows: Any, bias: Float64s, proposed: Any = None, n_proposed: int = Names.n_proposed) -> Names:
    """Return evidence with rows of weights (L, d) that proposes the labels marked in `proposed` (L,), or all."""
    has_row = np.diff(rows.indptr) > 0
    found = rows if proposed is None else keep_rows(rows, proposed)
    own = np.repeat(np.arange(rows.shape[0], dtype=np.int32), np.diff(found.indptr))
    order = np.lexsort((own, -found.data, found.indices))  # the largest weights of a feature first
    posting_ptr = np.concatenate([[0], np.cumsum(np.bincount(found.indices, minlength=rows.shape[1]))])
    return Names(
        ShortRows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), to_short(rows.data)),
        np.where(has_row, bias, NO_NAME).astype(np.float32),
        ShortRows(posting_ptr.astype(np.int64), own[order], to_short(found.data[order])),
        n_proposed,
    )


def keep_rows(rows: Any, kept: Any) -> Any:
    """Return the matrix with all rows empty except those marked in `kept` (L,)."""
    entries = np.repeat(kept, np.diff(rows.indptr))
    indptr = np.concatenate([[0], np.cumsum(np.where(kept, np.diff(rows.indptr), 0))])
    return sp.csr_array((rows.data[entries], rows.indices[entries], indptr), shape=rows.shape)


def names_with(model: NameModel, names: NameFeatures, counts: Int64s, use: NameUse) -> Names:
    """Return the evidence of all labels; `counts` (L,) has the number of points of each."""
    rows, bias = model.weights(names)
    kept = counts <= use.points * _FORGOTTEN
    rows = keep_rows(rows, kept)
    rows.data = rows.data * use.power
    with np.errstate(divide="ignore"):
        less = np.where(counts > 0, np.log1p(counts / use.points if use.points else np.inf), 0.0)
    bias = np.maximum(use.power * bias - less, NO_NAME)
    return replace(make_names(rows, bias, counts == 0), weight=use.weight)


# Learning.


def train_names(known: KnownPoints, names: NameFeatures) -> NameModel:
    """Train the regression on one half of the labels, with log odds of features counted on the other half."""
    rng = np.random.default_rng([known.seed, 3])
    Y = known.Y
    can_learn = (np.bincount(Y.indices, minlength=Y.shape[1]) > 0) & (np.diff(names.shares.indptr) > 0)
    in_half = rng.random(Y.shape[1]) < 0.5
    points = np.sort(rng.permutation(Y.shape[0])[:_SAMPLE_POINTS])
    start = make_names(keep_rows(names.shares, can_learn & ~in_half), np.zeros(Y.shape[1]), n_proposed=_N_COMPARED)
    evidence = Evidence(int(Y.shape[1]), int(known.X.shape[1]), (start,))
    labels = evidence.propose_names(known.X[points], _N_COMPARED, known.model.n_jobs)
    rows, places = np.nonzero(labels >= 0)
    found = labels[rows, places]
    hits = has_label(Y[points], rows, found)
    simple = NameModel(np.array([0, 0, 0, 6.0, -4.0, 0]), np.zeros(known.X.shape[1]))
    if not _LEAST <= hits.sum() < len(hits):
        return simple
    odds = feature_odds(known, names, can_learn & in_half, rng)
    sums = _sums(known.X[points], names, odds, rows, found)
    scale = sums.std(axis=0) + 1e-9
    regression = LogisticRegression(max_iter=1000).fit(sums / scale, hits)
    own = regression.coef_[0] / scale
    coefficients = np.array([*own[:4], regression.intercept_[0], own[4]])
    return NameModel(coefficients, feature_odds(known, names, can_learn, rng))


def _sums(X: Any, names: NameFeatures, odds: Float64s, rows: Any, labels: Any) -> Float64s:
    """Return the inputs of the regression (n, 5) for pairs of a point and a label: sums over shared features."""
    present = sp.csr_array((np.ones(len(X.data)), X.indices, X.indptr), shape=X.shape)
    sums = []
    for start in range(0, len(rows), 50_000):
        part = slice(start, start + 50_000)
        both = sp.csr_array(present[rows[part]].multiply(names.shares[labels[part]]))
        shared = sp.csr_array((np.ones(len(both.data)), both.indices, both.indptr), shape=both.shape)
        sums.append(np.c_[shared.sum(axis=1), shared @ names.idf, shared @ odds, both.sum(axis=1)])
    return np.asarray(np.c_[np.concatenate(sums), np.log1p(np.diff(names.shares.indptr)[labels])])


def feature_odds(known: KnownPoints, names: NameFeatures, used: Any, rng: np.random.Generator) -> Float64s:
    """Return for each feature the log odds of a label that has it in its texts, for a point that has it (d,).

    They are counted over the `used` labels (L,). For features with few counts, a regression on the number of points and
    of labels with the feature estimates them.
    """
    Y, n_features = known.Y, known.X.shape[1]
    points = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    pairs = np.flatnonzero(used[Y.indices])
    drawn = np.sort(rng.permutation(pairs)[:_SAMPLE_PAIRS])
    n_points = np.bincount(known.X.indices, minlength=n_features)
    n_labels = np.bincount(keep_rows(names.shares, used).indices, minlength=n_features)
    hits = np.zeros(n_features)
    for start in range(0, len(drawn), 50_000):
        own = drawn[start : start + 50_000]
        both = sp.csr_array(known.X[points[own]].multiply(names.shares[Y.indices[own]]))
        hits += np.bincount(both.indices[both.data != 0], minlength=n_features)
    tried = n_points * n_labels * (len(drawn) / max(len(pairs), 1))
    hits = np.minimum(hits, tried)
    of_feature = np.c_[np.log1p(n_points), np.log1p(np.bincount(names.shares.indices, minlength=n_features))]
    counted = np.flatnonzero(tried > 0)
    prior = np.full(n_features, 0.01)
    if hits.sum() > 0 and (tried - hits).sum() > 0:
        weights = np.concatenate([hits[counted], (tried - hits)[counted]]) / np.sqrt(np.tile(tried[counted], 2))
        outcome = np.repeat([1, 0], len(counted))
        regression = LogisticRegression(max_iter=1000).fit(np.tile(of_feature[counted], (2, 1)), outcome, weights)
        prior = regression.predict_proba(of_feature)[:, 1]
    share = (hits + _PRIOR_POINTS * prior) / (tried + _PRIOR_POINTS)
    return np.asarray(logit(np.clip(share, 1e-9, 1 - 1e-9)))


@dataclass(frozen=True)
class Ranked:
    """Labels that trees or names propose for held-out points, all (n, m): scores, log odds by names, points, hits.

    `held_out` marks labels that had no points when the model was trained; `n_held_out` (n,) counts those of each point.
    """

    scores: Float64s
    log_odds: Float64s
    n_points: Float64s
    hits: NDArray[np.bool_]
    held_out: NDArray[np.bool_]
    n_held_out: Int64s

    def measure(self, use: NameUse) -> tuple[Float64s, float]:
        """Return the mean of P@1, 3 and 5 of each point (n,), and the share of held-out labels among the first 20."""
        scores = self.scores
        if use.weight > 0:
            with np.errstate(divide="ignore"):
                odds = use.power * self.log_odds - np.log1p(self.n_points / use.points if use.points else 0)
            probability = np.where((self.n_points > 0) & (use.points == 0), 0.0, expit(odds))
            scores = scores + use.weight * probability
        order = np.argsort(-scores, axis=1, kind="stable")[:, :_N_RANKED]
        hits = np.take_along_axis(self.hits, order, axis=1)
        found = hits & np.take_along_axis(self.held_out, order, axis=1)
        quality = np.mean([hits[:, :k].sum(axis=1) / k for k in (1, 3, 5)], axis=0)
        return np.asarray(quality), float(found.sum() / max(self.n_held_out.sum(), 1))


def learn_use(known: KnownPoints, names: NameFeatures, split: Any, bound: Any) -> NameUse:
    """Return how much names count, learned on held-out points and held-out labels.

    The weight and power are those that find the most held-out labels without lowering the precision of points without
    such labels by more than a tolerance. `points` is 0 unless another value has a significant gain on all points.

    Parameters
    ----------
    known : KnownPoints
        All points.
    split : pair of int64 arrays
        The points to train on, and the points to hold out.
    bound : callable
        Returns the mean and the lower bound of gains.
    """
    fitted_on, tested = split
    rng = np.random.default_rng([known.seed, 4])
    counts = np.bincount(known.Y.indices, minlength=known.Y.shape[1])
    eligible = (
        (counts > 0) & (counts <= max(_MOST_OF_POINTS * known.Y.shape[0], 1)) & (np.diff(names.shares.indptr) > 0)
    )
    lost = eligible & (rng.random(len(counts)) < _SHARE_OF_LABELS)
    Y = known.Y.copy()
    Y.data = np.where(lost[Y.indices], 0, Y.data)
    Y.eliminate_zeros()
    fewer = replace(known, Y=Y)
    if known.Y[tested].nnz - Y[tested].nnz < _LEAST:
        return NameUse()
    own = fewer.take(fitted_on, fewer.fit(fitted_on))
    ranked = rank(own, train_names(own, names), names, known.X[tested], known.Y[tested])
    before, _ = ranked.measure(NameUse(0, 1, 0))
    without = ranked.n_held_out == 0
    best, most = NameUse(0.0, 1.0, 0.0), 0.0
    for power in _POWERS:
        for weight in _WEIGHTS:
            use = NameUse(weight, power, 0.0)
            quality, recall = ranked.measure(use)
            if recall > most and (before - quality)[without].mean() <= _TOLERANCE:
                best, most = use, recall
    before, _ = ranked.measure(best)
    others = [best._replace(points=points, weight=best.weight or 0.01) for points in _POINTS_LIKE_A_NAME]
    gains = [bound(ranked.measure(use)[0] - before, len(others)) for use in others]
    place = int(np.argmax([mean for mean, _ in gains]))
    return others[place] if gains[place][1] > 0 else best


def rank(known: KnownPoints, model: NameModel, names: NameFeatures, X: Any, Y: Any) -> Ranked:
    """Rank labels for held-out points by a model and names; the model was trained without some of the labels in Y."""
    searcher, n_jobs = known.model.searcher_, known.model.n_jobs
    n_ranked = min(_N_RANKED + 10, Y.shape[1])
    request = known.model.complete_request(SearchRequest(n_ranked, evidence=False))
    found = searcher.topk(X, request, n_jobs=n_jobs)
    rows, bias = model.weights(names)
    counts = np.bincount(known.Y.indices, minlength=Y.shape[1])
    lost = counts == 0
    kind = names_with(model, names, counts, NameUse(1.0))
    of_names = Evidence(int(Y.shape[1]), int(X.shape[1]), (kind,)).propose_names(X, kind.n_proposed, n_jobs)
    labels = np.concatenate([found.labels, of_names], axis=1)
    order = np.argsort(labels, axis=1, kind="stable")
    labels = np.take_along_axis(labels, order, axis=1)
    scores = np.concatenate([found.scores, np.zeros((len(labels), labels.shape[1] - found.scores.shape[1]))], axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    # Names propose only labels that the trees lack, so only -1 occurs more than once.
    is_label = labels >= 0
    is_label[:, 1:] &= np.diff(labels, axis=1) != 0
    known_labels = np.where(is_label, labels, 0)
    whole = make_names(rows, bias)
    odds = Evidence(int(Y.shape[1]), int(X.shape[1]), (whole,)).measure(X, known_labels, n_jobs)["names"]
    hits = np.zeros(labels.shape, bool)
    at = np.nonzero(is_label)
    hits[at] = has_label(Y, at[0], labels[at])
    return Ranked(
        np.where(is_label, scores, -np.inf),
        logit(np.clip(odds.astype(np.float64), 1e-12, 1 - 1e-6)),
        counts[known_labels].astype(np.float64),
        hits,
        lost[known_labels] & is_label,
        np.asarray(Y @ lost.astype(np.float32)).astype(np.int64),
    )
