"""choose: the most precise model, or the fastest one within a loss of precision, within limits of latency and time.

A choice is a list of stages, each of which varies a few parameters, with the best values so far for the others:
features, trend, loss and C, the tree, evidence and the number of trees. Trying all combinations would take hundreds of
trainings. A stage with many candidates starts on samples: all of them on a ninth of the points, the most promising on
a third, and the most promising of these on all points.

To add a parameter, add its values to a stage in `make_stages`, or a new stage, and its name to `TUNED`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from labeltrees._progress import watch
from labeltrees._settings import refusing
from labeltrees._validation import check_choice, check_integer, check_n_jobs, check_number, refuse
from labeltrees.data import TfidfVectorizer
from labeltrees.errors import InputError, LabelTreesError
from labeltrees.models.common.given import FitArguments
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.settings import Solver, solver_of
from labeltrees.tuning.baseline_table import measure_baselines
from labeltrees.tuning.candidates import (
    FEATURES,
    TRADEOFFS,
    Parameters,
    configured,
    listed,
    make_grid,
    plain,
    words_of,
)
from labeltrees.tuning.data import SHARE, TuningData, as_tuning_data, check_pair, reads_texts, split_data
from labeltrees.tuning.explain import Round, explain_budget, explain_final, explain_stage, explain_tree
from labeltrees.tuning.limits import Limits, Verdict
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.study import Study, TimeBudget, Trial, open_place
from labeltrees.tuning.sweep import GONE, counter, make_result
from labeltrees.tuning.trial import (
    AS_GIVEN,
    CAREFUL,
    QUICK,
    USUAL,
    Timing,
    TrialInputs,
    can_make_features,
    kinds_of_features,
    with_features,
)

TUNED = (FEATURES, "loss", "C", "tradeoff", "fanout", "evidence", "n_trees", "trend")
_GROUPS = {"all": TUNED, "tree": ("tradeoff", "fanout")}
# The values of C by loss, besides the estimator's own: higher ones take long, and are worse on noisy data.
_COSTS = {"squared_hinge": (0.1, 0.3, 1.0, 3.0), "logistic": (0.3, 1.0, 3.0, 10.0)}
_N_TREES = 3
_HALF_LIFE = 14.0  # of the trend, in days
_NARROW_FANOUT, _WIDER = 16, 2  # tried besides the estimator's own: a fast one, or one that is wider by this factor
_MAX_FEATURE_POINTS = 20_000  # of a trial of features, which matter more than the number of points
# Early rounds train on a ninth and on a third of the points, if these samples have at least _MIN_POINTS.
_FACTOR, _MIN_POINTS = 3, 2000
_KEPT, _MIN_KEPT = (5, 3), 4  # candidates to continue with: pairs of loss and C after each round; trees, at least
# The shares of a time budget after which the stages end: before the tree, the tree, and after it.
_BEFORE, _TREE_UNTIL, _AFTER = 0.45, 0.65, 1.0


@dataclass(frozen=True)
class Choice:
    """The model that was chosen, and why.

    Attributes
    ----------
    model : fitted model
        Trained on all data.
    result : SweepResult
        The last round of trees; `result.chosen` is the name of the chosen setting.
    explanation : str
        What was tried, what was chosen and why, and how far it is above the best baseline, in one paragraph.
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
) -> Choice:
    """Return the most precise model, or the fastest within a loss of precision, or the most precise within a latency.

    The search has these stages: kinds of features, for data with texts; the trend, for data with times; loss and C;
    tradeoff and fanout of the tree; evidence and the number of trees. Each stage starts from the best of the one
    before, on samples where there are enough points. Simple baselines (`lt.baselines`) are measured on at most 5,000 of
    the validation points, and the explanation says how far the choice is above the best of them.

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
    time_budget : float, optional
        Seconds for the search and the final training. Trials that would not leave enough time for the final training
        are skipped, so the choice depends on the speed of the machine. Timing and baselines are not cut short. Without
        a budget, the plan is fixed.
    estimator : LabelTreeClassifier or another model with a tradeoff, optional
        Provides the parameters that are not searched over. As in `sweep`, its `n_jobs`, `verbose` and `random_state`
        also hold for the search.
    validation : float, or Dataset, or pair (X, Y)
        The share of `train` to hold out for measuring (at most 100,000 points), or separate data.
    tune : "all", "tree", list of names, or dict
        The parameters to search over. "all" is ``["features", "loss", "C", "tradeoff", "fanout", "evidence",
        "n_trees", "trend"]``, as far as the data has texts or times and the estimator has the parameters; "tree" is
        ``["tradeoff", "fanout"]``. The others are those of the estimator. A dict has the values to try, None for the
        usual ones: ``{"tradeoff": [0, 1], "C": None}``, or ``{"all": None, "tradeoff": "parabel"}``. The usual fanouts
        are the estimator's own, and 16 if there is a limit, which is faster; without a limit twice the own, which is
        more precise on some data.
    client : distributed.Client, or runner of `labeltrees.tasks`, optional
        Train candidates as tasks on a Dask cluster, as in `sweep`. Metrics and the rule of choice are the same as
        without it. The final training runs in this process. A runner has a folder, where the last round of trees is
        kept, so that an interrupted choice continues with it: ``DaskRunner(client, folder)``, or in this process
        ``LocalRunner(FolderResults(folder))``.

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
    limits = Limits(max_precision_loss, max_latency_us, metric, check_integer("k", k, 1))
    limits.validate()
    if time_budget is not None:
        check_number("time_budget", time_budget, 0, low_open=True)
    return run_choice(train, limits, estimator, validation, tune, time_budget, client)


def run_choice(
    train: Any,
    limits: Limits,
    estimator: Any = None,
    validation: Any = SHARE,
    tune: Any = "all",
    time_budget: float | None = None,
    client: Any = None,
    *,
    early_rounds: bool = True,
) -> Choice:
    """Return what `choose` returns; without `early_rounds`, all candidates are tried on all points."""
    estimator = LabelTreeClassifier() if estimator is None else estimator
    own = estimator.get_params(deep=False)
    seed = seed_of(own.get("random_state", 0))
    check_n_jobs(own.get("n_jobs"))
    data = as_tuning_data(train, "train", estimator)
    fitted_on, measured_on, held_out = split_data(data, validation, estimator, seed)
    check_pair(fitted_on, measured_on)
    has_texts = can_make_features(data) and measured_on.texts is not None
    tuned = check_tuned(tune, estimator, has_texts=has_texts, has_times=data.times is not None)
    stages = make_stages(estimator, limits, tuned, fitted_on, early_rounds=early_rounds)
    chosen: Parameters = {}
    features, sentences = AS_GIVEN, []
    trials: list[dict[str, Any]] = []
    with (
        open_place(client) as place,
        watch("Choosing", sum(stage.n_units for stage in stages) + 1, bool(own.get("verbose"))) as advance,
    ):
        budget = TimeBudget(time_budget, data.n_points)
        inputs = TrialInputs(estimator, fitted_on, measured_on, limits.ks, seed)
        study = Study(inputs, place, budget, counter(advance))
        for stage in stages:
            common = configured(estimator, chosen)
            found = run_stage(study, stage, chosen, limits)
            trials += found.tried
            chosen |= stage.candidates[found.chosen]
            budget.adopt(words_of(found.trial.parameters))
            if FEATURES in chosen:
                features = str(chosen.pop(FEATURES))
                study = study.with_features(features)
                (data,) = with_features(features, inputs.n_jobs, data)
            if stage.is_tree:
                baselines = measure_baselines(study.inputs.train, study.inputs.validation, limits.ks, seed)
                result = make_result(study, common, found.trials, baselines, held_out)
                result.chosen = found.chosen
                sentences += explain_tree(found.verdict, found.rounds, measured_on.n_points, held_out)
            else:
                sentences.append(explain_stage(found.verdict, found.chosen, stage.what, found.trial.n_points))
        result.comparison = baselines.compare(found.trial.hits, limits.metric, "The chosen model")
        model = fit_on_all(configured(estimator, chosen), data)
        study.count_done(1)
    sentences += [
        *explain_budget(budget),
        result.comparison,
        explain_final(data.n_points, getattr(model, "stats_", {})),
    ]
    result.explanation = " ".join(sentences)
    parameters = {name: features if name == FEATURES else model.get_params(deep=False)[name] for name in tuned}
    record = {**result.record(str(result.chosen)), **found.trial.record}
    return Choice(model, result, result.explanation, parameters, trials, record)


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
    known = set(estimator.get_params(deep=False)) | ({FEATURES} if has_texts else set())
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
        if name == FEATURES and not has_texts:
            message = "features can only be chosen for a Dataset with texts that a labeltrees.TfidfVectorizer has read"
            raise InputError(message)
        if name == "trend" and not has_times:
            message = "trend can only be chosen for a Dataset with times"
            raise InputError(message)
        if name not in known:
            refuse("tune", f"parameters of a {type(estimator).__name__}", name)
        values = tune[name] if isinstance(tune, Mapping) else None
        found[name] = values if values is None or isinstance(values, str) else listed(f"tune[{name!r}]", values)
    return found


# Stages.


@dataclass(frozen=True)
class Stage:
    """Candidates that differ in a few parameters, and how they are compared.

    Parameters
    ----------
    what : str
        The candidates in words, such as "pairs of loss and C".
    candidates : dict of dicts of parameters
        By name.
    own : str or None
        The name of the estimator's own candidate, which another one must clearly beat.
    rounds : list of (int, int)
        Early rounds: the number of points, and how many candidates continue.
    size : int, optional
        Points of the last round; by default all.
    until : float
        The share of the time budget after which the stage ends.
    is_tree : bool
        Whether it is the stage of the tree, whose candidates are in the result and must meet the limits.
    """

    what: str
    candidates: dict[str, Parameters]
    own: str | None
    rounds: Sequence[tuple[int, int]] = ()
    size: int | None = None
    until: float = 1.0
    is_tree: bool = False

    @classmethod
    def of(cls, what: str, candidates: Sequence[Parameters], **options: Any) -> Stage:
        """Return a stage of candidates that are named by their parameters; the first is the estimator's own."""
        named = {words_of(parameters): parameters for parameters in candidates}
        return cls(what, named, words_of(candidates[0]), **options)

    @property
    def timings(self) -> tuple[Timing, Timing]:
        """How models of early rounds and of the last round are timed."""
        return (USUAL, CAREFUL) if self.is_tree else (QUICK, QUICK)

    @property
    def n_units(self) -> int:
        """Units of work: one per trial, one per round of timing."""
        early, last = self.timings
        counts = [len(self.candidates), *(n_kept for _, n_kept in self.rounds)]
        return sum(counts) + len(self.rounds) * early.repeats + last.repeats


def make_stages(
    estimator: Any, limits: Limits, tuned: Mapping[str, Any], train: TuningData, *, early_rounds: bool = True
) -> list[Stage]:
    """Return the stages in their order.

    Features come first, because all other trials use them. Then the trend: it gains most where labels come and go, and
    the best loss may be another with it.
    """
    own = {FEATURES: AS_GIVEN, **estimator.get_params(deep=False)}
    sizes = [train.n_points // _FACTOR**2, train.n_points // _FACTOR] if early_rounds else []
    sizes = [size for size in sizes if size >= _MIN_POINTS]

    def values(name: str, usual: Sequence[Any]) -> list[Any]:
        """Return the estimator's own value first: it is tried even if there is no time for more."""
        tried = (tuned[name] or usual) if name in tuned else ()
        return [own[name], *(value for value in tried if value != own[name])]

    stages = []
    if FEATURES in tuned:
        kinds = [{FEATURES: kind} for kind in values(FEATURES, kinds_of_features(train.vectorizer))]
        stages.append(Stage.of("kinds of features", kinds, size=_MAX_FEATURE_POINTS, until=_BEFORE))
    if "trend" in own:
        trends = values("trend", [_HALF_LIFE] if own["trend"] is None else [])
        stages.append(Stage.of("trends", [{"trend": trend} for trend in trends], until=_BEFORE))
    if {"loss", "C"} <= own.keys():
        name = "loss__loss" if isinstance(own["loss"], Solver) else "loss"  # a solver keeps its other settings
        own["loss"] = solver_of(own["loss"]).loss
        losses = values("loss", tuple(_COSTS))
        pairs = [{name: loss, "C": cost} for loss in losses for cost in values("C", _COSTS.get(loss, ()))]
        kept = _KEPT[len(_KEPT) - len(sizes) :] if len(pairs) > _KEPT[-1] else ()
        rounds = list(zip(sizes, kept, strict=False))
        stages.append(Stage.of("pairs of loss and C", pairs, rounds=rounds, until=_BEFORE))
    stages.append(_tree_stage(estimator, limits, tuned, sizes))
    if {"evidence", "n_trees"} <= own.keys():
        evidence = values("evidence", ["auto"] if own["evidence"] is None else [])
        counts = values("n_trees", [_N_TREES] if own["n_trees"] < _N_TREES else [])
        both = [{"evidence": kind, "n_trees": count} for count in counts for kind in evidence]
        stages.append(Stage.of("combinations of evidence and number of trees", both))
    return [stage for stage in stages if stage.is_tree or len(stage.candidates) > 1]


def _tree_stage(estimator: Any, limits: Limits, tuned: Mapping[str, Any], sizes: Sequence[int]) -> Stage:
    own = estimator.get_params(deep=False)
    tradeoffs: Any = [own.get("tradeoff")]
    fanouts = None
    if "tradeoff" in tuned:
        tradeoffs = TRADEOFFS if tuned["tradeoff"] is None else tuned["tradeoff"]
    if "fanout" in tuned:
        fanouts = _usual_fanouts(own["fanout"], limits) if tuned["fanout"] is None else tuned["fanout"]
    candidates = make_grid(estimator, tradeoffs, fanouts)
    name_of_own = next(
        (name for name, found in candidates.items() if all(own[key] == value for key, value in found.items())), None
    )
    rounds, n_kept = [], len(candidates)
    for size in sizes if len(candidates) > _MIN_KEPT else ():
        n_kept = max(_MIN_KEPT, -(-n_kept // _FACTOR))
        rounds.append((size, n_kept))
    return Stage("settings", candidates, name_of_own, rounds, until=_TREE_UNTIL, is_tree=True)


def _usual_fanouts(own: Any, limits: Limits) -> list[Any]:
    is_limited = limits.max_precision_loss is not None or limits.max_latency_us is not None
    other = _WIDER * own if isinstance(own, int) and not is_limited else _NARROW_FANOUT
    return list(dict.fromkeys([other, own]))


class StageResult(NamedTuple):
    """The trials of the last round of a stage, how they compare, the chosen candidate, and what was tried."""

    trials: dict[str, Trial]
    verdict: Verdict
    chosen: str
    rounds: list[Round]
    tried: list[dict[str, Any]]

    @property
    def trial(self) -> Trial:
        """The trial of the chosen candidate."""
        return self.trials[self.chosen]


def run_stage(study: Study, stage: Stage, common: Parameters, limits: Limits) -> StageResult:
    """Compare the candidates of a stage; all have the parameters in `common`, which earlier stages have chosen."""
    study.budget.enter(stage.until)
    candidates = {name: {**common, **own} for name, own in stage.candidates.items()}
    if stage.is_tree and study.budget.seconds is not None and stage.own is not None:  # the time may end before the last
        candidates = {stage.own: candidates[stage.own], **candidates}
    rounds: list[Round] = []
    tried: list[dict[str, Any]] = []

    def run(size: int | None, timing: Timing, *, report: bool) -> dict[str, Trial]:
        trials = study.run(candidates, size, timing=timing, report=report)
        n_points = min(size or study.inputs.train.n_points, study.inputs.train.n_points)
        rounds.append(Round(len(trials), n_points))
        for name, trial in trials.items():
            own = {key: plain(value) for key, value in stage.candidates[name].items()}
            tried.append({"variant": name, "n_points": trial.n_points, **own, **trial.record})
        return trials

    early, last = stage.timings
    for size, n_kept in stage.rounds:
        promising = limits.judge(run(size, early, report=False), stage.own).promising(n_kept)
        candidates = {name: candidates[name] for name in promising}
    trials = run(stage.size, last, report=stage.is_tree)
    verdict = limits.judge(trials, stage.own, len(stage.candidates) - 1)
    try:
        chosen = verdict.choose()
    except LabelTreesError:
        if stage.is_tree:
            raise
        chosen = verdict.best  # the tree may still meet the limits, or its stage says that nothing does
    return StageResult(trials, verdict, chosen, rounds, tried)


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
        arguments = arguments._replace(
            feature_names=None if keeps_vectorizer else data.feature_names,
            encoder=data.encoder,
            times=data.times,
            groups=data.groups,
        )
    model.fit(arguments)
    model.set_params(verbose=parameters["verbose"])
    if keeps_vectorizer:
        model.vectorizer_ = data.vectorizer  # the model takes texts, as if it had been fitted on them
    return model
