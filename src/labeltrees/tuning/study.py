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
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from labeltrees._files import read_json, refuse_file, write_json
from labeltrees.errors import InputError
from labeltrees.metrics.hits import Hits
from labeltrees.tasks import FolderResults, LocalRunner, Runner, Shared, Task
from labeltrees.tuning.budget import TimeBudget
from labeltrees.tuning.candidates import (
    Parameters,
    configured,
    estimator_fingerprint,
    features_of,
    fingerprint,
    setting_name,
    without_effect,
)
from labeltrees.tuning.trial import (
    QUICK,
    Timing,
    TrialInputs,
    hits_of,
    record_of,
    run_trial,
    time_models,
)

# Kinds of trials: with metrics only; with times and details too; and also kept.
_LIGHT, _FULL, _REPORTED = "light", "full", "reported"
_logger = logging.getLogger("labeltrees")


class Trial(NamedTuple):
    """A measured candidate.

    `record` has its metrics, work, times and size; `details` has the contents of a report, if it was timed. All trials
    of a study have the same validation points, so their hits can be compared point by point.
    """

    parameters: Parameters
    n_points: int
    record: dict[str, Any]
    hits: Hits
    details: dict[str, Any]


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
        """Data, estimator, measurements and rules. Trials in a folder are reused only if these are the same."""
        inputs = self.inputs
        return {
            "estimator": estimator_fingerprint(inputs.estimator, _VARIED),
            "train": fingerprint(inputs.train.content),
            "validation": fingerprint(inputs.validation.content),
            "k": list(inputs.ks),
            "random_state": inputs.seed,
            **({"rules": fingerprint(inputs.rules)} if inputs.rules else {}),
        }

    def run(
        self,
        candidates: Mapping[str, Parameters],
        size: int | None = None,
        *,
        timing: Timing | None = QUICK,
        report: bool = False,
        until: float = 1.0,
        again: bool = False,
    ) -> dict[str, Trial]:
        """Return the trials of the first candidate and of others that there is time for, by name.

        Parameters
        ----------
        candidates : dict of dicts of parameters
            The budget knows candidates by their names.
        size : int, optional
            The number of training points, drawn at random; by default all.
        timing : Timing or None
            None: measure only metrics, which are enough to compare candidates; there are no times or details.
        report : bool
            Keep trials and models in the folder of the study, if it has one.
        until : float
            The share of the time budget within which the trials must end.
        again : bool
            Time models again that were timed before, so that all models are timed in turns. Needs `report`.
        """
        size = min(size or self.inputs.train.n_points, self.inputs.train.n_points)
        folder = self.place.folder(self.identity) if report else self.place.temporary
        (folder / MODELS).mkdir(parents=True, exist_ok=True)
        runner = self.place.runner(folder / TRIALS)
        with Shared(self.inputs, runner.results, fingerprint(self.identity)) as shared:
            kind = _LIGHT if timing is None else _REPORTED if report else _FULL
            tasks = {name: self._task(own, size, folder, shared, kind) for name, own in candidates.items()}
            if self.place.is_remote:
                self._prepare(candidates, size)
            names = self._train(tasks, size, runner, until)
            self._time([tasks[name] for name in names], runner, shared, timing, again)
        return {name: self._measured[_key(tasks[name])]._replace(parameters=candidates[name]) for name in names}

    @property
    def n_points(self) -> int:
        """The number of training points, besides the validation points."""
        return self.inputs.train.n_points

    def _task(self, parameters: Parameters, size: int, folder: Path, shared: Shared[TrialInputs], kind: str) -> Task:
        estimator, report = self.inputs.estimator, kind == _REPORTED
        trained_as = without_effect(estimator, parameters)
        candidate = fingerprint([estimator_fingerprint(configured(estimator, trained_as)), *features_of(parameters)])
        name = _file_name(setting_name(estimator, trained_as)) if report else f"{candidate}-{size}"
        name += f"_{size}-points" if report and size < self.n_points else ""
        inputs = {"study": shared, "candidate": candidate, "size": size, "kind": kind}
        return Task(run_trial, inputs, {"parameters": trained_as, "model": str(folder / MODELS / name)})

    def _prepare(self, candidates: Mapping[str, Parameters], size: int) -> None:
        """Compute the inputs of trees here once, so that the copies for workers contain them."""
        for parameters in candidates.values():
            sample = self.inputs.sample(size, *features_of(parameters))
            sample.prepare(configured(self.inputs.estimator, parameters))

    def _train(self, tasks: dict[str, Task], size: int, runner: Runner, until: float) -> list[str]:
        """Run the tasks that are not finished and that there is time for; return the names of all finished ones."""
        folder = runner.results.folder
        assert folder is not None
        finished: list[str] = []
        started: dict[str, str] = {}  # names of candidates by the names of their tasks
        for task in tasks.values():
            if task.inputs["kind"] == _REPORTED and not Path(task.how["model"]).exists():
                (folder / task.name).unlink(missing_ok=True)  # the model was removed: train it again
        n_reused = len({task.name for task in tasks.values() if task.name in runner.results})
        if n_reused and self.place.kept is not None:
            n_wanted = len({task.name for task in tasks.values()})
            _logger.info("%s: %d of %d settings are finished already", self.place.kept, n_reused, n_wanted)

        def waiting() -> Iterator[Task]:
            for name, task in tasks.items():
                is_new = task.name not in started and not self._is_measured(task)
                must_wait = is_new and finished and task.name not in runner.results
                if must_wait and not self.budget.allows(name, size, until):
                    self.count_done(1)
                    continue
                finished.append(name)
                if is_new:
                    started[task.name] = name
                    yield task
                else:
                    self.count_done(1)

        is_limited = self.budget.seconds is not None
        for record in runner.stream("Training", waiting() if is_limited else list(waiting())):
            if not record.was_finished:
                self.budget.record(started[record.name], size, record.seconds)
            self.count_done(1)
        return finished

    def _is_measured(self, task: Task) -> bool:
        known, kind = self._measured.get(_key(task)), task.inputs["kind"]
        if known is None or kind == _LIGHT:
            return known is not None
        return bool(known.details) and (kind == _FULL or Path(task.how["model"]).exists())

    def _time(
        self, tasks: list[Task], runner: Runner, shared: Shared[TrialInputs], timing: Timing | None, again: bool
    ) -> None:
        """Time the models that were not timed before, or all of them, and keep their trials."""
        new = {task.name: task for task in tasks if again or not self._is_measured(task)}
        if timing is None:
            for task in new.values():
                self._keep(task, runner, {})
            return
        if not new:
            self.count_done(timing.repeats)
            return
        models = [
            (task.how["model"], task.inputs["size"], features_of(task.how["parameters"])) for task in new.values()
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
            self._keep(task, runner, times)
            if task.inputs["kind"] == _FULL:
                shutil.rmtree(task.how["model"], ignore_errors=True)

    def _keep(self, task: Task, runner: Runner, times: dict[str, float]) -> None:
        result = runner.results[task.name]
        record = {**record_of(result), **times}
        size, details = task.inputs["size"], result.values["details"]
        self._measured[_key(task)] = Trial(task.how["parameters"], size, record, hits_of(result), details)


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
        """Return the folder for kept trials; raise `InputError` if it has trials of another study."""
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
_VARIED = ("tradeoff", "fanout", "tree__cover", "tree__path")  # a folder can hold sweeps with different values of these


def join_folder(folder: Path, identity: dict[str, Any]) -> None:
    """Create the folder of a study, or check that an existing one has the same identity."""
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
    write_json(file, expected)  # written first, so that a study that is killed later can continue
    for part in (MODELS, TRIALS):
        (folder / part).mkdir(exist_ok=True)


def count_finished(folder: str | os.PathLike[str]) -> int:
    """Return the number of finished trials in the folder of a study."""
    return sum(1 for _ in (Path(folder) / TRIALS).glob(f"{run_trial.__name__}-*"))


def _is_foreign(path: Path) -> bool:
    """Whether a file is not the temporary identity file of a study that was killed as it started."""
    return not path.name.startswith(f".{_IDENTITY_FILE}.")


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name)[:180]
