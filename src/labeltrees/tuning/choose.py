"""choose: the most precise model, or the fastest one within a loss of precision, within limits of latency and time.

`changes.py` lists the changes to try. `search.py` tries each change alone on growing samples, then combinations, then
trees. To add a parameter, add its values to `make_changes` and its name to `TUNED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from labeltrees._progress import watch
from labeltrees._settings import refusing
from labeltrees._validation import check_choice, check_integer, check_n_jobs, check_number, refuse
from labeltrees.data import TfidfVectorizer
from labeltrees.errors import InputError
from labeltrees.models.common.given import FitArguments
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.tuning.baseline_table import MAX_POINTS, BaselineTable, measure_baselines
from labeltrees.tuning.budget import TimeBudget
from labeltrees.tuning.candidates import (
    AS_GIVEN,
    FEATURES,
    STEM,
    TRADEOFFS,
    check_estimator,
    configured,
    features_of,
    listed,
    make_grid,
    other_columns,
    setting_name,
    words_of,
)
from labeltrees.tuning.changes import WIDER, make_changes
from labeltrees.tuning.data import SHARE, TuningData, as_tuning_data, check_pair, reads_texts, split_data
from labeltrees.tuning.explain import explain_choice, table_of_steps
from labeltrees.tuning.limits import Limits
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.rules import Rules
from labeltrees.tuning.search import Search, TreeRounds
from labeltrees.tuning.study import Study, Trial, open_place
from labeltrees.tuning.sweep import GONE, make_result
from labeltrees.tuning.trial import TrialInputs, can_make_features, with_features

TUNED = (FEATURES, STEM, "loss", "C", "tradeoff", "fanout", "evidence", "n_trees", "trend")
_GROUPS = {"all": TUNED, "tree": ("tradeoff", "fanout")}
_NARROW_FANOUT = 16  # tried besides the estimator's own fanout if there is a limit: a fast one
_MIN_BASELINE_POINTS = 200
_BASELINE_SPEED = 300_000  # comparisons of baselines per second of a time budget: a few percent of it


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, and why.

    Attributes
    ----------
    model : fitted model
        Trained on all data.
    result : SweepResult
        The settings of the last stage, all trained on the same points; `result.chosen` is the name of the chosen one.
    explanation : str
        Three sentences: what was tried, what was chosen and what it gains over the estimator as given and the best
        baseline, and what it costs. A fourth one warns if something went wrong.
    steps : list of dict
        The table of the explanation: the changes that were added one by one, with the gain of each on the validation
        points and its one-sided 95 % bounds, whether it stays, the metric, the time per call and the training time.
    parameters : dict
        The chosen values of the parameters that were searched over.
    trials : list of dict
        The measurements of all candidates of all stages, on samples (`n_points`) and on all points.
    record : dict
        The measurements of the chosen candidate, before the final training.
    """

    model: Any
    result: SweepResult
    explanation: str
    parameters: dict[str, Any]
    trials: list[dict[str, Any]]
    record: dict[str, Any]
    steps: list[dict[str, Any]]

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({type(self.model).__name__}({parameters}), out of {self.result!r})"


GONE_VALUES = {f"{name}s": f'give tune={{"{name}": [...]}}' for name in ("tradeoff", "fanout")}
_GONE = (
    GONE
    | GONE_VALUES
    | {
        "folder": "give client=LocalRunner(FolderResults(folder)) or DaskRunner(client, folder) of labeltrees.tasks",
        "early_rounds": "leave it out, samples come first where there are enough points",
    }
)


@refusing(_GONE)
def choose(
    train: Any,
    *,
    max_precision_loss: float | None = None,
    max_latency_us: float | None = None,
    metric: str = "p1",
    k: int = 5,
    time_budget: float | None = None,
    estimator: Any = None,
    validation: Any = SHARE,
    tune: Any = "all",
    client: Any = None,
    rules: Any = None,
) -> Choice:
    """Return the most precise model, or the fastest within a loss of precision, or the most precise within a latency.

    Four parameters matter most. `max_precision_loss` asks for the fastest model within a loss of precision.
    `max_latency_us` asks for the most precise model within a latency. `time_budget` limits the time of the whole
    search. `tune` says which parameters to search over: fewer are faster.

    Changes of the estimator are tried alone on growing samples of the points: kinds of features and stems for data with
    texts, label texts for data that has them, the trend for data with times, loss and C, the number of trees, evidence,
    a wider tree, and one-vs-all for fewer than 10,000 points. Then combinations of those that may gain are tried; one
    replaces the best so far if it gains more than one standard error. With a limit, tradeoffs and fanouts are compared
    last. Without a limit on the loss, another tree replaces the estimator's own only if it gains
    more than the best of as many equal trees would gain by luck, and more than one standard error. Simple baselines
    (`lt.baselines`) are measured on at most 5,000 of the validation points, and the explanation says how far the choice
    is above the best of them. Ctrl-C ends the search; the best model so far is then trained and returned.

    Parameters
    ----------
    train : Dataset, or pair (X, Y)
        The data. The validation points are held out from it, unless `validation` is separate data; the final model is
        trained on all of it.
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
    time_budget : float, optional
        Seconds for the search, timing, baselines and the final training. Trials that would not leave enough time for
        the final training are skipped, so the choice depends on the speed of the machine. Without a budget, the plan is
        fixed.
    estimator : LabelTreeClassifier or another model with a tradeoff, optional
        Provides the parameters that are not searched over. As in `sweep`, its `n_jobs`, `verbose` and `random_state`
        also hold for the search.
    validation : float, or Dataset, or pair (X, Y)
        The share of `train` to hold out for measuring (at most 100,000 points), or separate data.
    tune : "all", "tree", list of names, or dict
        The parameters to search over. "all" is ``["features", "stem", "loss", "C", "tradeoff", "fanout", "evidence",
        "n_trees", "trend"]``, as far as the data has texts or times and the estimator has the parameters; "tree" is
        ``["tradeoff", "fanout"]``. The estimator provides the others. A dict has the values to try, None for the
        usual ones: ``{"tradeoff": [0, 1], "C": None}``, or ``{"all": None, "tradeoff": "parabel"}``. The usual fanouts
        are the estimator's own and another one: with a limit 16, which is faster; without a limit twice the own, which
        is more precise on some data. All tradeoffs are compared with all fanouts if there is a limit, if values are
        given, or if nothing else is tuned; otherwise a wider tree and tradeoff 0 are changes like the others.
    client : distributed.Client, or runner of `labeltrees.tasks`, optional
        Train candidates as tasks on a Dask cluster, as in `sweep`. Metrics and the rule of choice are the same as
        without it. The final training runs in this process. A runner has a folder, where timed trials on all
        training points are kept, so that an interrupted choice continues with them: ``DaskRunner(client, folder)``, or
        in this process ``LocalRunner(FolderResults(folder))``.
    rules : dict, optional
        Measure what you serve: rules of `predict_topk`, for the metrics, the times and the baselines.
        ``{"exclude_seen": True}`` leaves out the items of each point; `candidates`, `exclude`, `label_weight`,
        `limits`, `diversity` and `beam` are as in `predict_topk`, with one list of labels for all points.

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
    >>> choice = lt.choose((X, Y), max_precision_loss=0.5, tune={"tradeoff": [0, 1]})
    >>> choice.model.predict_topk(X[:1], k=2)[0].shape
    (1, 2)
    """
    limits = check_limits(max_precision_loss, max_latency_us, metric, k, time_budget)
    return run_choice(train, limits, estimator, validation, tune, time_budget, client, rules)


def check_limits(
    max_precision_loss: float | None, max_latency_us: float | None, metric: str, k: int, time_budget: float | None
) -> Limits:
    """Return the limits of `choose`; raise `InputError` for invalid ones, also for the time budget."""
    limits = Limits(max_precision_loss, max_latency_us, metric, check_integer("k", k, 1))
    limits.validate()
    if time_budget is not None:
        check_number("time_budget", time_budget, 0, low_open=True)
    return limits


def run_choice(
    train: Any,
    limits: Limits,
    estimator: Any = None,
    validation: Any = SHARE,
    tune: Any = "all",
    time_budget: float | None = None,
    client: Any = None,
    rules: Any = None,
    *,
    early_rounds: bool = True,
) -> Choice:
    """Return what `choose` returns; without `early_rounds`, all candidates are tried on all points."""
    budget = TimeBudget(time_budget)
    estimator = check_estimator(LabelTreeClassifier() if estimator is None else estimator)
    own = estimator.get_params(deep=False)
    seed = seed_of(own.get("random_state", 0))
    check_n_jobs(own.get("n_jobs"))
    data = as_tuning_data(train, "train", estimator)
    fitted_on, measured_on, held_out = split_data(data, validation, estimator, seed)
    check_pair(fitted_on, measured_on)
    has_texts = can_make_features(data) and measured_on.texts is not None
    tuned = check_tuned(tune, estimator, has_texts=has_texts, has_times=data.times is not None)
    trees = make_trees(estimator, limits, tuned)
    changes = make_changes(estimator, limits, tuned, fitted_on, with_trees=trees is None)
    budget.n_final = data.n_points
    budget.costs = {change.name: change.cost for change in changes}
    served = Rules.of(rules, estimator, data)
    inputs = TrialInputs(estimator, fitted_on, measured_on, limits.ks, seed, served)
    with open_place(client) as place, show_search(budget, len(changes), bool(own.get("verbose"))) as shown:
        study = Study(inputs, place, budget, shown.count_done)
        base = {} if trees is None or trees.own is not None else next(iter(trees.candidates.values()))
        search = Search(study, limits, changes, base, samples=early_rounds, announce=shown.announce)
        was_interrupted = run_search(search, trees)
        best = search.best
        assert best is not None
        n_measured = _max_baseline_points(budget, fitted_on)
        baselines = measure_baselines(fitted_on, measured_on, limits.ks, seed, n_measured, served)
        result = _result(search, baselines, estimator, held_out)
        (data,) = with_features(*features_of(best.parameters), inputs.n_jobs, data)
        model = fit_on_all(configured(estimator, best.parameters), data)
        shown.finish()
    result.explanation = explain_choice(search, baselines, held_out, data.n_points, was_interrupted)
    n_own, n_all, sample = best.n_points, fitted_on.n_points, ""
    if n_own < n_all:
        sample = f"It was trained on {n_own:,} of the {n_all:,} points for this, the baseline on all of them."
    result.comparison = baselines.compare(best.hits, limits.metric, "The chosen model", sample)
    chosen = {**dict(zip((FEATURES, STEM), features_of(best.parameters), strict=True)), **model.get_params(deep=False)}
    parameters = {name: chosen[name] for name in tuned}
    record = {**result.record(str(result.chosen)), **best.record}
    return Choice(model, result, result.explanation, parameters, search.records(), record, table_of_steps(search))


def run_search(search: Search, trees: TreeRounds | None) -> bool:
    """Run the stages; return whether Ctrl-C ended them."""
    try:
        search.screen()
        search.combine(with_trees=trees is not None)
        if trees is not None or search.best is None:
            search.compare_trees(trees or TreeRounds({AS_GIVEN: {}}, AS_GIVEN))
    except KeyboardInterrupt:
        if search.best is None:
            raise
        search.time_best()
        return True
    return False


def _max_baseline_points(budget: TimeBudget, train: TuningData) -> int:
    """Return the number of validation points for measuring baselines: fewer if the time budget is small."""
    if budget.seconds is None:
        return MAX_POINTS
    return int(min(MAX_POINTS, max(_MIN_BASELINE_POINTS, _BASELINE_SPEED * budget.seconds / max(train.n_points, 1))))


def _result(search: Search, baselines: BaselineTable, estimator: Any, held_out: str) -> SweepResult:
    """Return the settings of the last stage as a result."""
    best, trials = search.best, dict[str, Trial]()
    assert best is not None
    for trial in search.finalists.values():
        trials.setdefault(setting_name(estimator, trial.parameters), trial)
    varied = dict.fromkeys(name for trial in trials.values() for name in other_columns(estimator, trial.parameters))
    result = make_result(search.study, estimator, trials, baselines, held_out, list(varied))
    result.chosen = setting_name(estimator, best.parameters)
    result.facts |= {"metric": search.limits.metric, "compared_trees": search.trees is not None}
    result.facts["data"]["n_points"] = best.n_points
    result.facts["compared"] = baselines.measure(best.hits, search.study.inputs.validation, search.limits.ks)
    return result


class ShownSearch:
    """The progress of a search: the share of the time budget, if there is one, otherwise of the expected trials.

    Parameters
    ----------
    budget : TimeBudget
    n_trials : int
        The expected number of trials.
    """

    TOTAL = 1000

    def __init__(self, budget: TimeBudget, n_trials: int) -> None:
        self._budget, self._n_trials, self._done = budget, max(n_trials, 1), 0
        self._words = ""
        self.advance: Callable[[int], object] | None = None

    def announce(self, words: str) -> None:
        """Show the best so far."""
        self._words = words
        self.count_done(0)

    def count_done(self, units: int) -> None:
        """Count finished trials."""
        self._done += units
        seconds = self._budget.seconds
        share = self._done / (self._done + self._n_trials) if seconds is None else self._budget.elapsed / seconds
        if self.advance is not None:
            self.advance(int(self.TOTAL * min(share, 0.999)))

    def finish(self) -> None:
        """Show that everything is done."""
        if self.advance is not None:
            self.advance(self.TOTAL)

    def detail(self, _done: int) -> str:
        """Return the text beside the bar."""
        return self._words


@contextmanager
def show_search(budget: TimeBudget, n_changes: int, progress: bool) -> Iterator[ShownSearch]:
    """Yield the progress of a search."""
    shown = ShownSearch(budget, 3 * n_changes)
    with watch("Choosing", ShownSearch.TOTAL, progress, shown.detail) as advance:
        shown.advance = advance
        yield shown


def check_tuned(tune: Any, estimator: Any, *, has_texts: bool = False, has_times: bool = False) -> dict[str, Any]:
    """Return the parameters to search over, with the values to try, None for the usual ones.

    Parameters that the estimator does not have are left out of "all". `has_texts` says whether other features can be
    made from the texts of the data, `has_times` whether it has times.

    Examples
    --------
    >>> import labeltrees as lt
    >>> check_tuned("tree", lt.LabelTreeClassifier())
    {'tradeoff': None, 'fanout': None}
    """
    known = set(estimator.get_params(deep=False)) | ({FEATURES, STEM} if has_texts else set())
    if not has_times:
        known.discard("trend")
    if isinstance(tune, str) and tune in _GROUPS:
        tune = [tune]
    if isinstance(tune, str) or not np.iterable(tune):
        refuse("tune", f"'all', 'tree', or a list or dict of {', '.join(TUNED)}", tune)
    found: dict[str, Any] = {}
    for name in tune:
        check_choice("tune", name, (*_GROUPS, *TUNED))
        if name in _GROUPS:
            usable = [own for own in _GROUPS[name] if own in known]
            found |= dict.fromkeys(own for own in usable if own != "evidence" or not reads_texts(estimator))
            continue
        if name in (FEATURES, STEM) and not has_texts:
            message = f"{name} can only be chosen for a Dataset with texts that a labeltrees.TfidfVectorizer has read"
            raise InputError(message)
        if name == "trend" and not has_times:
            message = "trend can only be chosen for a Dataset with times"
            raise InputError(message)
        if name not in known:
            refuse("tune", f"parameters of a {type(estimator).__name__}", name)
        values = tune[name] if isinstance(tune, Mapping) else None
        found[name] = values if values is None or isinstance(values, str) else listed(f"tune[{name!r}]", values)
    return found


def make_trees(estimator: Any, limits: Limits, tuned: Mapping[str, Any]) -> TreeRounds | None:
    """Return the trees to compare after all other changes; None if they are changes like the others."""
    own = estimator.get_params(deep=False)
    named = [name for name in ("tradeoff", "fanout") if name in tuned]
    has_values = any(tuned[name] is not None for name in named)
    if not named or not (limits.is_limited or has_values or len(named) == len(tuned)):
        return None
    tradeoffs: Any = [own.get("tradeoff")]
    fanouts = None
    if "tradeoff" in tuned:
        tradeoffs = TRADEOFFS if tuned["tradeoff"] is None else tuned["tradeoff"]
    if "fanout" in tuned:
        fanouts = _usual_fanouts(own["fanout"], limits) if tuned["fanout"] is None else tuned["fanout"]
    candidates = {words_of(found): found for found in make_grid(estimator, tradeoffs, fanouts).values()}
    own_name = next(
        (name for name, found in candidates.items() if all(own[key] == value for key, value in found.items())), None
    )
    return TreeRounds(candidates, own_name)


def _usual_fanouts(own: Any, limits: Limits) -> list[Any]:
    other = WIDER * own if isinstance(own, int) and not limits.is_limited else _NARROW_FANOUT
    return list(dict.fromkeys([other, own]))


def fit_on_all(estimator: Any, data: TuningData) -> Any:
    """Return a copy of the estimator, fitted on all of the data with its names, weights and encoder."""
    model = clone(estimator)
    parameters = model.get_params(deep=False)
    model.set_params(verbose=0)
    keeps_vectorizer = "vectorizer" in parameters and isinstance(data.vectorizer, TfidfVectorizer)
    if not hasattr(model, "KIND"):  # not one of our families
        return model.fit(data.points, data.Y, **data.fit_arguments(model))
    arguments = FitArguments(data.points, data.Y, data.sample_weight, data.label_names)
    if not reads_texts(model):
        arguments = data.arguments()._replace(texts=data.texts)
        if not keeps_vectorizer:
            arguments = arguments._replace(feature_names=data.feature_names)
    model.fit(arguments)
    model.set_params(verbose=parameters["verbose"])
    if keeps_vectorizer and data.label_texts is None:  # with texts of labels, `fit` has set it
        model.vectorizer_ = data.vectorizer  # the model takes texts, as if it had been fitted on them
    return model
