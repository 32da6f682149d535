"""One trial: a candidate is trained on a sample of the points, measured and saved; models are timed in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from labeltrees._files import write_json
from labeltrees._matrices import Float64s
from labeltrees._settings import check_settings
from labeltrees.data.encoders import TextEncoder
from labeltrees.data.tfidf import PRESETS, TfidfVectorizer, preset_vectorizer
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies
from labeltrees.metrics.hits import Hits
from labeltrees.metrics.propensity import MIN_POINTS, label_propensities
from labeltrees.metrics.table import measure_lists
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.features import unit_rows
from labeltrees.models.linear.items import sharing_items
from labeltrees.models.linear.label_texts import add_words
from labeltrees.models.linear.settings import label_text_use
from labeltrees.models.load import load
from labeltrees.profiling import Clock, single_call_microseconds
from labeltrees.tasks import Outcome, Results, Shared
from labeltrees.tree.builder import grow_tree_from
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import builder_of, is_given, tree_settings
from labeltrees.tree.splits import embedding_rows
from labeltrees.tuning.candidates import AS_GIVEN, Parameters, configured, features_of, takes_builder
from labeltrees.tuning.data import TuningData
from labeltrees.tuning.details import Examples, machine_facts, tree_shape
from labeltrees.tuning.rules import NO_RULES, Rules

_FEATURES = ("words", "words+pairs", "words+pieces", "words+pairs+chars")


# Features of texts.


def can_make_features(data: TuningData) -> bool:
    """Whether other features can be made: the data has texts, and a vectorizer made its features from them."""
    return data.texts is not None and not data.is_text and isinstance(data.vectorizer, TfidfVectorizer)


def kinds_of_features(vectorizer: Any) -> list[str]:
    """Return the given features and the names of the presets that differ from them."""
    given = _terms_of(vectorizer)
    others = [name for name in _FEATURES if name in PRESETS and _terms_of(preset_vectorizer(name)) != given]
    return [AS_GIVEN, *others]


def _terms_of(vectorizer: Any) -> dict[str, Any]:
    return {name: value for name, value in vectorizer.get_params().items() if name != "n_jobs"}


def with_features(
    kind: str, stem: str | None, n_jobs: int | None, train: TuningData, *others: TuningData
) -> list[TuningData]:
    """Return the data with the features of a preset, which is fitted on the texts of `train`.

    With a language, words are replaced by their stems; the given features are then made again from the texts.
    """
    if kind == AS_GIVEN and stem is None:
        return [train, *others]
    vectorizer = clone(train.vectorizer) if kind == AS_GIVEN else preset_vectorizer(kind, n_jobs)
    vectorizer.set_params(stem=stem)
    points = vectorizer.fit_transform(train.texts.tolist())
    made = [points, *(vectorizer.transform(other.texts.tolist()) for other in others)]
    return [
        replace(part, points=own, vectorizer=vectorizer, feature_names=None)
        for part, own in zip((train, *others), made, strict=True)
    ]


def with_label_words(train: TuningData, validation: TuningData) -> tuple[TuningData, TuningData]:
    """Return the data with the features that `fit` adds for words that only texts of labels without points have.

    `fit` knows the texts of points, and trials only their features, so the trials get these features here.
    """
    is_made = isinstance(train.vectorizer, TfidfVectorizer) and train.texts is not None and not train.is_text
    if train.label_texts is None or not is_made or validation.texts is None:
        return train, validation
    encoder = TextEncoder(train.vectorizer)
    grown, X = add_words(encoder, train.points, train.Y, train.texts.tolist(), train.label_texts)
    if grown is encoder:
        return train, validation
    own = {"vectorizer": grown.vectorizer, "feature_names": None}
    queries = grown.transform(validation.texts.tolist())
    return replace(train, points=X, **own), replace(validation, points=queries, **own)


# Training and measuring.


class Fitted(NamedTuple):
    """A model and the seconds of its training."""

    model: Any
    tree_seconds: float  # NaN if the model builds its own tree
    seconds: float


class Sample:
    """Training and validation points, and embeddings, frequencies, trees and item weights, each computed once.

    If an estimator takes a `TreeBuilder`, its tree is built here and given to it; the model is the same as if it had
    built it. The label embeddings of a model that reads texts come from its `label_embeddings(texts, Y)`.
    """

    def __init__(self, train: TuningData, validation: TuningData) -> None:
        self.train, self.validation = train, validation
        self._kept: dict[Any, Any] = {}  # embeddings, cover frequencies, trees and item weights

    @cached_property
    def frequencies(self) -> Float64s:
        """The frequency of each label (L,)."""
        return label_frequencies(self.train.Y, self.train.sample_weight)

    @cached_property
    def propensities(self) -> Float64s | None:
        """The propensity of each label (L,), None if there are too few points to estimate it."""
        return label_propensities(self.train.Y) if self.train.n_points >= MIN_POINTS else None

    def embeddings(self, model: Any) -> Any:
        """Return the label embeddings (L, d) for a model: the given ones, or PIFA of the points scaled as in `fit`."""
        parameters = model.get_params(deep=False)
        given = builder_of(parameters["tree"]).embeddings
        if given is not None:
            return given
        key = ("embeddings", parameters.get("normalize"))
        if key not in self._kept:
            if self.train.is_text:
                self._kept[key] = model.label_embeddings(self.train.points, self.train.Y)
            else:
                X = unit_rows(self.train.points) if parameters["normalize"] else self.train.points
                self._kept[key] = pifa(X, self.train.Y, n_jobs=parameters["n_jobs"])
        return self._kept[key]

    def cover(self, method: str, softness: float = 0.0) -> Float64s:
        """Return the cover frequencies of the labels (L,)."""
        key = ("cover", method, softness)
        if key not in self._kept:
            weights = self.train.sample_weight
            self._kept[key] = cover_frequencies(self.train.Y, weights, method=method, softness=softness)
        return self._kept[key]  # type: ignore[no-any-return]

    def prepare(self, model: Any) -> None:
        """Compute the inputs of the tree of a model: embeddings and frequencies."""
        if shares_tree(model, self.train):
            self._tree_inputs(model)
        elif shares_embeddings(model, self.train):
            self.embeddings(model)

    def fit(self, model: Any) -> Fitted:
        """Train a model, without label names, so that it returns label ids."""
        own, tree_seconds, already = model.get_params(deep=False).get("tree"), float("nan"), 0.0
        self.prepare(model)  # before the clock starts, because all models share it
        has_texts = self.train.label_texts is not None  # which are part of the embeddings
        if shares_tree(model, self.train) and not has_texts:
            tree, tree_seconds = self.tree(model)
            model.set_params(tree=tree)
            already = tree_seconds
        elif shares_embeddings(model, self.train) and not has_texts:
            model.set_params(tree=replace(builder_of(own), embeddings=self.embeddings(model)))
        started = time.perf_counter()
        if self.train.has_items:  # evidence learns which labels are the same items as features
            with sharing_items(self._kept):
                model.fit(self.train.arguments())
            model._label_names = None
        elif has_texts and not self.train.is_text:
            model.fit(self.train.arguments()._replace(label_names=None, feature_names=None))
        else:
            model.fit(self.train.points, self.train.Y, **self.train.fit_arguments(model))
        seconds = already + time.perf_counter() - started
        if takes_builder(model):
            model.set_params(tree=own)  # as if the model had built the tree
        return Fitted(model, tree_seconds, seconds)

    def tree(self, model: Any) -> tuple[LabelTree, float]:
        """Return the tree of a model, and the seconds to build it."""
        own = model.get_params(deep=False)
        fanout, leaf_size = own.get("fanout", 2), own.get("leaf_size", 1)  # models without a fanout are binary
        settings = tree_settings(own["tree"], tradeoff=own["tradeoff"], fanout=fanout, leaf_size=leaf_size)
        check_settings(settings)
        seed = seed_of(own["random_state"])
        key = ("tree", own.get("normalize"), *astuple(settings), seed)
        if key not in self._kept:
            embeddings, cover = self._tree_inputs(model)
            started = time.perf_counter()
            rows = embedding_rows(embeddings).unit()
            tree = grow_tree_from(rows, self.frequencies, cover, settings, random_state=seed, n_jobs=own["n_jobs"])
            self._kept[key] = tree, time.perf_counter() - started
        return self._kept[key]  # type: ignore[no-any-return]

    def _tree_inputs(self, model: Any) -> tuple[Any, Float64s]:
        """Return embeddings and cover frequencies."""
        builder = builder_of(model.get_params(deep=False)["tree"])
        _ = self.frequencies
        return self.embeddings(model), self.cover(builder.cover, builder.cover_softness)


def shares_embeddings(model: Any, train: TuningData) -> bool:
    """Whether a model can get label embeddings: it builds a tree, and has no evidence, which is fitted separately."""
    own = model.get_params(deep=False)
    evidence = None if own.get("evidence") == "default" and not train.has_items else own.get("evidence")
    return takes_builder(model) and not is_given(own["tree"]) and evidence is None


def shares_tree(model: Any, train: TuningData) -> bool:
    """Whether a model can get a tree: as `shares_embeddings`, and it has one; `fit` chooses the seeds of several."""
    return shares_embeddings(model, train) and model.get_params(deep=False).get("n_trees", 1) == 1


@dataclass(eq=False)
class TrialInputs:
    """The inputs that all trials of a study share; pickled once for all workers of a cluster.

    Parameters
    ----------
    estimator : model
    train, validation : TuningData
    ks : tuple of int
    seed : int
        Draws samples, examples, and the points to time.
    rules : Rules
        Which labels searches may return.
    """

    estimator: Any
    train: TuningData
    validation: TuningData
    ks: tuple[int, ...]
    seed: int
    rules: Rules = NO_RULES
    _samples: dict[Any, Sample] = field(default_factory=dict)

    @property
    def n_jobs(self) -> int | None:
        """Number of threads for training and for batches."""
        threads: int | None = self.estimator.get_params(deep=False).get("n_jobs")
        return threads

    @cached_property
    def examples(self) -> Examples:
        """Example searches for a report."""
        return Examples(self.validation, max(self.ks), self.seed)

    def sample(self, size: int, features: str = AS_GIVEN, stem: str | None = None) -> Sample:
        """Return `size` of the points with a kind of features. Smaller samples are parts of larger ones.

        Samples of one size are kept, with their features, embeddings and trees.
        """
        key = size, features, stem
        if key not in self._samples:
            for other in [key for key in self._samples if key[0] != size]:
                del self._samples[other]
            rows = np.random.default_rng(self.seed).permutation(self.train.n_points)[:size]
            train = self.train if size >= self.train.n_points else self.train.take(np.sort(rows))
            train, validation = with_features(features, stem, self.n_jobs, train, self.validation)
            if label_text_use(self.estimator.get_params(deep=False).get("label_texts", "none")).points != "none":
                train, validation = with_label_words(train, validation)
            self._samples[key] = Sample(train, validation)
        return self._samples[key]


def run_trial(
    results: Results,
    *,
    study: Shared[TrialInputs],
    candidate: str,
    size: int,
    kind: str,
    parameters: Parameters,
    model: str,
) -> Outcome:
    """Train a candidate on `size` points, measure it and save it in the folder `model`.

    `candidate` identifies the parameters. A trial of the kind "light" has metrics only, and saves nothing; the
    measurements of a "reported" one are also written beside the model.
    """
    inputs = study.value
    sample = inputs.sample(size, *features_of(parameters))
    fitted, tree_seconds, seconds = sample.fit(configured(inputs.estimator, parameters))
    validation, ks = sample.validation, inputs.ks
    rules = inputs.rules.topk(validation.points)
    labels, _, stats = fitted.predict_topk(validation.points, max(ks), n_jobs=inputs.n_jobs, return_stats=True, **rules)
    given = {"propensities": sample.propensities, "label_counts": fitted.label_counts_, "trees": fitted.trees_}
    measured = measure_lists(validation.Y, labels, ks, sample_weight=validation.sample_weight, given=given)
    record = {
        **measured.values,
        **{name: float(np.mean(getattr(stats, name, np.nan))) for name in ("chunks", "classifiers")},
        "tree_seconds": tree_seconds,
        "training_seconds": seconds,
    }
    shown: dict[str, Any] = {}
    if kind != "light":
        fitted.save(Path(model))
        record["model_bytes"] = sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file())
        shown = tree_shape(fitted.tree_, sample.frequencies, sample.train.label_names)
        shown |= {
            "intervals": measured.intervals,
            "looks": inputs.examples.search(fitted, sample.validation, inputs.rules),
        }
    if kind == "reported":
        write_json(_measurements(Path(model)), {"record": record})
    hits = measured.hits
    arrays = {"hit": hits.hit.reshape(-1).astype(np.uint8), "labels_per_point": hits.labels_per_point}
    return arrays, {"record": list(record.items()), "details": shown, "n_ranks": hits.hit.shape[1], "k": hits.k}


def _measurements(model: Path) -> Path:
    """Return the file with the measurements of a model that is kept: the server shows them."""
    folder = model.parent.parent / "settings"
    folder.mkdir(exist_ok=True)
    return folder / f"{model.name}.json"


def record_of(result: Any) -> dict[str, Any]:
    """Return the measurements of a trial from its result, in the order of the table."""
    return dict(result.values["record"])


def hits_of(result: Any) -> Hits:
    """Return the hits of a trial from its result."""
    hit = np.asarray(result["hit"]).reshape(-1, result.values["n_ranks"]).astype(bool)
    return Hits(hit, np.asarray(result["labels_per_point"]), int(result.values["k"]))


# Timing.


class Timing(NamedTuple):
    """How models are timed: single calls for at most `max_points` points; the median over `repeats` rounds counts."""

    repeats: int
    max_points: int


CAREFUL, USUAL, QUICK = Timing(5, 1000), Timing(3, 300), Timing(2, 100)
_BATCH = 10  # points of a timed batch, as a multiple of the single calls


def time_models(
    results: Results,
    *,
    study: Shared[TrialInputs],
    run: str,
    models: Sequence[tuple[str, int, tuple[str, str | None]]],
    timing: Timing,
    advance: Callable[[int], object] | None = None,
) -> Outcome:
    """Return the times of saved models, and the machine that they were measured on.

    `models` has the folder of each model, the size of its sample and its features. `run` is unique to each run, so that
    times are measured again.
    """
    inputs = study.value
    times = measure_times(
        [load(folder) for folder, _, _ in models],
        [inputs.sample(size, *features).validation.points for _, size, features in models],
        sorted({1, max(inputs.ks)}),
        timing,
        random_state=inputs.seed,
        n_jobs=inputs.n_jobs,
        advance=advance,
        rules=inputs.rules,
    )
    return {}, {"times": times, "machine": machine_facts()}


def measure_times(
    models: Sequence[Any],
    points: Sequence[Any],
    ks: Sequence[int],
    timing: Timing,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
    advance: Callable[[int], object] | None = None,
    clock: Clock = time.perf_counter_ns,
    rules: Rules = NO_RULES,
) -> list[dict[str, float]]:
    """Return the times of each model in microseconds, all models measured in turns.

    Parameters
    ----------
    models : fitted models
    points : csr matrices, dense arrays or arrays of texts, one per model
    ks : ints
        A single call is timed for each k, a batch for the largest.
    timing : Timing

    Returns
    -------
    list of dict
        ``top{k}_p50_us`` and ``top{k}_p99_us`` of single calls, and ``batch_us`` per point of a batch.
    """
    tasks: list[Callable[[], Float64s]] = []
    for model, own in zip(models, points, strict=True):
        tasks += [_single_calls(rules.predictor(model, k), own, timing.max_points, random_state, clock) for k in ks]
        tasks.append(_batch(model, own[: _BATCH * timing.max_points], max(ks), n_jobs, clock, rules))
    medians = iter(measure_in_turns(tasks, timing.repeats, advance))
    times = []
    for _ in models:
        single = {k: next(medians) for k in ks}
        found = {
            f"top{k}_p{percentile}_us": float(np.percentile(microseconds, percentile))
            for k, microseconds in single.items()
            for percentile in (50, 99)
        }
        times.append({**found, "batch_us": float(next(medians)[0])})
    return times


def measure_in_turns(
    tasks: Sequence[Callable[[], Float64s]], repeats: int, advance: Callable[[int], object] | None = None
) -> list[Float64s]:
    """Run every task once per round and return, for each task, the median of its results over the rounds.

    Disturbances of the machine then affect all tasks alike. Each round starts with another task, so that none is always
    first.

    Parameters
    ----------
    tasks : functions that return an array, always of the same shape
    repeats : int
        Rounds.
    advance : function, optional
        Called with the number of rounds done.

    Examples
    --------
    >>> import itertools
    >>> counts = itertools.count()
    >>> measure_in_turns([lambda: np.array([next(counts)]), lambda: np.array([10.0])], repeats=3)
    [array([1.]), array([10.])]
    """
    results: list[list[Float64s]] = [[] for _ in tasks]
    for number in range(repeats):
        for place in range(len(tasks)):
            turn = (place + number) % len(tasks)
            results[turn].append(tasks[turn]())
        if advance is not None:
            advance(number + 1)
    return [np.asarray(np.median(arrays, axis=0)) for arrays in results]


def _single_calls(
    predictor: Any, points: Any, max_points: int, random_state: int, clock: Clock
) -> Callable[[], Float64s]:
    return lambda: single_call_microseconds(
        predictor, points, max_points=max_points, random_state=random_state, clock=clock
    )


def _batch(model: Any, points: Any, k: int, n_jobs: int | None, clock: Clock, rules: Rules) -> Callable[[], Float64s]:
    options = rules.topk(points)

    def run() -> Float64s:
        started = clock()
        model.predict_topk(points, k, n_jobs=n_jobs, **options)
        return np.array([(clock() - started) / 1000 / max(points.shape[0], 1)])

    return run
