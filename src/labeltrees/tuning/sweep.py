"""Training and measuring a model at every setting."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from labeltrees._progress import ProgressArgument, watch
from labeltrees._validation import check_integer, check_n_jobs, check_seed, refuse
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.environment import data_facts, frequency_facts, machine_facts
from labeltrees.tuning.examples import Examples
from labeltrees.tuning.fingerprint import data_fingerprint, estimator_fingerprint
from labeltrees.tuning.quality import measure_quality, propensities_or_none
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.settings import TRADEOFFS, Setting, make_settings
from labeltrees.tuning.shared_inputs import Shared
from labeltrees.tuning.sweep_folder import SweepFolder
from labeltrees.tuning.timing import measure_times
from labeltrees.tuning.tree_shape import tree_facts
from labeltrees.tuning.tuning_data import TuningData, as_tuning_data, check_pair

TIMED_POINTS = 1000


def sweep(
    train: Any,
    validation: Any,
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
) -> SweepResult:
    """Train a model at every combination of settings and measure how right, how deep and how fast each is.

    Embeddings and frequencies of the labels are computed once for all. Models are kept on disk and opened together for
    the timing, which goes around all of them `repeats` times, so that what disturbs the machine disturbs all alike.

    Parameters
    ----------
    train, validation : Dataset, or pair (X, Y)
        What models learn from, and what they are measured on. For models that read texts: Datasets with texts, or
        pairs (texts, Y).
    estimator : LabelTreeClassifier or a model like it, optional
        Everything but the settings below comes from it.
    tradeoffs, fanouts, covers, paths : lists
        See `build_tree`; `fanouts` None is the estimator's own. With ``covers=("marginal", "greedy")`` and
        ``paths=("weighted", "direct")`` the paper's four curves can be drawn.
    k : ints
        The k of P@k, nDCG@k, PSP@k and expected depth@k. Single calls are timed for k = 1 and for the largest.
    folder : path, optional
        Where finished settings are kept: a sweep that was interrupted goes on from there, also with other settings. A
        folder of other data or another estimator is refused. Its models can be opened with `load`. By default a
        temporary folder, removed at the end.
    repeats : int
        Rounds of timing; for every call the median of the rounds counts.
    timed_points : int
        Validation points asked in single calls at the most.
    random_state : int
        Which points are timed and shown; the models have the estimator's own.
    n_jobs : int, optional
        Threads for training and for batches; by default the estimator's own. Single calls use one.
    progress : bool or callable(done, total), optional

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
    data = as_tuning_data(train, "train", estimator), as_tuning_data(validation, "validation", estimator)
    check_pair(*data)
    with open_folder(folder, identity_of(estimator, *data, ks, random_state)) as store:
        job = SweepJob(Shared(estimator, data[0], n_jobs), data[1], ks, store, random_state, n_jobs)
        with watch("Sweep", len({setting.trained_as() for setting in settings}) + repeats, progress) as advance:
            return job.run(settings, repeats, timed_points, advance)


def check_ks(k: Any) -> tuple[int, ...]:
    """Return the numbers of labels asked for, rising."""
    listed = [k] if isinstance(k, int) else k
    if isinstance(listed, str) or not hasattr(listed, "__iter__") or not list(listed):
        refuse("k", "numbers of labels, such as (1, 3, 5)", k)
    return tuple(sorted({check_integer("k", value, 1, 10_000) for value in listed}))


def identity_of(
    estimator: Any, train: TuningData, validation: TuningData, ks: tuple[int, ...], random_state: int
) -> dict[str, Any]:
    """Return what must be the same for the finished settings of a folder to count."""
    return {
        "estimator": estimator_fingerprint(estimator),
        "train": data_fingerprint(train),
        "validation": data_fingerprint(validation),
        "k": list(ks),
        "random_state": int(random_state),
    }


@contextmanager
def open_folder(folder: str | os.PathLike[str] | None, identity: dict[str, Any]) -> Iterator[SweepFolder]:
    """Give the folder of a sweep, a temporary one where none is named."""
    if folder is not None:
        yield SweepFolder(folder, identity)
        return
    with tempfile.TemporaryDirectory(prefix="labeltrees-sweep-") as temporary:
        yield SweepFolder(temporary, identity)


class SweepJob:
    """Trains, measures and times settings over the same data; `details` are what a report shows of each."""

    def __init__(
        self,
        shared: Shared,
        validation: TuningData,
        ks: tuple[int, ...],
        store: SweepFolder,
        random_state: int,
        n_jobs: int | None,
        *,
        details: bool = True,
    ) -> None:
        self.shared, self.validation, self.ks, self.store = shared, validation, ks, store
        self.random_state, self.n_jobs = random_state, n_jobs
        self.propensities = propensities_or_none(shared.train)
        self.examples = Examples(validation, max(ks), random_state) if details else None

    def run(
        self,
        settings: list[Setting],
        repeats: int,
        timed_points: int,
        advance: Callable[[int], object] | None = None,
    ) -> SweepResult:
        """Return the result over settings; those the folder has already are not trained again."""
        trained = list(dict.fromkeys(setting.trained_as() for setting in settings))
        for number, setting in enumerate(trained):
            if not self.store.has(setting):
                self._train(setting)
            if advance is not None:
                advance(number + 1)
        times = self._time(trained, repeats, timed_points, advance)
        table, details, hits = [], {}, {}
        for setting in settings:
            kept, source = self.store.record(setting.trained_as()), setting.trained_as()
            row = {"setting": setting.name, "tradeoff": setting.tradeoff, "fanout": setting.fanout}
            table.append({**row, "cover": setting.cover, "path": setting.path, **kept["record"], **times[source]})
            details[setting.name] = kept["details"]
            hits[setting.name] = self.store.hits(source)
        return SweepResult(table, self._facts(repeats, timed_points), self._details(settings, details), hits=hits)

    def _train(self, setting: Setting) -> None:
        model, tree_seconds, seconds = self.shared.fit(setting)
        quality, hits = measure_quality(model, self.validation, self.ks, self.propensities, self.n_jobs)
        details: dict[str, Any] = {}
        if self.examples is not None:
            details = tree_facts(model.tree_, self.shared.frequencies, self.shared.train.label_names)
            details["looks"] = self.examples.look(model)
        record = {**quality, "tree_seconds": tree_seconds, "training_seconds": seconds}
        self.store.add(setting, model, hits, {"record": record, "details": details})

    def _time(
        self, settings: list[Setting], repeats: int, timed_points: int, advance: Callable[[int], object] | None
    ) -> dict[Setting, dict[str, float]]:
        times = measure_times(
            [self.store.model(setting) for setting in settings],
            self.validation.points,
            sorted({1, max(self.ks)}),
            repeats=repeats,
            max_points=timed_points,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            advance=None if advance is None else lambda done: advance(len(settings) + done),
        )
        return dict(zip(settings, times, strict=True))

    def _facts(self, repeats: int, timed_points: int) -> dict[str, Any]:
        estimator = self.shared.estimator
        parameters = {
            name: value
            for name, value in estimator.get_params(deep=False).items()
            if isinstance(value, bool | int | float | str | None) and name not in Setting.__dataclass_fields__
        }
        return {
            "data": data_facts(self.shared.train, self.validation),
            "machine": machine_facts(),
            "estimator": {"class": type(estimator).__name__, "parameters": parameters},
            "k": list(self.ks),
            "measured": {
                "repeats": repeats,
                "single_calls": min(timed_points, self.validation.n_points),
                "threads": check_n_jobs(estimator.get_params(deep=False).get("n_jobs")),
            },
        }

    def _details(self, settings: list[Setting], details: dict[str, Any]) -> dict[str, Any]:
        if self.examples is None:
            return {}
        shared = self.shared
        methods = dict.fromkeys(setting.cover for setting in settings if setting.cover is not None)
        covers = {method: shared.cover(method) for method in methods}
        return {
            "settings": details,
            "frequencies": frequency_facts(shared.train, shared.frequencies, covers),
            "examples": self.examples.describe(),
        }
