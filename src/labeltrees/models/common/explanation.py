"""Explanation: why a model predicts labels for a point, as amounts that sum to the log score of each label."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labeltrees._names import nfc
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError

WORD = re.compile(r"\w+")
_SHOWN = 8
MOST_WORDS = 1000  # words of a text to leave out, one at a time
_BLOCK = 32
_ROUNDING = 1e-6
_Amounts = list[tuple[str, float]]


class Contribution(NamedTuple):
    """The amount that one feature, or one other part of the model, adds to a log score.

    Parameters
    ----------
    name : str
        The name of the word, item, feature or kind of evidence; otherwise "base", "trend" or "rest".
    amount : float
        Above 0 it supports the label, below 0 it counts against the label.
    kind : {"feature", "evidence", "trend", "base", "rest"}
        "base" is the log score of a point without features. "rest" is the part that single words do not explain.
    feature : int, optional
        The column of X, for a feature.
    """

    name: str
    amount: float
    kind: str = "feature"
    feature: int | None = None


class Word(NamedTuple):
    """A word of a text, its position, and the amount that all features containing it add to the log score."""

    text: str
    start: int
    end: int
    amount: float


@dataclass(frozen=True)
class LabelExplanation:
    """Why a model predicts one label for a point.

    Parameters
    ----------
    label : str or int
        The name of the label, or its id if labels have no names.
    label_id : int
    score : float
        As `predict_topk` returns it before calibration.
    log_score : float
    contributions : tuple of Contribution
        Features first, by falling magnitude, then the other kinds. All amounts together sum to `log_score`.
    words : tuple of Word
        For texts: the words in text order.
    probability : float, optional
        The calibrated probability, if the model is calibrated.
    retired : bool
        Whether the label is retired: no search returns it.
    """

    label: Any
    label_id: int
    score: float
    log_score: float
    contributions: tuple[Contribution, ...]
    words: tuple[Word, ...] = ()
    probability: float | None = None
    retired: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return {
            "label": self.label,
            "label_id": self.label_id,
            "score": self.score,
            "log_score": self.log_score,
            "probability": self.probability,
            "retired": self.retired,
            "contributions": [
                {name: value for name, value in part._asdict().items() if value is not None}
                for part in self.contributions
            ],
            "words": [word._asdict() for word in self.words],
        }

    def __str__(self) -> str:
        certainty = "" if self.probability is None else f", probability {self.probability:.3f}"
        retired = ", retired: no search returns it" if self.retired else ""
        lines = [f"{self.label}: score {self.score:.4g}{certainty}, log score {self.log_score:.3f}{retired}"]
        own, others = self._by_word() if self.words else self._by_feature()
        lines += [f"  {amount:+9.3f}  {name}" for name, amount in own[:_SHOWN]]
        if len(own) > _SHOWN:
            kind = "words" if self.words else "features"
            lines.append(f"  {sum(amount for _, amount in own[_SHOWN:]):+9.3f}  {len(own) - _SHOWN} other {kind}")
        lines += [f"  {amount:+9.3f}  {name}" for name, amount in others]
        return "\n".join(lines)

    def _by_feature(self) -> tuple[_Amounts, _Amounts]:
        """Return the amounts of features, and those of everything else."""
        own = [(part.name, part.amount) for part in self.contributions if part.kind == "feature"]
        return own, [(_shown_name(part), part.amount) for part in self.contributions if part.kind != "feature"]

    def _by_word(self) -> tuple[_Amounts, _Amounts]:
        """Return the amounts of distinct words by falling magnitude, and those of everything else."""
        total: dict[str, float] = defaultdict(float)
        for word in self.words:
            total[word.text.casefold()] += word.amount
        features, others = self._by_feature()
        left = math.fsum(amount for _, amount in features) - math.fsum(total.values())
        if abs(left) > _ROUNDING:
            others = [("features that belong to no single word", left), *others]
        return sorted(total.items(), key=lambda item: -abs(item[1])), others


def _shown_name(part: Contribution) -> str:
    notes = {
        "base": "base: the score without any feature",
        "trend": "trend: how frequent the label is lately",
        "rest": "rest: what no single word explains",
        "evidence": f"evidence: {part.name}",
    }
    return notes.get(part.kind, part.name)


@dataclass(frozen=True)
class Explanation(Sequence[LabelExplanation]):
    """Why a model predicts labels for a point: one `LabelExplanation` per label, best first or in the order asked for.

    The explanation also has the attributes of its first label: ``model.explain(x, label).log_score``.

    Examples
    --------
    >>> import labeltrees as lt
    >>> model = lt.LabelTreeClassifier().fit(["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5)
    >>> why = model.explain("a red one", "apple")
    >>> why.contributions[0].name
    'red'
    >>> abs(sum(part.amount for part in why.contributions) - why.log_score) < 1e-6
    True
    """

    labels: tuple[LabelExplanation, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    def __iter__(self) -> Iterator[LabelExplanation]:
        return iter(self.labels)

    def __getattr__(self, name: str) -> Any:
        if name in LabelExplanation.__dataclass_fields__ and self.labels:
            return getattr(self.labels[0], name)
        message = f"an Explanation has no {name!r}"
        raise AttributeError(message)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return {"labels": [label.to_dict() for label in self.labels]}

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.labels))


def sorted_contributions(features: Sequence[Contribution], others: Sequence[Contribution]) -> tuple[Contribution, ...]:
    """Return features by falling magnitude (equal ones in the order given), then the others."""
    return (*sorted(features, key=lambda part: -abs(part.amount)), *others)


def find_words(text: str) -> list[re.Match[str]]:
    """Return the words of a text as matches, which have their positions."""
    return list(WORD.finditer(text))


def explain_by_leaving_out(
    text: str, log_scores: Callable[[list[str]], Any], label: int, name: Any, calibration: Any
) -> LabelExplanation:
    """Return an explanation by leave-one-out: how much the log score of a label falls without each word of a text.

    Each amount is measured with all other words present, so the amounts do not sum to the log score; the difference is
    the contribution "rest". Only the first 1,000 words are measured, because each needs one search with the text.

    Parameters
    ----------
    text : str
    log_scores : function of a list of texts
        Returns the log score of the label for each text.
    label : int
    name : str or int
    calibration : Calibration or None
    """
    found = find_words(text)[:MOST_WORDS]
    scores = [float(log_scores([text])[0])]
    for first in range(0, len(found), _BLOCK):  # a few copies of the text at a time
        block = found[first : first + _BLOCK]
        scores += np.asarray(log_scores([text[: word.start()] + text[word.end() :] for word in block])).tolist()
    log_score = scores[0]
    words = tuple(
        Word(word.group(), word.start(), word.end(), log_score - without)
        for word, without in zip(found, scores[1:], strict=True)
    )
    own = [Contribution(word.text, word.amount) for word in words]
    rest = Contribution("rest", log_score - math.fsum(word.amount for word in words), "rest")
    score = math.exp(log_score)
    probability = None if calibration is None else float(calibration(np.array([score]))[0])
    return LabelExplanation(name, label, score, log_score, sorted_contributions(own, [rest]), words, probability)


class ExplainMixin:
    """`explain` for an estimator with `check_queries` and `predict_topk`; each family implements `_explainer`."""

    searcher_: Any
    check_queries: Callable[..., Any]
    predict_topk: Callable[..., Any]
    _label_names: Any

    @abstractmethod
    def _explainer(self, x: Any, points: Any) -> Callable[[int, Any], LabelExplanation]:
        """Return the function that explains a label, given its id and name, for one point.

        `x` is the point as given; `points` is the same point as `check_queries` returned it.
        """

    def explain(self, x: Any, label: Any = None, k: int = 5) -> Explanation:
        """Return why the model predicts labels for a point: how much each word, item or feature adds to the log score.

        In a `LabelTreeClassifier` the amounts are exact. For each classifier on the path to the label, the change that
        all features make to its log score is divided among them; together with base, evidence and trend, the amounts
        sum to the log score. In a `TextLabelTreeClassifier` the amount of a word is how much the log score falls
        without that word.

        Parameters
        ----------
        x : one point
            A text, a list of items, a row (d,) or a matrix (1, d).
        label : label or list of labels, optional
            Names or ids of the labels to explain. By default the k best labels.
        k : int
            Number of labels to explain if `label` is not given.

        Returns
        -------
        Explanation
            One entry per label. Printing it shows the largest amounts.
        """
        batch = one_point(x)
        points = self.check_queries(batch)
        if points.shape[0] != 1:
            refuse("x", "one point; call explain for each of several points", f"{points.shape[0]} points")
        if label is None:
            found, _ = self.predict_topk(batch, check_integer("k", k, 1))
            labels = [name for name in found[0].tolist() if name is not None and name != -1]
        else:
            labels = list(label) if isinstance(label, list | tuple | set | np.ndarray) else [label]
        ids = [self._id_of(name) for name in labels]
        explain = self._explainer(x, points)
        names = ids if self._label_names is None else self._label_names.take(np.array(ids, np.int64)).tolist()
        retired = set(self.searcher_.retired.tolist())
        found_labels = (explain(own, name) for own, name in zip(ids, names, strict=True))
        return Explanation(tuple(replace(one, retired=one.label_id in retired) for one in found_labels))

    def _id_of(self, label: Any) -> int:
        if isinstance(label, str):
            known = {} if self._label_names is None else self._label_names.position
            if nfc(label) not in known:
                message = f"label must be one that the model knows, got {label!r}: label_names_ lists them"
                raise InputError(message)
            return int(known[nfc(label)])
        return check_integer("label", label, 0, self.searcher_.n_labels - 1)


def one_point(x: Any) -> Any:
    """Return one point as a batch of one: matrices unchanged, a row (d,) as (1, d), everything else in a list."""
    if sparse.issparse(x):
        return x
    if isinstance(x, np.ndarray) and x.dtype.kind not in "OU":
        return x[np.newaxis] if x.ndim == 1 else x
    return [x]
