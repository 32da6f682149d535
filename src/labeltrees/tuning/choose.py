"""choose: the most precise model, or the fastest one within a loss of precision, within limits of latency and time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from labeltrees._progress import ProgressArgument, watch
from labeltrees._validation import check_integer, check_n_jobs, check_number, check_seed
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.baseline_words import compare_with_baselines
from labeltrees.tuning.executor import Executor, open_executor
from labeltrees.tuning.explain import Round, explain, explain_costs
from labeltrees.tuning.feature_search import TextData, can_choose_features
from labeltrees.tuning.final_fit import fit_on_all
from labeltrees.tuning.holding_out import SHARE, split_data
from labeltrees.tuning.limits import Limits
from labeltrees.tuning.parameter_search import AFTER, BEFORE, TREE_STEP, ParameterSearch, check_tuned
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.settings import TRADEOFFS, Setting, make_settings
from labeltrees.tuning.shared_inputs import SharedInputs
from labeltrees.tuning.sweep import TIMED_POINTS, SweepJob, identity_of, open_folder
from labeltrees.tuning.sweep_folder import SweepFolder
from labeltrees.tuning.time_budget import TimeBudget
from labeltrees.tuning.trials import TrialRunner
from labeltrees.tuning.tuning_data import TuningData, as_tuning_data, check_pair

_NARROW_FANOUT, _WIDER = 16, 2  # tried besides the estimator's own: a fast one, or one that is wider by this factor
# Early rounds train on a ninth and on a third of the points, if these are enough to learn from, and keep a third of the
# settings each.
_FACTOR, _MIN_POINTS, _MIN_SETTINGS = 3, 2000, 4
_EARLY_REPEATS, _EARLY_TIMED_POINTS = 3, 300


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, and why.

    Attributes
    ----------
    model : fitted model
        Trained on all data.
    result : SweepResult
        The last round; `result.chosen` is the name of the chosen setting.
    explanation : str
        What was tried, what was chosen and why, and how far it is above the best baseline, in one paragraph.
    parameters : dict
        The chosen values of the parameters that were searched over.
    trials : list of dict
        The measurements of all variants of loss, C, evidence and number of trees, on samples and on all points.
    """

    model: Any
    result: SweepResult
    explanation: str
    parameters: dict[str, Any]
    trials: list[dict[str, Any]]
    _last_trial: dict[str, Any]

    @property
    def record(self) -> dict[str, Any]:
        """The measurements of the chosen setting, before the final training."""
        return {**self.result.record(str(self.result.chosen)), **self._last_trial}

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({type(self.model).__name__}({parameters}), out of {self.result!r})"


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
    validation: Any = SHARE,
    tune: Any = "all",
    time_budget: float | None = None,
    early_rounds: bool = True,
    folder: str | os.PathLike[str] | None = None,
    repeats: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ProgressArgument = None,
    client: Any = None,
) -> Choice:
    """Return the most precise model, or the fastest within a loss of precision, or the most precise within a latency.

    The search has these steps: kinds of features, for data with texts; the trend, for data with times; loss and C;
    tradeoff and fanout of the tree; evidence and the number of trees. Each step starts from the best of the one before,
    on samples where there are enough points. Simple baselines (`lt.baselines`) are measured on at most 5,000 of the
    validation points, and the explanation says how far the choice is above the best of them.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
        Without any limit, the most precise setting is chosen. It replaces the estimator's own only if it gains more
        than the best of as many equal settings would gain by luck, and more than one standard error.
    max_precision_loss : float, optional
        Choose the fastest setting (median time of a single call for k labels) whose `metric` is at most this much below
        the best. The lower 95 % confidence bound of the paired difference over the validation points must be above
        ``-max_precision_loss``, so that noise does not decide. Among settings less than 5 % slower than the fastest,
        the most precise is chosen.
    max_latency_us : float, optional
        Choose the most precise setting whose single calls for k labels take at most this many microseconds (99th
        percentile). With both limits, the fastest setting that meets both is chosen.
    metric : str
        "p1", "p3", "ndcg5", ...; its k must not exceed `k`.
    k : int
        The number of labels that a single call returns.
    tradeoffs, fanouts : lists
        The settings to try. By default the fanouts are the estimator's own, and 16 if there is a limit, which is
        faster. Without a limit twice the own is tried instead, which is more precise on some data.
    estimator : LabelTreeClassifier or another model with a tradeoff, optional
    validation : float, or Dataset, or pair (X, Y)
        The share of `train` to hold out for measuring (at most 100,000 points), or separate data.
    tune : "all", "tree", or list
        The parameters to search over. "all" is ``["features", "loss", "C", "tradeoff", "fanout", "evidence",
        "n_trees", "trend"]``, as far as the data has texts or times and the estimator has the parameters; "tree" is
        ``["tradeoff", "fanout"]``. The others are those of the estimator.
    time_budget : float, optional
        Seconds for the search and the final training. Trials that would not leave enough time for the final training
        are skipped, so the choice depends on the speed of the machine. Timing and baselines are not cut short. Without
        a budget, the plan is fixed.
    early_rounds : bool
        Try all settings on a ninth and on a third of the points first, and only the most promising ones on all points.
        Samples of fewer than 2,000 points are skipped.
    folder : path, optional
        Where the last round keeps finished settings, as in `sweep`.
    repeats, random_state, n_jobs, progress
        As in `sweep`. `random_state` also seeds the split into training and validation data.
    client : distributed.Client, optional
        As in `sweep`. Metrics and the rule of choice are the same as without it. The final training runs in this
        process.

    Returns
    -------
    Choice
        With `model`, trained on all of `train`, `result` and `explanation`.

    Examples
    --------
    >>> import numpy as np, labeltrees as lt
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.random((200, 12)) < 0.3
    >>> X = Y @ rng.random((12, 8))
    >>> choice = lt.choose((X, Y), max_precision_loss=0.5, tradeoffs=[0, 1], tune="tree", repeats=1)
    >>> choice.model.predict_topk(X[:1], k=2)[0].shape
    (1, 2)
    """
    estimator = LabelTreeClassifier() if estimator is None else estimator
    k = check_integer("k", k, 1)
    limits = Limits(max_precision_loss, max_latency_us, metric, k)
    limits.validate()
    check_integer("repeats", repeats, 1)
    check_n_jobs(n_jobs)
    if time_budget is not None:
        check_number("time_budget", time_budget, 0, low_open=True)
    data = as_tuning_data(train, "train", estimator)
    fitted_on, measured_on, held_out = split_data(data, validation, estimator, check_seed(random_state))
    check_pair(fitted_on, measured_on)
    has_texts = can_choose_features(data) and measured_on.texts is not None
    tuned = check_tuned(tune, estimator, has_texts=has_texts, has_times=data.times is not None)
    own = estimator.get_params(deep=False)
    if "tradeoff" in own and "tradeoff" not in tuned:
        tradeoffs = [own["tradeoff"]]
    if fanouts is None:
        fanouts = _default_fanouts(own.get("fanout"), limits) if "fanout" in tuned else None
    settings = make_settings(estimator, tradeoffs, fanouts)
    if time_budget is not None:
        settings = _own_first(own, settings)
    sizes = _round_sizes(fitted_on.n_points, len(settings)) if early_rounds else []
    counts = [len(settings)]
    for _ in sizes:
        counts.append(max(_MIN_SETTINGS, -(-counts[-1] // _FACTOR)))
    budget = TimeBudget(time_budget, data.n_points)
    runner = TrialRunner(clone(estimator), measured_on, limits.ks, budget, random_state, n_jobs, lambda _: None)
    others = ParameterSearch(runner, limits, fitted_on, tuned)
    total = others.n_trials() + sum(counts) + _EARLY_REPEATS * len(sizes) + repeats + 1
    with open_executor(client, folder) as executor, watch("Choosing", total, progress) as advance:
        chooser = _Chooser(
            estimator, limits, fitted_on, measured_on, held_out, random_state, n_jobs, budget, advance, executor
        )
        runner.count_done, runner.executor = chooser.count_done, executor
        budget.enter(BEFORE)
        features = None
        if "features" in tuned:
            texts, features = others.choose_features(TextData(fitted_on, measured_on, data))
            chooser.train, chooser.validation, data = texts
        chooser.estimator = others.before_the_tree()
        budget.enter(TREE_STEP)
        chooser.own = next((setting.name for setting in settings if _is_own(own, setting)), None)
        for n_points, n_kept in zip(sizes, counts[1:], strict=True):
            settings = chooser.early_round(settings, n_points, n_kept)
        result = chooser.last_round(settings, repeats, folder)
        verdict = limits.judge(result, chooser.own, counts[0] - 1)
        result.chosen = verdict.choose()
        of_tree = _named(settings, result.chosen).parameters
        budget.enter(AFTER)
        final, trials, variant = others.after_the_tree(
            clone(chooser.estimator).set_params(**of_tree), result.record(result.chosen), result._hits[result.chosen]
        )
        hits = trials._hits[variant]
        result.comparison = compare_with_baselines(result, result.chosen, metric, "The chosen model", hits)
        result.explanation = explain(
            verdict, chooser.rounds, measured_on.n_points, data.n_points, held_out, others.before, others.after, budget
        )
        model = fit_on_all(final, data, n_jobs)
        result.explanation += explain_costs(getattr(model, "stats_", {}))
        chooser.count_done(1)
    chosen = {name: features if name == "features" else model.get_params(deep=False)[name] for name in tuned}
    return Choice(model, result, result.explanation, chosen, others.trials, trials.record(variant))


def _own_first(own: dict[str, Any], settings: list[Setting]) -> list[Setting]:
    """Return the settings with the estimator's own first: the time may end before the last."""
    return sorted(settings, key=lambda setting: not _is_own(own, setting))


def _is_own(own: dict[str, Any], setting: Setting) -> bool:
    return all(own[name] == value for name, value in setting.parameters.items())


def _default_fanouts(own: Any, limits: Limits) -> Any:
    if own is None:
        return None
    is_limited = limits.max_precision_loss is not None or limits.max_latency_us is not None
    other = _WIDER * own if isinstance(own, int) and not is_limited else _NARROW_FANOUT
    return list(dict.fromkeys([other, own]))


def _round_sizes(n_points: int, n_settings: int) -> list[int]:
    """Return the numbers of training points of the early rounds, ascending."""
    if n_settings <= _MIN_SETTINGS:
        return []
    sizes = [n_points // _FACTOR**power for power in (2, 1)]
    return [size for size in sizes if size >= _MIN_POINTS]


def _named(settings: list[Setting], name: str) -> Setting:
    return next(setting for setting in settings if setting.name == name)


@dataclass(eq=False)
class _Chooser:
    """Runs the rounds of a choice; `rounds` lists them."""

    estimator: Any
    limits: Limits
    train: TuningData
    validation: TuningData
    held_out: str
    random_state: int
    n_jobs: int | None
    budget: TimeBudget
    advance: Callable[[int], object] | None
    executor: Executor

    def __post_init__(self) -> None:
        self.ks = self.limits.ks
        self.rounds: list[Round] = []
        self.own: str | None = None  # the estimator's own setting, if it is tried
        self._done = 0

    def count_done(self, count: int) -> None:
        """Report the progress of `count` more units of work."""
        self._done += count
        if self.advance is not None:
            self.advance(self._done)

    def early_round(self, settings: list[Setting], n_points: int, n_kept: int) -> list[Setting]:
        """Try settings on `n_points` random points and return the `n_kept` most promising ones."""
        rows = np.random.default_rng(self.random_state).permutation(self.train.n_points)[:n_points]
        sample = self.train.take(np.sort(rows))
        with open_folder(None, {}, self.executor.folder) as folder:
            result = self._run(settings, sample, folder, _EARLY_REPEATS, _EARLY_TIMED_POINTS, details=False)
        return [_named(settings, name) for name in self.limits.judge(result, self.own).promising(n_kept)]

    def last_round(self, settings: list[Setting], repeats: int, path: str | os.PathLike[str] | None) -> SweepResult:
        """Try settings on all training points."""
        identity = identity_of(self.estimator, self.train, self.validation, self.ks, self.random_state)
        with open_folder(path, identity, self.executor.folder) as folder:
            return self._run(settings, self.train, folder, repeats, TIMED_POINTS, details=True)

    def _run(
        self,
        settings: list[Setting],
        train: TuningData,
        folder: SweepFolder,
        repeats: int,
        timed_points: int,
        details: bool,
    ) -> SweepResult:
        inputs = SharedInputs(self.estimator, train, self.n_jobs)
        job = SweepJob(
            inputs,
            self.validation,
            self.ks,
            folder,
            self.random_state,
            self.n_jobs,
            held_out=self.held_out,
            details=details,
            budget=self.budget,
            executor=self.executor,
        )
        before, advance = self._done, self.advance
        result = job.run(
            settings, repeats, timed_points, None if advance is None else lambda done: advance(before + done)
        )
        self._done = before + len(settings) + repeats
        self.rounds.append(Round(len(result.table), train.n_points))
        return result
