"""Picking the operating point: the fastest model within a loss of precision, or the most precise within a latency."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from labeltrees._progress import ProgressArgument, watch
from labeltrees._validation import check_integer, check_n_jobs, check_number, check_seed, refuse
from labeltrees.data import TfidfVectorizer
from labeltrees.errors import InputError
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.explain import Round, explain
from labeltrees.tuning.limits import Limits, Verdict
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.settings import TRADEOFFS, Setting, make_settings
from labeltrees.tuning.shared_inputs import Shared
from labeltrees.tuning.sweep import TIMED_POINTS, SweepJob, identity_of, open_folder
from labeltrees.tuning.sweep_folder import SweepFolder
from labeltrees.tuning.tuning_data import TuningData, as_tuning_data, check_pair

_NARROW = 16  # a fanout tried besides the estimator's own
_MOST_VALIDATION_POINTS = 100_000
# Early rounds: a ninth and a third of the points, where that is enough to learn from; a third of the settings stay.
_FACTOR, _FEWEST_POINTS, _FEWEST_SETTINGS = 3, 2000, 4
_EARLY_REPEATS, _EARLY_TIMED_POINTS = 3, 300


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, and why.

    Attributes
    ----------
    model : fitted model
        Trained on all data.
    result : SweepResult
        The last round; `result.chosen` is the name of the setting taken.
    explanation : str
        What was tried, chosen and why, in one paragraph.
    """

    model: Any
    result: SweepResult
    explanation: str

    @property
    def record(self) -> dict[str, Any]:
        """What was measured at the setting taken, before the last training."""
        return self.result.record(str(self.result.chosen))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the setting taken: tradeoff and, where there is one, fanout."""
        return {name: self.record[name] for name in ("tradeoff", "fanout") if self.record[name] is not None}

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({type(self.model).__name__}({settings}), out of {self.result!r})"


def choose(
    train: Any,
    *,
    max_precision_loss: float | None = None,
    max_latency_us: float | None = None,
    metric: str = "p1",
    k: int = 5,
    tradeoffs: Any = TRADEOFFS,
    fanouts: Any = None,
    estimator: Any = None,
    validation: Any = 0.2,
    early_rounds: bool = True,
    folder: str | os.PathLike[str] | None = None,
    repeats: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
) -> Choice:
    """Return the fastest model within a loss of precision, or the most precise one within a latency.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
    max_precision_loss : float, optional
        Take the fastest setting (median single call for k labels) whose `metric` is not below the best setting's by
        more than this. The lower 95 % confidence bound of the mean difference over the validation points, compared in
        pairs, must say so: noise does not decide. Times less than 5 % above the fastest count as equal: of those the
        most precise is taken.
    max_latency_us : float, optional
        Take the most precise setting whose single calls for k labels take at most this many microseconds (99th
        percentile). With both limits: the fastest that keeps to both.
    metric : str
        "p1", "p3", "ndcg5", ...; its k at most `k`.
    k : int
        Labels a single call returns.
    tradeoffs, fanouts : lists
        The settings to try; `fanouts` None is 16 and the estimator's own.
    estimator : LabelTreeClassifier or a model like it, optional
    validation : float, or Dataset, or pair (X, Y)
        The share of `train` (at most 100,000 points of it) to measure on, or other data.
    early_rounds : bool
        Try all settings on a part of the points first, and only the most promising ones on all. Parts of fewer than
        2,000 points are not tried.
    folder : path, optional
        For the last round, as in `sweep`.
    repeats, random_state, n_jobs, progress
        As in `sweep`. The split into training and validation data is drawn by `random_state` too.

    Returns
    -------
    Choice
        With `model`, trained on all of `train`; `result`; and `explanation`.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.random((200, 12)) < 0.3
    >>> X = Y @ rng.random((12, 8))
    >>> choice = lt.choose((X, Y), max_precision_loss=0.5, tradeoffs=[0, 1], repeats=1)
    >>> choice.model.predict_topk(X[:1], k=2)[0].shape
    (1, 2)
    """
    estimator = LabelTreeClassifier() if estimator is None else estimator
    k = check_integer("k", k, 1)
    limits = Limits(max_precision_loss, max_latency_us, metric, k)
    limits.validate()
    check_integer("repeats", repeats, 1)
    check_n_jobs(n_jobs)
    settings = make_settings(estimator, tradeoffs, _default_fanouts(estimator) if fanouts is None else fanouts)
    data = as_tuning_data(train, "train", estimator)
    learnt, measured, split_off = _split(data, validation, estimator, check_seed(random_state))
    check_pair(learnt, measured)
    sizes = _round_sizes(learnt.n_points, len(settings)) if early_rounds else []
    counts = [len(settings)]
    for _ in sizes:
        counts.append(max(_FEWEST_SETTINGS, -(-counts[-1] // _FACTOR)))
    total = sum(counts) + _EARLY_REPEATS * len(sizes) + repeats + 1
    ks = tuple(sorted({at for at in (1, 3, k, int(metric.lstrip("pndcg"))) if at <= k}))
    chooser = _Chooser(estimator, limits, ks, random_state, n_jobs)
    with watch("Choosing", total, progress) as advance:
        for n_points, n_kept in zip(sizes, counts[1:], strict=True):
            settings = chooser.early_round(settings, learnt, measured, n_points, n_kept, advance)
        result = chooser.last_round(settings, learnt, measured, repeats, folder, advance)
        verdict = limits.judge(result)
        result.chosen = verdict.choose()
        result.explanation = explain(verdict, chooser.rounds, measured.n_points, data.n_points, split_off)
        model = _fit_on_all(estimator, chooser.setting(settings, result.chosen), data, n_jobs)
        chooser.tell(advance, 1)
    return Choice(model, result, result.explanation)


def _default_fanouts(estimator: Any) -> Any:
    own = estimator.get_params(deep=False).get("fanout")
    return None if own is None else list(dict.fromkeys([_NARROW, own]))


def _split(data: TuningData, validation: Any, estimator: Any, seed: int) -> tuple[TuningData, TuningData, bool]:
    """Return what to learn from, what to measure on, and whether the latter was taken from the former."""
    if isinstance(validation, bool) or not isinstance(validation, int | float):
        if validation is None:
            refuse("validation", "a share of train, or a Dataset or a pair (X, Y)", validation)
        return data, as_tuning_data(validation, "validation", estimator), False
    share = check_number("validation", validation, 0, 1, low_open=True)
    n_measured = min(round(share * data.n_points), _MOST_VALIDATION_POINTS)
    if not 1 <= n_measured < data.n_points:
        message = f"validation of {share:g} leaves {n_measured} of {data.n_points} points to measure on"
        raise InputError(message)
    order = np.random.default_rng(seed).permutation(data.n_points)
    return data.take(np.sort(order[n_measured:])), data.take(np.sort(order[:n_measured])), True


def _round_sizes(n_points: int, n_settings: int) -> list[int]:
    """Return the numbers of points of the early rounds, growing."""
    if n_settings <= _FEWEST_SETTINGS:
        return []
    sizes = [n_points // _FACTOR**power for power in (2, 1)]
    return [size for size in sizes if size >= _FEWEST_POINTS]


class _Chooser:
    """Runs the rounds of a choice and notes what was tried."""

    def __init__(
        self, estimator: Any, limits: Limits, ks: tuple[int, ...], random_state: int, n_jobs: int | None
    ) -> None:
        self.estimator, self.limits, self.ks = estimator, limits, ks
        self.random_state, self.n_jobs = random_state, n_jobs
        self.rounds: list[Round] = []
        self._done = 0

    def tell(self, advance: Callable[[int], object] | None, count: int) -> None:
        """Note that so many units more are done."""
        self._done += count
        if advance is not None:
            advance(self._done)

    @staticmethod
    def setting(settings: list[Setting], name: str) -> Setting:
        """Return the setting of a name."""
        return next(setting for setting in settings if setting.name == name)

    def early_round(
        self,
        settings: list[Setting],
        learnt: TuningData,
        measured: TuningData,
        n_points: int,
        n_kept: int,
        advance: Callable[[int], object] | None,
    ) -> list[Setting]:
        """Try settings on some of the points and return the most promising ones."""
        rows = np.random.default_rng(self.random_state).permutation(learnt.n_points)[:n_points]
        sample = learnt.take(np.sort(rows))
        with tempfile.TemporaryDirectory(prefix="labeltrees-choose-") as temporary:
            store = SweepFolder(temporary, {})
            result = self._run(
                settings, sample, measured, store, _EARLY_REPEATS, _EARLY_TIMED_POINTS, advance, details=False
            )
        verdict: Verdict = self.limits.judge(result)
        return [self.setting(settings, name) for name in verdict.promising(n_kept)]

    def last_round(
        self,
        settings: list[Setting],
        learnt: TuningData,
        measured: TuningData,
        repeats: int,
        folder: str | os.PathLike[str] | None,
        advance: Callable[[int], object] | None,
    ) -> SweepResult:
        """Try settings on all points."""
        identity = identity_of(self.estimator, learnt, measured, self.ks, self.random_state)
        with open_folder(folder, identity) as store:
            return self._run(settings, learnt, measured, store, repeats, TIMED_POINTS, advance, details=True)

    def _run(
        self,
        settings: list[Setting],
        learnt: TuningData,
        measured: TuningData,
        store: SweepFolder,
        repeats: int,
        timed_points: int,
        advance: Callable[[int], object] | None,
        details: bool,
    ) -> SweepResult:
        self.rounds.append(Round(len(settings), learnt.n_points))
        shared = Shared(self.estimator, learnt, self.n_jobs)
        job = SweepJob(shared, measured, self.ks, store, self.random_state, self.n_jobs, details=details)
        before = self._done
        step = None if advance is None else lambda done: advance(before + done)
        result = job.run(settings, repeats, timed_points, step)
        self._done = before + len(settings) + repeats
        return result


def _fit_on_all(estimator: Any, setting: Setting, data: TuningData, n_jobs: int | None) -> Any:
    model = clone(estimator).set_params(**setting.parameters)
    own = {name: value for name, value in model.get_params(deep=False).items() if name in ("n_jobs", "verbose")}
    if n_jobs is not None:
        model.set_params(n_jobs=n_jobs)
    model.set_params(verbose=0)
    known = inspect.signature(model.fit).parameters
    own_vectorizer = isinstance(model, LabelTreeClassifier) and isinstance(data.vectorizer, TfidfVectorizer)
    others = {
        name: getattr(data, name)
        for name in ("sample_weight", "label_names", "feature_names")
        if name in known and getattr(data, name) is not None and not (own_vectorizer and name == "feature_names")
    }
    model.fit(data.points, data.Y, **others).set_params(**own)
    if own_vectorizer:
        model.vectorizer_ = data.vectorizer  # it takes texts, as if it had been fitted on them
    return model
