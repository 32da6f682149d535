"""A study: candidates in, measured trials out.

`Study.run` trains candidates on all points or on a sample, measures and times them, and returns a `Trial` for each.
`sweep` is one run; `choose` is a list of stages, each with one or more runs. A trial that was measured before is not
measured again, and a run stops early when its `TimeBudget` ends. Trials are tasks of `labeltrees.tasks`: they run in
this process or on a cluster.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from labeltrees._files import read_json, refuse_file, write_json
from labeltrees.errors import InputError
from labeltrees.metrics.hits import Hits
from labeltrees.tasks import FolderResults, LocalRunner, Runner, Shared, Task
from labeltrees.tuning.candidates import (
    FEATURES,
    Parameters,
    configured,
    estimator_fingerprint,
    fingerprint,
    setting_name,
    without_effect,
    words_of,
)
from labeltrees.tuning.trial import (
    AS_GIVEN,
    QUICK,
    Timing,
    TrialInputs,
    hits_of,
    record_of,
    run_trial,
    time_models,
    with_features,
)

_EVIDENCE_COST = 2.0  # the time of a training with evidence, relative to one without
_AUTO_COST = 1.5  # of a training with C="auto", relative to one with a number
_logger = logging.getLogger("labeltrees")


class Trial(NamedTuple):
    """A measured candidate.

    `record` has its metrics, work, times and size; `details` what a report shows, if that was asked for. All trials of
    a study have the same validation points, so their hits can be compared point by point.
    """

    parameters: Parameters
    n_points: int
    record: dict[str, Any]
    hits: Hits
    details: dict[str, Any]


@dataclass
class TimeBudget:
    """Seconds for all trials and the final training; trials that would not leave enough time for it do not start.

    The time of a trial is estimated from its own training on a sample, or from the slowest plain training so far, per
    point. Plans without a limit (None) are always the same; with a limit, they depend on the speed of the machine.

    Parameters
    ----------
    seconds : float or None
    n_final : int
        The number of points of the final training.
    clock : callable
        Returns the time in seconds.
    """

    seconds: float | None = None
    n_final: int = 0
    clock: Callable[[], float] = time.monotonic
    n_skipped: int = 0  # trials that there was no time for
    _share: float = 1.0
    _per_point: float = 0.0
    _started: float = field(init=False)
    _own: dict[str, float] = field(default_factory=dict)  # seconds per point of trainings, by name

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._started

    def enter(self, share: float) -> None:
        """Begin a stage that may go on until this share of the time has passed, so that later stages have some left."""
        self._share = share

    def record(self, seconds: float, n_points: int, cost: float = 1.0, name: str = "") -> None:
        """Learn from a training that took `seconds`; `cost` is its time relative to a plain training."""
        self._own[name] = seconds / (max(n_points, 1) * cost)
        self._per_point = max(self._per_point, self._own[name])

    def adopt(self, name: str) -> None:
        """Expect later trainings to take as long as that of `name`, because they have its parameters."""
        self._per_point = self._own.get(name, self._per_point)

    def allows(self, n_points: int, cost: float = 1.0, name: str = "") -> bool:
        """Return whether there is time for a trial on `n_points` and for its final training; count it if not.

        Examples
        --------
        >>> budget = TimeBudget(10.0, n_final=100, clock=lambda: 0.0)
        >>> budget.record(seconds=2.0, n_points=50)
        >>> budget.allows(n_points=50), budget.allows(n_points=50, cost=3.0)
        (True, False)
        """
        if self.seconds is None or self._per_point == 0:
            return True
        per_point = self._own.get(name, self._per_point) if name else self._per_point
        needed = per_point * cost * (n_points + self.n_final)
        trial = per_point * cost * n_points
        allowed = self.elapsed + needed <= self.seconds and self.elapsed + trial <= self._share * self.seconds
        self.n_skipped += not allowed
        return allowed


def relative_cost(parameters: Parameters) -> float:
    """Return the time of a candidate's training, relative to a plain one."""
    cost = float(parameters.get("n_trees", 1)) * (_EVIDENCE_COST if parameters.get("evidence") else 1.0)
    return cost * (_AUTO_COST if parameters.get("C") == "auto" else 1.0)


@dataclass(frozen=True, eq=False)
class Study:
    """Trains, measures and times candidates on the same data.

    Parameters
    ----------
    inputs : TrialInputs
        Estimator, data and values of k.
    place : StudyPlace
        Where trials run and where their models are.
    budget : TimeBudget
    count_done : callable
        Called with the number of units of work done: one per candidate, one per round of timing.
    """

    inputs: TrialInputs
    place: StudyPlace
    budget: TimeBudget = field(default_factory=TimeBudget)
    count_done: Callable[[int], object] = lambda _: None
    _measured: dict[tuple[str, int], Trial] = field(default_factory=dict)  # by candidate and size
    _facts: dict[str, Any] = field(default_factory=dict)

    @property
    def machine(self) -> dict[str, Any]:
        """The machine that the last models were timed on."""
        return dict(self._facts["machine"])

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Data, estimator and measurements. Trials in a folder are reused only if these are the same."""
        inputs = self.inputs
        return {
            "estimator": estimator_fingerprint(inputs.estimator, _VARIED),
            "train": fingerprint(inputs.train.content),
            "validation": fingerprint(inputs.validation.content),
            "k": list(inputs.ks),
            "random_state": inputs.seed,
        }

    def run(
        self,
        candidates: Mapping[str, Parameters],
        size: int | None = None,
        *,
        timing: Timing = QUICK,
        report: bool = False,
    ) -> dict[str, Trial]:
        """Return the trials of the first candidate and of others that there is time for, by name.

        Parameters
        ----------
        candidates : dict of dicts of parameters
        size : int, optional
            The number of training points, drawn at random; by default all.
        timing : Timing
        report : bool
            Measure what a report shows, and keep trials and models in the folder of the study, if it has one.
        """
        size = min(size or self.inputs.train.n_points, self.inputs.train.n_points)
        folder = self.place.folder(self.identity) if report else self.place.temporary
        (folder / MODELS).mkdir(parents=True, exist_ok=True)
        runner = self.place.runner(folder / TRIALS)
        with Shared(self.inputs, runner.results, fingerprint(self.identity)) as shared:
            tasks = {name: self._task(own, size, folder, shared, report) for name, own in candidates.items()}
            if self.place.is_remote:
                self._prepare(candidates, size)
            names = self._train(tasks, candidates, size, runner)
            self._time([tasks[name] for name in names], runner, shared, timing)
        return {name: self._measured[_key(tasks[name])]._replace(parameters=candidates[name]) for name in names}

    def with_features(self, kind: str) -> Study:
        """Return a study of the same points with other features."""
        made = with_features(kind, self.inputs.n_jobs, self.inputs.train, self.inputs.validation)
        inputs = replace(self.inputs, train=made[0], validation=made[1], _samples={})
        return replace(self, inputs=inputs, _measured={})

    def _task(self, parameters: Parameters, size: int, folder: Path, shared: Shared[TrialInputs], report: bool) -> Task:
        estimator = self.inputs.estimator
        trained_as = without_effect(estimator, parameters)
        features = parameters.get(FEATURES, AS_GIVEN)
        candidate = fingerprint([estimator_fingerprint(configured(estimator, trained_as)), features])
        name = _file_name(setting_name(estimator, trained_as)) if report else f"{candidate}-{size}"
        inputs = {"study": shared, "candidate": candidate, "size": size, "report": report}
        return Task(run_trial, inputs, {"parameters": trained_as, "model": str(folder / MODELS / name)})

    def _prepare(self, candidates: Mapping[str, Parameters], size: int) -> None:
        """Compute what trees are built from, so that the copies of workers have it."""
        for parameters in candidates.values():
            sample = self.inputs.sample(size, parameters.get(FEATURES, AS_GIVEN))
            sample.prepare(configured(self.inputs.estimator, parameters))

    def _train(
        self, tasks: dict[str, Task], candidates: Mapping[str, Parameters], size: int, runner: Runner
    ) -> list[str]:
        """Run the tasks that are not finished and that there is time for; return the names of all finished ones."""
        folder = runner.results.folder
        assert folder is not None
        finished: list[str] = []
        started: dict[str, Parameters] = {}
        for task in tasks.values():
            if task.inputs["report"] and not Path(task.how["model"]).exists():
                (folder / task.name).unlink(missing_ok=True)  # someone has removed the model: train it again
        n_reused = len({task.name for task in tasks.values() if task.name in runner.results})
        if n_reused and self.place.kept is not None:
            n_wanted = len({task.name for task in tasks.values()})
            _logger.info("%s: %d of %d settings are finished already", self.place.kept, n_reused, n_wanted)

        def waiting() -> Iterator[Task]:
            for name, task in tasks.items():
                own = candidates[name]
                is_new = task.name not in started and not self._is_measured(task)
                if is_new and finished and task.name not in runner.results and not self._allows(own, size):
                    self.count_done(1)
                    continue
                finished.append(name)
                if is_new:
                    started[task.name] = own
                    yield task
                else:
                    self.count_done(1)

        is_limited = self.budget.seconds is not None
        for record in runner.stream("Training", waiting() if is_limited else list(waiting())):
            if not record.was_finished:
                own = started[record.name]
                seconds = record_of(runner.results[record.name])["training_seconds"]
                self.budget.record(seconds, size, relative_cost(own), words_of(own))
            self.count_done(1)
        return finished

    def _is_measured(self, task: Task) -> bool:
        known = self._measured.get(_key(task))
        return known is not None and (bool(known.details) or not task.inputs["report"])

    def _allows(self, parameters: Parameters, size: int) -> bool:
        return self.budget.allows(size, relative_cost(parameters), words_of(parameters))

    def _time(self, tasks: list[Task], runner: Runner, shared: Shared[TrialInputs], timing: Timing) -> None:
        """Time the models that were not timed before, and keep their trials."""
        new = {task.name: task for task in tasks if not self._is_measured(task)}
        if not new:
            self.count_done(timing.repeats)
            return
        models = [
            (task.how["model"], task.inputs["size"], task.how["parameters"].get(FEATURES, AS_GIVEN))
            for task in new.values()
        ]
        how: dict[str, Any] = {"models": models, "timing": timing}
        if not self.place.is_remote:
            how["advance"] = lambda _: self.count_done(1)
        measuring = Task(time_models, {"study": shared, "run": uuid.uuid4().hex}, how)
        for _ in runner.stream("Timing", [measuring]):
            values = runner.results[measuring.name].values
        assert runner.results.folder is not None
        (runner.results.folder / measuring.name).unlink(missing_ok=True)  # times are measured again in every run
        self._facts["machine"] = values["machine"]
        if self.place.is_remote:
            self.count_done(timing.repeats)
        for task, times in zip(new.values(), values["times"], strict=True):
            result = runner.results[task.name]
            record = {**record_of(result), **times}
            size, details = task.inputs["size"], result.values["details"]
            self._measured[_key(task)] = Trial(task.how["parameters"], size, record, hits_of(result), details)
            if not task.inputs["report"]:
                shutil.rmtree(task.how["model"], ignore_errors=True)


def _key(task: Task) -> tuple[str, int]:
    return task.inputs["candidate"], task.inputs["size"]


# Where a study runs, and its folder.


@dataclass(frozen=True)
class StudyPlace:
    """Where the trials of a study run: in this process, or on the workers of a Dask client.

    Parameters
    ----------
    temporary : path
        For models and trials that are not kept.
    kept : path, optional
        The folder of the user: ``sweep.json`` identifies the data and the estimator, ``models/`` has the models,
        ``settings/`` their measurements as JSON, and ``trials/`` the results of tasks, with which an interrupted study
        continues.
    client : distributed.Client, optional
    """

    temporary: Path
    kept: Path | None = None
    client: Any = None

    @property
    def is_remote(self) -> bool:
        """Whether trials run in other processes."""
        return self.client is not None

    def runner(self, folder: Path) -> Runner:
        """Return a runner that keeps the results of its tasks in a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.client is None:
            return LocalRunner(FolderResults(folder))
        from labeltrees.tasks.on_dask import DaskRunner

        return DaskRunner(self.client, folder)

    def folder(self, identity: dict[str, Any]) -> Path:
        """Return the folder for what is kept; raise `InputError` if it has trials of another study."""
        if self.kept is None:
            return self.temporary
        join_folder(self.kept, identity)
        return self.kept


@contextmanager
def open_place(client: Any = None, folder: str | os.PathLike[str] | None = None) -> Iterator[StudyPlace]:
    """Yield a place with a temporary folder.

    Parameters
    ----------
    client : distributed.Client or Runner, optional
        A runner has its own folder.
    folder : path, optional
        Where trials are kept. With a client, the temporary folder is beside it, because all workers must see both.
    """
    if isinstance(client, Runner):
        folder, client = client.results.folder, getattr(client, "client", None)
    kept = None if folder is None else Path(os.path.abspath(folder))
    parent = None if client is None or kept is None else kept.parent
    with tempfile.TemporaryDirectory(prefix="labeltrees-study-", dir=parent, ignore_cleanup_errors=True) as temporary:
        place = StudyPlace(Path(temporary), kept, client)
        if client is not None:
            runner: Any = place.runner(Path(temporary))
            runner.show_dashboard()
            runner.check_folder("folder")
        yield place


MODELS, TRIALS = "models", "trials"
_IDENTITY_FILE, _FORMAT, _VERSION = "sweep.json", "labeltrees sweep folder", 3  # 3: trials are results of tasks
_VARIED = ("tradeoff", "fanout", "tree__cover", "tree__path")  # a folder takes sweeps of other values of these


def join_folder(folder: Path, identity: dict[str, Any]) -> None:
    """Make the folder of a study, or check that it has one with the same identity."""
    file = folder / _IDENTITY_FILE
    expected = {"format": _FORMAT, "version": _VERSION, **identity}
    if file.exists():
        found = read_json(file)
        if not isinstance(found, dict) or found.get("format") != expected["format"]:
            refuse_file(file, "not written by a sweep")
        differ = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        if differ:
            message = f"{folder} holds another sweep ({', '.join(differ)} differ): use another folder"
            raise InputError(message)
    elif folder.exists() and (not folder.is_dir() or any(map(_is_foreign, folder.iterdir()))):
        message = f"{folder} exists and is not the folder of a sweep: use another folder"
        raise InputError(message)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(file, expected)  # first: a study that is killed after it can continue
    for part in (MODELS, TRIALS):
        (folder / part).mkdir(exist_ok=True)


def count_finished(folder: str | os.PathLike[str]) -> int:
    """Return the number of finished trials in the folder of a study."""
    return sum(1 for _ in (Path(folder) / TRIALS).glob(f"{run_trial.__name__}-*"))


def _is_foreign(path: Path) -> bool:
    """Whether a file in a folder without identity was not left by a study that was killed as it started."""
    return not path.name.startswith(f".{_IDENTITY_FILE}.")


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name)[:180]
