"""Explaining labels of linear models: the amount that each feature adds to the logarithm of a label's score.

On the path from the root to a label, each classifier has a margin, which is a sum over features: m = b + sum w_j x_j.
Its score enters the log score as g(m). A feature gets its share of the difference that all features make together,
(g(m) - g(b)) w_j x_j / (m - b): the integral of the gradient from a point without features to x, in closed form. The
base is the sum of all g(b).

Several trees: the score is a mean of scores s_t, and evidence adds to it. With the logarithmic mean
M(a, b) = (a - b) / (log a - log b), log(s / s0) = sum_t M(s_t, s0_t) / M(s, s0) log(s_t / s0_t), if s and s0 are the
sums of the s_t and s0_t. So each tree's amounts are multiplied by its factor, and evidence e adds e / M(s, s0).
Second classifiers of labels are explained like those of the tree: their log score is averaged with that of the trees.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import Float64s
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.models.common.explanation import (
    Contribution,
    LabelExplanation,
    Word,
    find_words,
    sorted_contributions,
)
from labeltrees.models.linear.features import feature_names_of, unit_rows
from labeltrees.search.evidence import Classifiers, Kind

if TYPE_CHECKING:
    from labeltrees.models.linear.prediction import LinearPredictionMixin

_TINY = 1e-300


class LogScore(NamedTuple):
    """The log score of a label in one tree: that of a point without features, and the amount per feature (n,)."""

    base: float
    amounts: Float64s

    @property
    def total(self) -> float:
        """The log score of the point."""
        return self.base + float(self.amounts.sum())


class PointExplainer:
    """Explains labels of one point.

    Parameters
    ----------
    model : fitted LabelTreeClassifier
    row : sparse or dense row (1, d)
        Checked features of the point.
    text : str, optional
        The text that the row was made from.
    """

    def __init__(self, model: LinearPredictionMixin, row: Any, text: str | None = None) -> None:
        self.model, self.text = model, text
        self.row = sp.csr_array(row)
        self.row.eliminate_zeros()
        scaled = unit_rows(self.row) if model.searcher_.normalize else self.row
        self.features = scaled.indices
        n = len(self.features)
        # A row without features, then one for each feature alone: margins are sums, so these rows are enough.
        indptr = np.concatenate([[0], np.arange(n + 1)])
        self.rows = sp.csr_array((scaled.data, scaled.indices, indptr), shape=(n + 1, scaled.shape[1]))
        self._margins: dict[tuple[int, int], Any] = {}
        names = feature_names_of(model)
        self.names = [f"feature {j}" if names is None else str(names[j]) for j in self.features.tolist()]

    def explain(self, label: int, name: Any) -> LabelExplanation:
        """Return the contributions for and against one label."""
        if len(self.features) == 0:
            return self._prior(label, name)
        trees = [self._log_score(tree, label) for tree in range(len(self.model.trees_))]
        base, amounts, _ = combine(trees, 1.0, {})
        own_score = self._with_classifiers(LogScore(base, amounts), label)
        scale, terms = self._evidence_terms(label)
        if math.isinf(own_score.base):  # a label without points: only evidence finds it
            base, amounts, added = math.log(scale), np.zeros(len(self.features)), shared_log(terms)
        else:
            base, amounts, added = combine([own_score], scale, terms)
        others = [Contribution(kind, amount, "evidence") for kind, amount in added.items()]
        if self.model.trend_ is not None:
            weight = float(self.model.trend_[label])
            others.append(Contribution("trend", math.log(weight) if weight > 0 else -math.inf, "trend"))
        others.append(Contribution("base", base, "base"))
        columns = self.features.tolist()
        own = [
            Contribution(name, amount, "feature", column)
            for name, amount, column in zip(self.names, amounts.tolist(), columns, strict=True)
        ]
        return self._explanation(label, name, sorted_contributions(own, others), self._words(amounts))

    def _explanation(
        self, label: int, name: Any, contributions: tuple[Contribution, ...], words: tuple[Word, ...]
    ) -> LabelExplanation:
        log_score = math.fsum(part.amount for part in contributions)
        score = math.exp(log_score)
        calibration = self.model.calibration_
        probability = None if calibration is None else float(calibration(np.array([score]))[0])
        return LabelExplanation(name, label, score, log_score, contributions, words, probability)

    def _prior(self, label: int, name: Any) -> LabelExplanation:
        share = float(self.model.label_counts_[label]) / max(self.model.n_points_ or 1, 1)
        base = Contribution("base", math.log(share) if share > 0 else -math.inf, "base")
        return self._explanation(label, name, (base,), ())

    def _log_score(self, tree: int, label: int) -> LogScore:
        path = path_of(self.model.trees_[tree], label)
        base, amounts = 0.0 if path else -math.inf, np.zeros(len(self.features))
        for node, place in path:
            margins = self._node_margins(tree, node)[:, place].astype(np.float64)
            bias, parts = float(margins[0]), margins[1:] - margins[0]
            without, slope = self._link(bias, bias + float(parts.sum()))
            base += without
            amounts += slope * parts
        return LogScore(base, amounts)

    def _node_margins(self, tree: int, node: int) -> Any:
        if (tree, node) not in self._margins:
            self._margins[tree, node] = self.model.searcher_.margins(self.rows, tree, node)
        return self._margins[tree, node]

    def _link(self, bias: float, margin: float) -> tuple[float, float]:
        """Return g(bias), and the mean slope of g between the bias and the margin."""
        searcher = self.model.searcher_
        without, whole = (log_score_of(searcher.loss, searcher.score_power, value) for value in (bias, margin))
        return without, 0.0 if margin == bias else (whole - without) / (margin - bias)

    @property
    def _kinds(self) -> tuple[Kind, ...]:
        evidence = self.model.searcher_.evidence
        return () if evidence is None or not self.model._uses_evidence() else evidence.kinds

    def _with_classifiers(self, score: LogScore, label: int) -> LogScore:
        """Return the weighted mean of the trees' log score and those of second classifiers."""
        total, base, amounts = 1.0, score.base, score.amounts.copy()
        for kind in self._kinds:
            if isinstance(kind, Classifiers):
                own = self._classifier_score(kind, label)
                total, base, amounts = (
                    total + kind.weight,
                    base + kind.weight * own.base,
                    amounts + kind.weight * own.amounts,
                )
        return LogScore(base / total, amounts / total)

    def _classifier_score(self, kind: Classifiers, label: int) -> LogScore:
        columns, weights = kind.row(label)
        values = np.zeros(self.rows.shape[1])
        values[columns] = weights
        parts = values[self.features] * self.rows.data
        bias = float(kind.bias[label])
        without, slope = self._link(bias, bias + float(parts.sum()))
        return LogScore(without, slope * parts)

    def _evidence_terms(self, label: int) -> tuple[float, dict[str, float]]:
        """Return the factor that scales the sum of score and evidence, and each kind's term in that sum."""
        added = {kind.NAME: kind.weight for kind in self._kinds if not kind.multiplies}
        if not added:
            return 1.0, {}
        evidence = self.model.searcher_.evidence
        assert evidence is not None
        found = evidence.measure(self.row, np.array([[label]], np.int64), self.model.n_jobs)
        terms = {name: weight * float(found[name][0, 0]) for name, weight in added.items()}
        return 1.0 / (1.0 + sum(added.values())), terms

    def _words(self, amounts: Float64s) -> tuple[Word, ...]:
        encoder = self.model.encoder_
        if self.text is None or encoder is None:
            return ()
        words = find_words(self.text)
        shares = features_of_words(encoder, [word.group() for word in words], self.names, self.features.tolist())
        own = np.zeros(len(words))
        for feature, places in shares.items():
            own[places] += amounts[feature] / len(places)
        return tuple(
            Word(word.group(), word.start(), word.end(), float(amount))
            for word, amount in zip(words, own.tolist(), strict=True)
        )


def log_score_of(loss: str, power: float, margin: float) -> float:
    """Return the amount that a classifier with this margin adds to the log score of a path."""
    if loss == "logistic":
        return -float(np.logaddexp(0.0, -margin))
    return float(-(max(0.0, 1.0 - margin) ** power))


def path_of(tree: Any, label: int) -> list[tuple[int, int]]:
    """Return the nodes from the root to a label, each with the position of the next one among its children."""
    node_parents, label_parents = tree._parents
    path = []
    child, node = ~label, int(label_parents[label])
    while node >= 0:
        begin = int(tree.child_ptr[node])
        children = tree.children[begin : int(tree.child_ptr[node + 1])]
        path.append((node, int(np.flatnonzero(children == child)[0])))
        child, node = node, int(node_parents[node])
    return path[::-1]


def combine(
    trees: list[LogScore], scale: float, evidence: dict[str, float]
) -> tuple[float, Float64s, dict[str, float]]:
    """Return the base and the amounts of features and evidence for the log of scale * (mean of scores + evidence)."""
    if len(trees) == 1 and not evidence:
        return trees[0].base + math.log(scale), trees[0].amounts, {}
    # Scores are divided by the largest number, so that small ones do not underflow.
    terms = {kind: max(term, _TINY) for kind, term in evidence.items()}
    shift = max(max(tree.total, tree.base) for tree in trees)
    shift = max([shift, *map(math.log, terms.values())])
    terms = {kind: math.exp(math.log(term) - shift) for kind, term in terms.items()}
    scores, empty = (
        [max(math.exp(log_score - shift), _TINY) / len(trees) for log_score in log_scores]
        for log_scores in ([tree.total for tree in trees], [tree.base for tree in trees])
    )
    whole, without = math.fsum([*scores, *terms.values()]), math.fsum(empty)
    mean = logarithmic_mean(whole, without)
    amounts = np.zeros(len(trees[0].amounts))
    for tree, score, base in zip(trees, scores, empty, strict=True):
        amounts += logarithmic_mean(score, base) / mean * tree.amounts
    added = {kind: term / mean for kind, term in terms.items()}
    # Equal to log(without), unless scores are too small for a double.
    base = math.log(whole) + shift + math.log(scale) - float(amounts.sum()) - sum(added.values())
    return base, amounts, added


def shared_log(terms: dict[str, float]) -> dict[str, float]:
    """Return the log of the sum of terms, divided among them in proportion.

    Examples
    --------
    >>> shared_log({"names": 0.5, "centroids": 0.0})
    {'names': -0.6931471805599453, 'centroids': -0.0}
    """
    total = sum(terms.values())
    return {kind: math.log(total) * term / total if total > 0 else -math.inf for kind, term in terms.items()}


def logarithmic_mean(a: float, b: float) -> float:
    """Return (a - b) / (log a - log b) of two positive numbers.

    Examples
    --------
    >>> round(logarithmic_mean(1.0, math.e), 6), logarithmic_mean(2.0, 2.0)
    (1.718282, 2.0)
    """
    if a <= 0 or b <= 0:
        return 0.0
    ratio = (a - b) / b
    return b if abs(ratio) < 1e-9 else (a - b) / math.log1p(ratio)


def features_of_words(
    encoder: Encoder, words: list[str], names: list[str], features: list[int]
) -> dict[int, list[int]]:
    """Return the words that each feature of a text belongs to, as positions in `words`.

    A feature belongs to the words that have it when encoded alone, such as the word itself and its pieces. A feature of
    several words, such as a pair, belongs to those whose own features are among the words of its name.

    Parameters
    ----------
    encoder : Encoder
    words : list of str
        The words of the text, in order.
    names, features : list
        The names of the text's features, and their columns.
    """
    place_of = {column: place for place, column in enumerate(features)}
    different = sorted(set(words))
    encoded = sp.csr_array(encoder.transform(different)) if isinstance(encoder, TextEncoder) else None
    if encoded is None:
        return {}
    all_names = encoder.feature_names
    places: defaultdict[int, list[int]] = defaultdict(list)
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    where: defaultdict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(words):
        where[word].append(place)
    for row, word in enumerate(different):
        for column in encoded.indices[encoded.indptr[row] : encoded.indptr[row + 1]].tolist():
            if column in place_of:
                places[place_of[column]] += where[word]
            if all_names is not None:
                by_name[_term(str(all_names[column]))] += where[word]
    for place, name in enumerate(names):
        if place not in places:
            found = sorted({at for term in _term(name).split(" ") for at in by_name.get(term, [])})
            if found:
                places[place] = found
    return dict(places)


def _term(name: str) -> str:
    """Return the term in a feature's name, without the prefix of a union's part."""
    return name.rsplit("__", 1)[-1]
