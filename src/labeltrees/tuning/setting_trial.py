"""One setting of a sweep: its model is trained, measured and stored, in this process or on a worker of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labeltrees._matrices import Float64s
from labeltrees.models.load import load
from labeltrees.tuning.environment import machine_facts
from labeltrees.tuning.examples import Examples
from labeltrees.tuning.quality import measure_quality
from labeltrees.tuning.settings import Setting
from labeltrees.tuning.shared_inputs import SharedInputs
from labeltrees.tuning.sweep_folder import SweepFolder
from labeltrees.tuning.timing import measure_times
from labeltrees.tuning.tree_shape import tree_shape
from labeltrees.tuning.tuning_data import TuningData


@dataclass(frozen=True, eq=False)
class SettingTrial:
    """All that the settings of a sweep have in common."""

    inputs: SharedInputs
    validation: TuningData
    ks: tuple[int, ...]
    folder: SweepFolder
    propensities: Float64s | None
    examples: Examples | None
    n_jobs: int | None


def train_setting(trial: SettingTrial, setting: Setting) -> float:
    """Train, measure and store the model of a setting; return the seconds of its training."""
    model, tree_seconds, seconds = trial.inputs.fit(setting)
    quality, intervals, hits = measure_quality(model, trial.validation, trial.ks, trial.propensities, trial.n_jobs)
    details: dict[str, Any] = {}
    if trial.examples is not None:
        details = tree_shape(model.tree_, trial.inputs.frequencies, trial.inputs.train.label_names)
        details["intervals"] = intervals
        details["looks"] = trial.examples.search(model)  # the key is part of the file format
    record = {**quality, "tree_seconds": tree_seconds, "training_seconds": seconds}
    trial.folder.add(setting, model, hits, {"record": record, "details": details})
    return seconds


@dataclass(frozen=True, eq=False)
class Timing:
    """How models are timed; `advance` is None on a worker of a cluster."""

    points: Any
    ks: tuple[int, ...]
    repeats: int
    max_points: int
    random_state: int
    n_jobs: int | None
    advance: Callable[[int], object] | None = None


def time_models(timing: Timing, models: Sequence[Any]) -> tuple[list[dict[str, float]], dict[str, Any]]:
    """Return the times of models, or of those saved in folders, and the machine that they were measured on."""
    times = measure_times(
        [load(model) if isinstance(model, str) else model for model in models],
        timing.points,
        sorted({1, max(timing.ks)}),
        repeats=timing.repeats,
        max_points=timing.max_points,
        random_state=timing.random_state,
        n_jobs=timing.n_jobs,
        advance=timing.advance,
    )
    return times, machine_facts()
