"""Trials: models with other parameters, trained and measured on the same points."""

from __future__ import annotations

import itertools
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import clone

from labeltrees.tree.label_tree import LabelTree
from labeltrees.tuning.executor import Executor, LocalExecutor
from labeltrees.tuning.quality import Hits, measure_quality
from labeltrees.tuning.setting_trial import Timing, time_models
from labeltrees.tuning.settings import make_settings
from labeltrees.tuning.shared_inputs import SharedInputs
from labeltrees.tuning.time_budget import TimeBudget
from labeltrees.tuning.tuning_data import TuningData

_EVIDENCE_COST = 2.0  # the time of a training with evidence, relative to one without
_AUTO_COST = 1.5  # of a training with C="auto", relative to one with a number


@dataclass(frozen=True)
class Variant:
    """Parameters of an estimator that differ from its own."""

    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, **parameters: Any) -> Variant:
        """Return the variant with these parameters."""
        return cls(tuple(parameters.items()))

    @property
    def name(self) -> str:
        """The parameters in words.

        Examples
        --------
        >>> Variant.of(loss="logistic", C=0.3).name
        'loss logistic, C 0.3'
        """
        return ", ".join(f"{name} {value}" for name, value in self.parameters) or "as given"

    @property
    def cost(self) -> float:
        """The time of its training relative to a plain one."""
        own = dict(self.parameters)
        cost = float(own.get("n_trees", 1)) * (_EVIDENCE_COST if own.get("evidence") else 1.0)
        return cost * (_AUTO_COST if own.get("C") == "auto" else 1.0)


@dataclass
class Trials:
    """The measurements of some variants; `Limits.judge` compares them like the settings of a sweep."""

    n_points: int
    variants: dict[str, Variant] = field(default_factory=dict)
    _records: dict[str, dict[str, Any]] = field(default_factory=dict)
    _hits: dict[str, Hits] = field(default_factory=dict)
    comparison: str | None = None

    def record(self, name: str) -> dict[str, Any]:
        """Return the measurements of a variant."""
        return self._records[name]

    def records(self) -> list[dict[str, Any]]:
        """Return one record per variant: its parameters, the number of training points and its measurements."""
        return [
            {"variant": name, "n_points": self.n_points, **dict(self.variants[name].parameters), **record}
            for name, record in self._records.items()
        ]


class _TimedTree(NamedTuple):
    tree: LabelTree
    seconds: float


@dataclass
class TrialRunner:
    """Trains and measures variants of an estimator.

    Parameters
    ----------
    estimator : model
    validation : TuningData
    ks : tuple of int
    budget : TimeBudget
    random_state : int
    n_jobs : int, optional
    count_done : callable
        Called with 1 after each trial, finished or skipped.
    executor : Executor
    """

    estimator: Any
    validation: TuningData
    ks: tuple[int, ...]
    budget: TimeBudget
    random_state: int
    n_jobs: int | None
    count_done: Callable[[int], object]
    executor: Executor = field(default_factory=LocalExecutor)

    def run(
        self, variants: list[Variant], train: TuningData, repeats: int, timed_points: int, *, all_optional: bool = False
    ) -> Trials:
        """Return the measurements of the variants that there is time for, and of the first if not all are optional."""
        trials, models = Trials(train.n_points), list[Any]()
        started: list[Variant] = []

        def allowed() -> Iterator[Variant]:
            for variant in variants:
                if (not started and not all_optional) or self.budget.allows(train.n_points, variant.cost, variant.name):
                    started.append(variant)
                    yield variant
                else:
                    self.count_done(1)

        folder = self.executor.folder
        waiting = allowed()
        first = next(waiting, None)
        if first is None:
            return trials
        items: Iterable[Variant] = itertools.chain([first], waiting)
        if folder is not None and self.budget.seconds is None:
            items = list(items)
        shared = TrialInputs(self.estimator, train, self.validation, self.ks, self.n_jobs, self._tree(train), folder)
        for number, outcome in enumerate(self.executor.run(run_trial, shared, items)):
            variant = started[number]
            self.budget.record(outcome.seconds, train.n_points, variant.cost, variant.name)
            models.append(outcome.model)
            trials.variants[variant.name] = variant
            trials._records[variant.name] = {**outcome.quality, "training_seconds": outcome.seconds}
            trials._hits[variant.name] = outcome.hits
            self.count_done(1)
        timing = Timing(self.validation.points, self.ks, repeats, timed_points, self.random_state, self.n_jobs)
        ((times, _),) = self.executor.run(time_models, timing, [models])
        for record, own in zip(trials._records.values(), times, strict=True):
            record.update(own)
        for model in models:
            if folder is not None:
                shutil.rmtree(model, ignore_errors=True)
        return trials

    def _tree(self, train: TuningData) -> _TimedTree:
        """Return the tree that all variants with one plain tree share."""
        started = time.perf_counter()
        own = self.estimator.get_params(deep=False)
        (setting,) = make_settings(self.estimator, [own["tradeoff"]], None)
        tree = SharedInputs(self.estimator, train, self.n_jobs).build_tree(setting)
        return _TimedTree(tree, time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class TrialInputs:
    """All that the variants of a trial have in common; `folder` is for models if they are timed elsewhere."""

    estimator: Any
    train: TuningData
    validation: TuningData
    ks: tuple[int, ...]
    n_jobs: int | None
    tree: _TimedTree
    folder: Path | None


class TrialOutcome(NamedTuple):
    """A trained variant: its model, or the folder that holds it, and its measurements."""

    model: Any
    seconds: float
    quality: dict[str, float]
    hits: Hits


def run_trial(shared: TrialInputs, variant: Variant) -> TrialOutcome:
    """Train and measure a variant."""
    train = shared.train
    model = clone(shared.estimator).set_params(**dict(variant.parameters), verbose=0)
    if shared.n_jobs is not None:
        model.set_params(n_jobs=shared.n_jobs)
    parameters = model.get_params(deep=False)
    shares_tree = parameters["n_trees"] == 1 and parameters["evidence"] is None
    if shares_tree:
        model.set_params(tree=shared.tree.tree)
    started = time.perf_counter()
    model.fit(train.points, train.Y, **train.fit_arguments(model))
    seconds = time.perf_counter() - started + (shared.tree.seconds if shares_tree else 0.0)
    model.set_params(tree=None)
    quality, _, hits = measure_quality(model, shared.validation, shared.ks, None, shared.n_jobs)
    if shared.folder is None:
        return TrialOutcome(model, seconds, quality, hits)
    saved = str(shared.folder / f"model-{uuid.uuid4().hex[:12]}")
    model.save(saved)
    return TrialOutcome(saved, seconds, quality, hits)
