"""ServedModel: one version of a model that answers requests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace
from scipy import sparse

from labeltrees._names import nfc, similar_names
from labeltrees.data.encoders import ItemEncoder, TextEncoder, UnionEncoder
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model
from labeltrees.search.broader import check_broader, with_broader
from labeltrees.search.request import AS_FITTED, SearchRequest
from labeltrees.search.result import SearchResult
from labeltrees.serving.details import ItemSearch, PathFinder, example_texts, explained
from labeltrees.serving.schemas import (
    ExplainedLabel,
    ExplainRequest,
    LimitRule,
    ModelFacts,
    Options,
    Prediction,
    RequestError,
    Row,
)
from labeltrees.serving.shown_labels import ShownLabels, ShownTexts, prepare_set

_MAX_PREDICTORS = 256
_MAX_EXPLAINED = 20  # labels of one request
_MAX_UNKNOWN_LABELS = 5  # names of labels that an answer reports
_MAX_UNKNOWN = 20  # unknown items that an answer lists
_UNKNOWN_LABELS = "unknown labels"  # `answer` catches this error and reports them
_FIELDS = {
    "text": "text or texts",
    "items": "items or histories",
    "row": "row or rows",
    "context": "context or contexts",
}


class ServedModel:
    """A model with everything a request needs. It never changes: a new version is a new object.

    Parameters
    ----------
    name, version : str
    model : Model
    label_texts : ShownTexts
    measured : dict from names to numbers
        Measurements of a sweep for this model.
    sweep : str, optional
        The name of that sweep.
    """

    def __init__(
        self,
        name: str,
        version: str,
        model: Model,
        label_texts: ShownTexts,
        measured: dict[str, float],
        sweep: str | None = None,
    ) -> None:
        self.name, self.version, self.model = name, version, model
        self.loaded = datetime.now(UTC)
        self.has_names = model.label_names_ is not None
        self.reads, self.columns = _reads(model)
        self.labels = ShownLabels(model, label_texts, self._number)
        self._has_broader = self.labels.relations is not None and self.labels.relations.has_broader
        self._measured, self._sweep = measured, sweep
        self._predictors: dict[Any, Any] = {}
        self.prepared: dict[Any, Any] = {}  # stored sets that requests have used (sets.py)
        self._calibration = getattr(model, "calibration_", None)
        self.has_probabilities = _has_probabilities(model)
        self.threshold: float | None = model.get_params(deep=False)["threshold"]
        nothing: dict[str, Any] = {"text": "", "items": [], "context": {}, "row": Row([], [])}
        self._search(self.reads, [nothing[self.reads]], Options(), float("inf"))  # the first one is slow

    def predictor(self, options: Options) -> Any:
        """Return a predictor for these options; predictors are cached."""
        o = options
        key = (o.k, o.search, o.beam, o.agreement, o.exclude_seen, o.raw_scores)
        found = self._predictors.get(key)
        if found is None:
            if len(self._predictors) >= _MAX_PREDICTORS:
                self._predictors.clear()
            beam = AS_FITTED if o.beam is UNSET else o.beam
            how = {"search": o.search, "beam": beam, "raw_scores": o.raw_scores}
            found = self._predictors[key] = self.model.predictor(
                o.k, agreement=o.agreement, names=self.has_names, exclude_seen=o.exclude_seen, **how
            )
        return found

    def answer(
        self, kind: str, questions: Sequence[Any], options: Options, deadline: float
    ) -> tuple[list[Prediction], float]:
        """Return the predictions for questions, all of this version, and the microseconds that the searches took."""
        if kind != self.reads and kind != "row":
            self._refuse_kind(kind)
        if options.probabilities and not self.has_probabilities:
            message = f"the model {self.name} has no probabilities: calibrate it with labels first"
            raise RequestError(400, message)
        if not questions:
            return [], 0.0
        search = self._search_with_budget if options.has_budget else self._search
        unknown = None
        try:
            found, microseconds = search(kind, questions, options, deadline)
        except InputError:
            known, unknown = self._with_known_labels(options)
            if unknown is None:
                raise
            options = known
            found, microseconds = search(kind, questions, options, deadline)
        if options.broader:
            self._add_broader(kind, questions, options, found)
        if unknown:
            for prediction in found:
                prediction.unknown_labels = unknown
        if options.path:
            self._add_paths(kind, questions, options, found)
        return found, microseconds

    def _add_broader(self, kind: str, questions: Sequence[Any], options: Options, found: list[Prediction]) -> None:
        """Give a broader label to questions for which no label reaches the threshold."""
        request = self._request(options)
        check_broader(request, self.labels.relations)
        for question, prediction in zip(questions, found, strict=True):
            if prediction.labels or prediction.no_features:
                continue
            points, searcher = self._points(kind, [question]), self.model.searcher_
            nothing = SearchResult(np.full((1, 1), -1, np.int64), np.zeros((1, 1), np.float32))
            result, unsure = with_broader(searcher, points, request, nothing, self.labels.relations, 1)
            if unsure[0]:
                label: Any = int(result.labels[0, 0])
                label = self._names[label] if self.has_names else label
                own = self._prediction([label], [float(f"{result.scores[0, 0]:.6g}")], options)
                prediction.labels, prediction.scores, prediction.probabilities = (
                    own.labels,
                    own.scores,
                    own.probabilities,
                )
                prediction.label_texts, prediction.broader, prediction.unsure = own.label_texts, own.broader, True

    def _with_known_labels(self, options: Options) -> tuple[Options, dict[str, list[str]] | None]:
        """Return the options without unknown labels, and the unknown labels with similar names, or None.

        Unknown labels are reported, not refused: the list of a shop may have items that the model does not know yet.
        """
        unknown: dict[str, list[str]] = {}
        for name in ("candidates", "exclude", "label_weight", "limits"):
            rule: Any = getattr(options, name)
            given = rule.groups if isinstance(rule, LimitRule) else rule
            if not given or not self.has_names or not isinstance(given, list | dict):
                continue
            others = [label for label in given if isinstance(label, str) and not self.knows(label)]
            if not others:
                continue
            unknown |= {
                label: similar_names(label, self._names) for label in dict.fromkeys(others[:_MAX_UNKNOWN_LABELS])
            }
            left: Any = [label for label in given if not isinstance(label, str) or self.knows(label)]
            if isinstance(given, dict):
                left = {label: given[label] for label in left}
            if left and isinstance(rule, LimitRule):
                left = LimitRule(left, rule.m)
            options = replace(options, **{name: left if name == "candidates" else left or None})
        return options, unknown or None

    def _search(
        self, kind: str, questions: Sequence[Any], options: Options, deadline: float
    ) -> tuple[list[Prediction], float]:
        predictor = self.predictor(options)
        n = len(questions)
        which = self._rules(options, n)
        results: list[tuple[list[Any], list[float]]] = []
        has_items = kind in ("items", "context")
        n_without, n_unknown = predictor.n_no_features, predictor.n_unknown if has_items else 0
        start = time.perf_counter()
        for question in questions:
            if kind == "row":
                self._check_row(question)
                results.append(predictor.lists(question.indices, question.values, **which))
            else:
                results.append(predictor.lists(question, **which))
            if n > 1 and time.monotonic() > deadline:
                _refuse_late(len(results), n)
        microseconds = (time.perf_counter() - start) * 1e6
        if options.probabilities or self.labels.has_texts:
            found = [self._prediction(labels, scores, options) for labels, scores in results]
        else:
            found = [Prediction(labels, scores) for labels, scores in results]
        if predictor.n_no_features != n_without:  # in this thread or another one
            for question, prediction in zip(questions, found, strict=True):
                prediction.no_features = self._has_no_features(kind, question)
        if has_items and predictor.n_unknown != n_unknown:
            for question, prediction in zip(questions, found, strict=True):
                prediction.unknown = self._unknown(kind, question) or None
        return found, microseconds

    def _rules(self, options: Options, n_questions: int) -> dict[str, Any]:
        """Return the rules of a request as arguments of a predictor's call."""
        rules: dict[str, Any] = {}
        if options.candidates is not None:
            rules["candidates"] = self._labels(options.candidates, n_questions)
        if options.exclude is not None:
            rules["exclude"] = self._labels(options.exclude, n_questions)
        if options.label_weight is not None:
            weights: Any = options.label_weight
            rules["label_weight"] = self._by_label(weights) if isinstance(weights, dict) else weights
        if options.limits is not None:
            limits: Any = options.limits
            if isinstance(limits, LimitRule):
                self._check_known(limits.groups)
                limits = self.limits_of(limits.groups, 1 if limits.m is None else limits.m)
            rules["limits"] = limits
        if options.diversity is not None:
            rules["diversity"] = options.diversity
        threshold = self.threshold if options.threshold is None else options.threshold
        if threshold:
            rules["threshold"] = threshold
        return rules

    def _by_label(self, values: dict[str, Any]) -> dict[Any, Any]:
        """Return a mapping with the labels of the model as keys: names, or numbers, which JSON writes as texts."""
        if self.has_names:
            return values
        wrong = next((label for label in values if not label.isdecimal()), None)
        if wrong is not None:
            message = f"the labels of the model {self.name} have no names: give their numbers, not {wrong[:80]!r}"
            raise RequestError(400, message)
        return {int(label): value for label, value in values.items()}

    def knows(self, label: str | int) -> bool:
        """Whether the model has a label, by name or by number."""
        if self.has_names and isinstance(label, str):
            return nfc(label) in self._position
        number = int(label) if isinstance(label, int) or label.isdecimal() else -1
        return 0 <= number < len(self.model.classes_)

    def label_set_of(self, labels: list[Any]) -> Any:
        """Return the labels of a stored set that the model knows, prepared."""
        known = [label for label in labels if self.knows(label)]
        return prepare_set(self.model, known if self.has_names else [int(label) for label in known])

    def label_weights_of(self, weights: dict[str, float]) -> Any:
        """Return the stored weights of labels that the model knows, prepared."""
        return self.model.label_weights(self._by_label({n: w for n, w in weights.items() if self.knows(n)}))

    def limits_of(self, groups: Any, m: Any) -> Any:
        """Return limits of groups, prepared; labels that the model does not know are left out."""
        known = self._by_label({name: group for name, group in groups.items() if self.knows(name)})
        if isinstance(m, dict):  # keys in JSON are texts
            m = {**m, **{int(group): most for group, most in m.items() if group.isdecimal()}}
        return self.model.label_limits(known, m)

    def _unknown(self, kind: str, question: Any) -> list[str]:
        """Return the items of a question that the model does not know; words of texts are not listed."""
        encoder = self.model.encoder_
        if kind == "items" and isinstance(encoder, ItemEncoder):
            return _unknown_items(encoder, question)
        if kind != "context" or not isinstance(encoder, UnionEncoder):
            return []
        parts = [(encoder.parts[name], value) for name, value in question.items() if name in encoder.parts]
        return [
            name
            for part, value in parts
            if type(part) is ItemEncoder and isinstance(value, list | dict)
            for name in _unknown_items(part, value)
        ]

    def explain(self, kind: str, question: Any, options: ExplainRequest) -> list[ExplainedLabel]:
        """Return explanations for one question: of the requested labels, or of the best ones."""
        found, _ = self.answer(kind, [question], options, float("inf"))  # also checks the question
        labels = found[0].labels if options.label is None else options.label
        labels = labels if isinstance(labels, list) else [labels]
        if len(labels) > _MAX_EXPLAINED:
            message = f"explain takes at most {_MAX_EXPLAINED} labels per request, got {len(labels):,}"
            raise RequestError(400, message)
        point = self._points(kind, [question]) if kind == "row" else question
        return [explained(one, self.labels.text(one.label)) for one in self.model.explain(point, labels)]

    def _has_no_features(self, kind: str, question: Any) -> bool:
        request = self._request(Options(k=1))
        result = self.model.searcher_.topk(self._points(kind, [question]), request, n_jobs=1, stats=True)
        return bool(result.stats.no_features[0])

    def _labels(self, labels: Any, n_questions: int) -> Any:
        if not isinstance(labels, list):
            return labels  # a stored set
        if not self.has_names and any(isinstance(label, str) for label in labels):
            message = f"the labels of the model {self.name} have no names: give their numbers"
            raise RequestError(400, message)
        if n_questions == 1:
            return labels  # the predictor refuses unknown names
        prepared = self.model.label_set(labels)
        if prepared.n_unknown > 0:
            raise InputError(_UNKNOWN_LABELS)
        return prepared

    def _check_known(self, labels: Iterable[str]) -> None:
        """Raise an error for names that the model does not know; `answer` reports them."""
        if self.has_names and not all(map(self.knows, labels)):
            raise InputError(_UNKNOWN_LABELS)

    def _prediction(self, labels: list[Any], scores: list[float], options: Options) -> Prediction:
        probabilities = None
        if options.probabilities:
            calibration = self._calibration if options.raw_scores else None
            own = scores if calibration is None else calibration(np.array(scores)).tolist()
            probabilities = [round(value, 6) for value in own]
        texts = [self.labels.text(label) for label in labels] if self.labels.has_texts else None
        broader = [self.labels.broader(label) for label in labels] if self._has_broader else None
        return Prediction(labels, scores, probabilities, texts, broader)

    def _search_with_budget(
        self, kind: str, questions: Sequence[Any], options: Options, deadline: float
    ) -> tuple[list[Prediction], float]:
        """Return predictions that also say which searches were cut short."""
        request = self._request(options)
        found: list[Prediction] = []
        microseconds = 0.0
        for question in questions:
            result = self.model.searcher_.topk(self._points(kind, [question]), request, n_jobs=1, stats=True)
            n = int((result.labels[0] >= 0).sum())
            ids = result.labels[0, :n]
            labels = self._names[ids].tolist() if self.has_names else ids.tolist()
            scores = [float(f"{score:.6g}") for score in result.scores[0, :n].tolist()]
            prediction = self._prediction(labels, scores, options)
            prediction.partial = bool(result.stats.partial[0])
            prediction.no_features = bool(result.stats.no_features[0])
            prediction.n_opened = int(result.stats.chunks[0])
            microseconds += float(result.stats.microseconds[0])
            found.append(prediction)
            if time.monotonic() > deadline:
                _refuse_late(len(found), len(questions))
        return found, microseconds

    def _request(self, options: Options) -> SearchRequest:
        o = options
        if o.exclude_seen:
            message = "exclude_seen cannot be combined with max_chunks, max_microseconds, broader or path"
            raise RequestError(400, message)
        rules = self._rules(o, 2)
        if isinstance(rules.get("label_weight"), dict):
            self._check_known(rules["label_weight"])
            rules["label_weight"] = self.label_weights_of(o.label_weight)  # type: ignore[arg-type]
        return self.model.complete_request(
            SearchRequest(
                o.k,
                search=o.search,
                beam=AS_FITTED if o.beam is UNSET else o.beam,
                agreement=o.agreement,
                max_chunks=o.max_chunks,
                max_microseconds=o.max_microseconds,
                raw_scores=o.raw_scores,
                broader=o.broader,
                **rules,
            )
        )

    def _add_paths(self, kind: str, questions: Sequence[Any], options: Options, found: list[Prediction]) -> None:
        request = self._request(options)
        for question, prediction in zip(questions, found, strict=True):
            labels = prediction.labels
            ids = [self._number(label) for label in labels]
            prediction.path = self._paths.find(self._points(kind, [question]), request, ids)

    def _points(self, kind: str, questions: Sequence[Any]) -> Any:
        if kind != "row":
            return self.model.check_queries(questions, 1)
        (row,) = questions
        self._check_row(row)
        indices, values = np.array(row.indices, np.int32), np.array(row.values, np.float32)
        columns = self.model.searcher_.n_features
        if len(indices) and indices.max() >= columns:
            message = f"indices must be below {columns}, the number of features, got {indices.max()}"
            raise RequestError(400, message)
        shape = (1, columns)
        return self.model.check_queries(
            sparse.csr_array((values, indices, np.array([0, len(indices)])), shape=shape), 1
        )

    def _check_row(self, row: Row) -> None:
        if self.model.READS_TEXTS:
            self._refuse_kind("row")
        if len(row.indices) != len(row.values):
            message = f"a row has {len(row.indices)} indices and {len(row.values)} values; it needs as many of both"
            raise RequestError(400, message)

    def _refuse_kind(self, kind: str) -> None:
        message = f"the model {self.name} does not take {_FIELDS[kind]}; give {_FIELDS[self.reads]}"
        raise RequestError(400, message)

    @cached_property
    def _names(self) -> Any:
        return self.model.label_names_

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: label for label, name in enumerate(self._names.tolist())}

    @cached_property
    def _paths(self) -> PathFinder:
        return PathFinder(self.model)

    def _number(self, label: str | int) -> int:
        return self._position[label] if isinstance(label, str) else label

    def find_items(self, column: str, text: str, limit: int) -> list[str]:
        """Return names of items of a column that begin with a text or contain it."""
        if column not in self._item_search:
            message = f"the model {self.name} has no items in the column {column[:80]!r}; see picks of /v1/models"
            raise RequestError(400, message)
        return self._item_search[column].find(text, limit)

    @cached_property
    def _item_search(self) -> dict[str, ItemSearch]:
        return {column: ItemSearch(names) for column, names in _item_names(self.model.encoder_).items()}

    @cached_property
    def facts(self) -> ModelFacts:
        """The description of the model for clients."""
        model, tree = self.model, self.model.tree_
        encoder = model.encoder_
        parameters = model.get_params(deep=False)
        beam = parameters.get("beam")
        return ModelFacts(
            name=self.name,
            version=self.version,
            ready=True,
            kind=model.KIND,
            reads=self.reads,
            columns=self.columns,
            n_labels=len(model.classes_),
            n_features=None if model.READS_TEXTS else model.searcher_.n_features,
            n_nodes=sum(one.n_nodes for one in model.trees_),
            n_trees=len(model.trees_),
            height=tree.height,
            tradeoff=parameters.get("tradeoff"),
            beam=beam if isinstance(beam, int) else None,
            has_beam="beam" not in model.UNSUPPORTED,
            has_agreement=model.early_stop_ is not None,
            has_probabilities=self.has_probabilities,
            threshold=self.threshold,
            has_items=_has_items(encoder) and self.has_names,
            picks=list(_item_names(encoder)),
            measured=self._measured,
            sweep=self._sweep,
            examples=example_texts(model) if self.reads == "text" else [],
            sets={} if self.labels.relations is None else self.labels.relations.set_sizes(),
            has_broader=self._has_broader,
            loaded=self.loaded.isoformat(timespec="seconds"),
        )


def _reads(model: Model) -> tuple[str, list[str]]:
    """Return the kind of question that a model takes, and the columns of a context."""
    encoder = model.encoder_
    if model.READS_TEXTS or isinstance(encoder, TextEncoder):
        return "text", []
    if isinstance(encoder, UnionEncoder):
        return "context", list(encoder.parts)
    return ("row", []) if encoder is None else ("items", [])


def _unknown_items(encoder: ItemEncoder, items: Any) -> list[str]:
    """Return the items that an encoder does not know, at most 20, in order."""
    names = [item if isinstance(item, str | int) else item[0] for item in items]
    if not names:
        return []
    counts = encoder.count_unknown([[str(name)] for name in names])
    return list(dict.fromkeys(str(name) for name, count in zip(names, counts, strict=True) if count))[:_MAX_UNKNOWN]


def _has_items(encoder: Any) -> bool:
    parts = encoder.parts.values() if isinstance(encoder, UnionEncoder) else [encoder]
    return any(type(part) is ItemEncoder for part in parts)


def _item_names(encoder: Any) -> dict[str, Any]:
    """Return the names of the items of each column, numbers last; a model that reads items has the column "items"."""
    parts = encoder.parts if isinstance(encoder, UnionEncoder) else {"items": encoder}
    return {
        column: sorted(dict.fromkeys([*part.item_ids, *part.feature_names.tolist()]), key=str.isdecimal)
        for column, part in parts.items()
        if isinstance(part, ItemEncoder)
    }


def _has_probabilities(model: Model) -> bool:
    return hasattr(model, "predict_proba")


def _refuse_late(n_done: int, n: int) -> None:
    message = f"the time for one request ended after {n_done:,} of {n:,} questions; send fewer per request"
    raise RequestError(408, message)
