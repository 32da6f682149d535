"""Explanation: why a model gives labels to a point, as amounts that sum to the logarithm of each label's score."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labeltrees._names import nfc
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError

WORD = re.compile(r"\w+")
_SHOWN = 8
MOST_WORDS = 1000  # of a text, that are left out one by one
_BLOCK = 32


class Contribution(NamedTuple):
    """What one thing adds to the logarithm of a score.

    Parameters
    ----------
    name : str
        Of the word, the item or the feature; of the kind of evidence; or "base" or "trend".
    amount : float
        Above 0 it speaks for the label, below 0 against it.
    kind : {"feature", "evidence", "trend", "base", "rest"}
        "base" is the log score of a point without features. "rest" is what leaving out single words does not explain.
    feature : int, optional
        The column of X, if it is a feature.
    """

    name: str
    amount: float
    kind: str = "feature"
    feature: int | None = None


class Word(NamedTuple):
    """A word of a text, its position, and what it adds to the log score with all features that contain it."""

    text: str
    start: int
    end: int
    amount: float


@dataclass(frozen=True)
class LabelExplanation:
    """Why a model gives one label to a point.

    Parameters
    ----------
    label : str or int
        The name of the label, or its id if labels have no names.
    label_id : int
    score : float
        As `predict_topk` returns it before calibration.
    log_score : float
    contributions : tuple of Contribution
        The features first, those with the largest amounts at the top. The amounts of all kinds sum to `log_score`.
    words : tuple of Word
        For texts: the words in their order.
    probability : float, optional
        If the model is calibrated.
    """

    label: Any
    label_id: int
    score: float
    log_score: float
    contributions: tuple[Contribution, ...]
    words: tuple[Word, ...] = ()
    probability: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return {
            "label": self.label,
            "label_id": self.label_id,
            "score": self.score,
            "log_score": self.log_score,
            "probability": self.probability,
            "contributions": [
                {name: value for name, value in part._asdict().items() if value is not None}
                for part in self.contributions
            ],
            "words": [word._asdict() for word in self.words],
        }

    def __str__(self) -> str:
        certainty = "" if self.probability is None else f", probability {self.probability:.3f}"
        lines = [f"{self.label}: score {self.score:.4g}{certainty}, log score {self.log_score:.3f}"]
        features = [part for part in self.contributions if part.kind == "feature"]
        shown = features[:_SHOWN] + [part for part in self.contributions if part.kind != "feature"]
        lines += [f"  {part.amount:+9.3f}  {_shown_name(part)}" for part in shown]
        if len(features) > _SHOWN:
            others = sum(part.amount for part in features[_SHOWN:])
            lines.insert(1 + _SHOWN, f"  {others:+9.3f}  {len(features) - _SHOWN} other features")
        return "\n".join(lines)


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
    """Why a model gives labels to a point: one `LabelExplanation` per label, best first.

    The attributes of the first label are also those of the explanation: ``model.explain(x, label).log_score``.

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
    """Return the words of a text, with their places."""
    return list(WORD.finditer(text))


def explain_by_leaving_out(
    text: str, log_scores: Callable[[list[str]], Any], label: int, name: Any, calibration: Any
) -> LabelExplanation:
    """Return how much the log score of a label falls without each word of a text.

    The amounts of words do not sum to the log score, because each is measured with all others present; the rest is a
    contribution of its own. Only the first 1,000 words are left out, because each takes a search of the whole text.

    Parameters
    ----------
    text : str
    log_scores : function of a list of texts
        Returns the log score of the label for each.
    label, name : int, str or int
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
    """`explain` for an estimator with `check_queries` and `predict_topk`; a family says how one point is explained."""

    searcher_: Any
    check_queries: Callable[..., Any]
    predict_topk: Callable[..., Any]
    _label_names: Any

    @abstractmethod
    def _explainer(self, x: Any, points: Any) -> Callable[[int, Any], LabelExplanation]:
        """Return a function of a label's id and name, for one point: as given, and as `check_queries` returned it."""

    def explain(self, x: Any, label: Any = None, k: int = 5) -> Explanation:
        """Return why the model gives labels to a point: what each word, item or feature adds to the log score.

        In a `LabelTreeClassifier` the amounts are exact. Along the path to the label every feature gets its share of
        what its classifiers make of all features together; with the base, evidence and trend these sum to the
        logarithm of the score. In a `TextLabelTreeClassifier` the amount of a word is how much the log score falls
        without it.

        Parameters
        ----------
        x : one point
            A text, a list of items, a row (d,) or a matrix (1, d): one point as `predict_topk` takes it.
        label : label or list of labels, optional
            By name, or by id. By default the k best labels.
        k : int
            How many labels, if none is given.

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
        return Explanation(tuple(explain(own, name) for own, name in zip(ids, names, strict=True)))

    def _id_of(self, label: Any) -> int:
        if isinstance(label, str):
            known = {} if self._label_names is None else self._label_names.position
            if nfc(label) not in known:
                message = f"label must be one that the model knows, got {label!r}: label_names_ lists them"
                raise InputError(message)
            return int(known[nfc(label)])
        return check_integer("label", label, 0, self.searcher_.n_labels - 1)


def one_point(x: Any) -> Any:
    """Return one point as a batch of one: a matrix (1, d) as it is, everything else in a list or as a row."""
    if sparse.issparse(x):
        return x
    if isinstance(x, np.ndarray) and x.dtype.kind not in "OU":
        return x[np.newaxis] if x.ndim == 1 else x
    return [x]
