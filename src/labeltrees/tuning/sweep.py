"""sweep: train and measure a model at every setting."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labeltrees._progress import ProgressArgument, watch
from labeltrees._validation import check_integer, check_n_jobs, check_seed, refuse
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.baseline_table import measure_baselines
from labeltrees.tuning.baseline_words import compare_with_baselines
from labeltrees.tuning.environment import data_facts, frequency_facts
from labeltrees.tuning.examples import Examples
from labeltrees.tuning.executor import Executor, LocalExecutor, open_executor
from labeltrees.tuning.fingerprint import data_fingerprint, estimator_fingerprint
from labeltrees.tuning.holding_out import SHARE, split_data
from labeltrees.tuning.quality import propensities_or_none
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.setting_trial import SettingTrial, Timing, time_models, train_setting
from labeltrees.tuning.settings import TRADEOFFS, Setting, describe_setting, make_settings
from labeltrees.tuning.shared_inputs import SharedInputs
from labeltrees.tuning.sweep_folder import SweepFolder
from labeltrees.tuning.time_budget import TimeBudget
from labeltrees.tuning.tuning_data import TuningData, as_tuning_data, check_pair

TIMED_POINTS = 1000
_logger = logging.getLogger("labeltrees")


def sweep(
    train: Any,
    validation: Any = SHARE,
    *,
    estimator: Any = None,
    tradeoffs: Any = TRADEOFFS,
    fanouts: Any = None,
    covers: Any = ("marginal",),
    paths: Any = ("weighted",),
    k: Any = (1, 3, 5),
    folder: str | os.PathLike[str] | None = None,
    repeats: int = 5,
    timed_points: int = TIMED_POINTS,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
    client: Any = None,
) -> SweepResult:
    """Train a model at every combination of settings, and measure its precision, expected depth and search time.

    Label embeddings and frequencies are computed once. Models are kept on disk and opened together for timing, which
    takes turns among them, so that disturbances of the machine affect all models alike. Simple baselines
    (`lt.baselines`) are measured on at most 5,000 of the validation points.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
        Data to train on. For models that read texts: a Dataset with texts, or a pair (texts, Y).
    validation : Dataset, or pair (X, Y), or float
        Data to measure on, or the share of `train` to hold out at random for measuring (at most 100,000 points). By
        default a fifth of `train` is held out.
    estimator : LabelTreeClassifier or another model with a tradeoff, optional
        Provides all parameters except the settings below.
    tradeoffs, fanouts, covers, paths : lists
        The settings to combine; see `build_tree`. By default the fanout is the estimator's own. Use
        ``covers=("marginal", "greedy")`` and ``paths=("weighted", "direct")`` for the paper's four curves.
    k : ints
        The values of k for P@k, nDCG@k, PSP@k and expected depth@k. Single calls are timed for 1 and for the largest.
    folder : path, optional
        Where finished settings are kept. An interrupted sweep continues from there, also with other settings. A folder
        with a sweep of other data or another estimator is rejected. `load` opens the models in it. By default a
        temporary folder is used and removed at the end.
    repeats : int
        Rounds of timing; the median over the rounds counts for every call.
    timed_points : int
        The largest number of validation points to time in single calls.
    random_state : int
        Seed for the points that are held out, timed and shown. Models use the seed of the estimator.
    n_jobs : int, optional
        Threads for training and for batches; by default the estimator's own. Single calls use one thread.
    progress : bool or callable(done, total), optional
    client : distributed.Client, optional
        Train the settings as tasks on its Dask cluster, and time all models on one of its workers while the others are
        idle. Every worker holds the data, and must see `folder`, or the temporary folder beside it.

    Returns
    -------
    SweepResult

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.random((60, 8)), rng.random((60, 12)) < 0.3
    >>> result = lt.sweep((X, Y), (X, Y), tradeoffs=[0, 1, 2], k=(1, 3), repeats=1)
    >>> [record["tradeoff"] for record in result.table]
    [0.0, 1.0, 2.0]
    """
    estimator = LabelTreeClassifier() if estimator is None else estimator
    settings = make_settings(estimator, tradeoffs, fanouts, covers, paths)
    ks = check_ks(k)
    check_integer("repeats", repeats, 1)
    check_integer("timed_points", timed_points, 1)
    check_seed(random_state)
    check_n_jobs(n_jobs)
    fitted_on, measured_on, held_out = split_data(
        as_tuning_data(train, "train", estimator), validation, estimator, random_state
    )
    check_pair(fitted_on, measured_on)
    identity = identity_of(estimator, fitted_on, measured_on, ks, random_state)
    with open_executor(client, folder) as executor, open_folder(folder, identity, executor.folder) as opened:
        inputs = SharedInputs(estimator, fitted_on, n_jobs)
        job = SweepJob(inputs, measured_on, ks, opened, random_state, n_jobs, held_out=held_out, executor=executor)
        with watch("Sweep", len({setting.trained_as() for setting in settings}) + repeats, progress) as advance:
            result = job.run(settings, repeats, timed_points, advance)
    metric = f"p{ks[0]}"
    best = max(result.table, key=lambda record: record[metric])
    what = f"The most precise setting ({describe_setting(best)})"
    result.comparison = compare_with_baselines(result, best["setting"], metric, what)
    return result


def check_ks(k: Any) -> tuple[int, ...]:
    """Return the values of k, ascending."""
    listed = [k] if isinstance(k, int) else k
    if isinstance(listed, str) or not hasattr(listed, "__iter__") or not list(listed):
        refuse("k", "a list of integers, such as (1, 3, 5)", k)
    return tuple(sorted({check_integer("k", value, 1, 10_000) for value in listed}))


def identity_of(
    estimator: Any, train: TuningData, validation: TuningData, ks: tuple[int, ...], random_state: int
) -> dict[str, Any]:
    """Return what identifies a sweep: finished settings in a folder are reused only if this is the same."""
    return {
        "estimator": estimator_fingerprint(estimator),
        "train": data_fingerprint(train),
        "validation": data_fingerprint(validation),
        "k": list(ks),
        "random_state": int(random_state),
    }


@contextmanager
def open_folder(
    folder: str | os.PathLike[str] | None, identity: dict[str, Any], parent: Path | None = None
) -> Iterator[SweepFolder]:
    """Open the folder of a sweep; a temporary one, in `parent` if given, if `folder` is None."""
    if folder is not None:
        yield SweepFolder(folder, identity)
        return
    with tempfile.TemporaryDirectory(prefix="labeltrees-sweep-", dir=parent) as temporary:
        yield SweepFolder(temporary, identity)


@dataclass(eq=False)
class SweepJob:
    """Trains, measures and times settings on the same data; with `details`, also collects data for a report."""

    inputs: SharedInputs
    validation: TuningData
    ks: tuple[int, ...]
    folder: SweepFolder
    random_state: int
    n_jobs: int | None
    held_out: str = ""
    details: bool = True
    budget: TimeBudget | None = None
    executor: Executor = field(default_factory=LocalExecutor)

    def __post_init__(self) -> None:
        self.examples = Examples(self.validation, max(self.ks), self.random_state) if self.details else None

    def run(
        self,
        settings: list[Setting],
        repeats: int,
        timed_points: int,
        advance: Callable[[int], object] | None = None,
    ) -> SweepResult:
        """Return the result for the settings that there is time for; finished ones are not trained again."""
        trained = self._train(settings, advance)
        settings = [setting for setting in settings if setting.trained_as() in trained]
        times, machine = self._time(trained, repeats, timed_points, advance)
        table, details, hits = [], {}, {}
        for setting in settings:
            source = setting.trained_as()
            finished = self.folder.record(source)
            row = {"setting": setting.name, "tradeoff": setting.tradeoff, "fanout": setting.fanout}
            table.append({**row, "cover": setting.cover, "path": setting.path, **finished["record"], **times[source]})
            details[setting.name] = finished["details"]
            hits[setting.name] = self.folder.hits(source)
        facts = {**self._facts(repeats, timed_points), "machine": machine}
        if self.examples is None:
            return SweepResult(table, facts, {}, hits=hits)
        baselines = measure_baselines(self.inputs.train, self.validation, self.ks, self.random_state)
        facts["measured"]["baseline_points"] = len(baselines.rows)
        return SweepResult(table, facts, self._details(settings, details), hits=hits, baselines=baselines)

    def _train(self, settings: list[Setting], advance: Callable[[int], object] | None) -> list[Setting]:
        """Train the settings that are not finished and that there is time for; return all that are finished then."""
        trained: list[Setting] = []
        n_points = self.inputs.train.n_points
        wanted = list(dict.fromkeys(setting.trained_as() for setting in settings))
        n_reused = sum(map(self.folder.has, wanted))
        if n_reused:
            _logger.info("%s: %d of %d settings are finished already", self.folder.path, n_reused, len(wanted))

        def waiting() -> Iterator[Setting]:
            for setting in wanted:
                is_new = not self.folder.has(setting)
                if is_new and trained and self.budget is not None and not self.budget.allows(n_points):
                    continue
                trained.append(setting)
                if is_new:
                    yield setting

        propensities = propensities_or_none(self.inputs.train)
        trial = SettingTrial(
            self.inputs, self.validation, self.ks, self.folder, propensities, self.examples, self.n_jobs
        )
        is_limited = self.budget is not None and self.budget.seconds is not None
        items = waiting() if is_limited or self.executor.folder is None else list(waiting())
        if self.executor.folder is not None:
            self.inputs.prepare(settings)
        for number, seconds in enumerate(self.executor.run(train_setting, trial, items)):
            if self.budget is not None:
                self.budget.record(seconds, n_points)
            if advance is not None:
                advance(number + 1)
        return trained

    def _time(
        self, settings: list[Setting], repeats: int, timed_points: int, advance: Callable[[int], object] | None
    ) -> tuple[dict[Setting, dict[str, float]], dict[str, Any]]:
        timing = Timing(self.validation.points, self.ks, repeats, timed_points, self.random_state, self.n_jobs)
        if self.executor.folder is not None:
            models: list[Any] = [str(self.folder.model_folder(setting)) for setting in settings]
        else:
            models = [self.folder.model(setting) for setting in settings]
            if advance is not None:
                timing = replace(timing, advance=lambda done: advance(len(settings) + done))
        ((times, machine),) = self.executor.run(time_models, timing, [models])
        return dict(zip(settings, times, strict=True)), machine

    def _facts(self, repeats: int, timed_points: int) -> dict[str, Any]:
        estimator = self.inputs.estimator
        parameters = {
            name: value
            for name, value in estimator.get_params(deep=False).items()
            if isinstance(value, bool | int | float | str | None) and name not in Setting.__dataclass_fields__
        }
        return {
            "data": data_facts(self.inputs.train, self.validation),
            "estimator": {"class": type(estimator).__name__, "parameters": parameters},
            "k": list(self.ks),
            "measured": {
                "held_out": bool(self.held_out),
                "held_out_how": self.held_out,
                "repeats": repeats,
                "single_calls": min(timed_points, self.validation.n_points),
                "threads": check_n_jobs(estimator.get_params(deep=False).get("n_jobs")),
            },
        }

    def _details(self, settings: list[Setting], details: dict[str, Any]) -> dict[str, Any]:
        assert self.examples is not None
        inputs = self.inputs
        methods = dict.fromkeys(setting.cover for setting in settings if setting.cover is not None)
        covers = {method: inputs.cover(method) for method in methods}
        return {
            "settings": details,
            "frequencies": frequency_facts(inputs.train, inputs.frequencies, covers),
            "examples": self.examples.describe(),
        }
