"""Trials: models with other parameters, trained and measured on the same points."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sklearn.base import clone

from labeltrees.tree.label_tree import LabelTree
from labeltrees.tuning.quality import Hits, measure_quality
from labeltrees.tuning.settings import make_settings
from labeltrees.tuning.shared_inputs import SharedInputs
from labeltrees.tuning.time_budget import TimeBudget
from labeltrees.tuning.timing import measure_times
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
    """

    estimator: Any
    validation: TuningData
    ks: tuple[int, ...]
    budget: TimeBudget
    random_state: int
    n_jobs: int | None
    count_done: Callable[[int], object]

    def run(
        self, variants: list[Variant], train: TuningData, repeats: int, timed_points: int, *, all_optional: bool = False
    ) -> Trials:
        """Return the measurements of the variants that there is time for, and of the first if not all are optional."""
        trials, models = Trials(train.n_points), list[Any]()
        tree: _TimedTree | None = None
        for variant in variants:
            if (not models and not all_optional) or self.budget.allows(train.n_points, variant.cost, variant.name):
                if tree is None:
                    tree = self._tree(train)
                model, seconds = self._fit(variant, train, tree)
                quality, _, hits = measure_quality(model, self.validation, self.ks, None, self.n_jobs)
                models.append(model)
                trials.variants[variant.name] = variant
                trials._records[variant.name] = {**quality, "training_seconds": seconds}
                trials._hits[variant.name] = hits
            self.count_done(1)
        times = measure_times(
            models,
            self.validation.points,
            sorted({1, max(self.ks)}),
            repeats=repeats,
            max_points=timed_points,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        for record, own in zip(trials._records.values(), times, strict=True):
            record.update(own)
        return trials

    def _tree(self, train: TuningData) -> _TimedTree:
        """Return the tree that all variants with one plain tree share."""
        started = time.perf_counter()
        own = self.estimator.get_params(deep=False)
        (setting,) = make_settings(self.estimator, [own["tradeoff"]], None)
        tree = SharedInputs(self.estimator, train, self.n_jobs).build_tree(setting)
        return _TimedTree(tree, time.perf_counter() - started)

    def _fit(self, variant: Variant, train: TuningData, tree: _TimedTree) -> tuple[Any, float]:
        model = clone(self.estimator).set_params(**dict(variant.parameters), verbose=0)
        if self.n_jobs is not None:
            model.set_params(n_jobs=self.n_jobs)
        parameters = model.get_params(deep=False)
        shares_tree = parameters["n_trees"] == 1 and parameters["evidence"] is None
        if shares_tree:
            model.set_params(tree=tree.tree)
        started = time.perf_counter()
        model.fit(train.points, train.Y, train.sample_weight)
        seconds = time.perf_counter() - started + (tree.seconds if shares_tree else 0.0)
        self.budget.record(seconds, train.n_points, variant.cost, variant.name)
        return model.set_params(tree=None), seconds
