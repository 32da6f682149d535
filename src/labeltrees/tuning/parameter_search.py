"""The search over parameters besides the tree's: features, trend, loss and C before it, evidence and trees after it.

Trying all combinations would take hundreds of trainings. Instead, one group of parameters is varied at a time, with the
best values so far for the others, and each group starts on samples: a ninth of the points, then a third, then all, with
the most promising variants only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labeltrees._validation import check_choice, refuse
from labeltrees.errors import InputError, LabelTreesError
from labeltrees.tuning.feature_search import AS_GIVEN, TextData, try_features, with_features
from labeltrees.tuning.feature_search import n_trials as n_feature_trials
from labeltrees.tuning.limits import Limits, Verdict
from labeltrees.tuning.quality import Hits, metric_title
from labeltrees.tuning.trials import TrialRunner, Trials, Variant
from labeltrees.tuning.tuning_data import TuningData

TUNED = ("features", "loss", "C", "tradeoff", "fanout", "evidence", "n_trees", "trend")
TREE = ("tradeoff", "fanout")
# The values of C by loss, besides the estimator's own: higher ones take long, and are worse on noisy data.
COSTS = {"squared_hinge": (0.1, 0.3, 1.0, 3.0), "logistic": (0.3, 1.0, 3.0, 10.0)}
N_TREES = 3
HALF_LIFE = 14.0  # of the trend, in days
_FACTOR, _MIN_POINTS = 3, 2000  # samples are a ninth and a third of the points, and have at least this many
_KEPT = (5, 3)  # variants to continue with after each round on a sample
_REPEATS, _TIMED_POINTS = 2, 200
# The shares of a time budget after which the steps end: features, loss and C; the tree; evidence and number of trees.
BEFORE, TREE_STEP, AFTER = 0.45, 0.65, 1.0


def check_tuned(tune: Any, estimator: Any, *, has_texts: bool = False, has_times: bool = False) -> tuple[str, ...]:
    """Return the names of the parameters to search over; those that the estimator does not have are left out of "all".

    `has_texts` says whether other features can be made from the texts of the data, `has_times` whether it has times.

    Examples
    --------
    >>> import labeltrees as lt
    >>> check_tuned("tree", lt.LabelTreeClassifier())
    ('tradeoff', 'fanout')
    """
    known = set(estimator.get_params(deep=False)) | ({"features"} if has_texts else set())
    if not has_times:
        known.discard("trend")
    if isinstance(tune, str) and tune in ("all", "tree"):
        wanted: tuple[str, ...] = TUNED if tune == "all" else TREE
        return tuple(name for name in wanted if name in known and not (name == "evidence" and _reads_texts(estimator)))
    if isinstance(tune, str) or not np.iterable(tune):
        refuse("tune", f"'all', 'tree' or a list of {', '.join(TUNED)}", tune)
    names = tuple(dict.fromkeys(check_choice("tune", name, TUNED) for name in tune))
    for name in names:
        if name == "features" and not has_texts:
            message = "features can only be chosen for a Dataset with texts that a labeltrees.TfidfVectorizer has read"
            raise InputError(message)
        if name == "trend" and not has_times:
            message = "trend can only be chosen for a Dataset with times"
            raise InputError(message)
        if name not in known:
            refuse("tune", f"parameters of a {type(estimator).__name__}", name)
    return names


def _reads_texts(estimator: Any) -> bool:
    return bool(getattr(estimator, "READS_TEXTS", False))


@dataclass
class ParameterSearch:
    """Varies groups of parameters. `before` and `after` say what was found, `trials` has all measurements."""

    runner: TrialRunner
    limits: Limits
    train: TuningData
    tuned: tuple[str, ...]
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)

    def n_trials(self) -> int:
        """Return the number of trials of a plan without a time budget."""
        n_features = n_feature_trials(self.train) if "features" in self.tuned else 0
        n_first = len(self._loss_and_cost())
        rounds = len(self._sample_sizes(n_first))
        first = n_first + sum(_KEPT[-rounds:] if rounds else ()) if n_first > 1 else 0
        n_after = len(self._after_the_tree())
        return n_features + len(self._trends()) + first + n_after

    def choose_features(self, data: TextData) -> tuple[TextData, str]:
        """Return the data with the best features, and their name."""
        trials = try_features(self.runner, data, _REPEATS, _TIMED_POINTS)
        self.trials += trials.records()
        chosen, words = self._choose(trials, "kinds of features", f"features {AS_GIVEN}")
        self.before.append(words)
        name = str(dict(trials.variants[chosen].parameters)["features"])
        if name != AS_GIVEN:
            train, validation = with_features(name, self.runner.n_jobs, data.train, data.validation)
            (everything,) = with_features(name, self.runner.n_jobs, data.everything)
            data = TextData(train, validation, everything)
        self.train, self.runner.validation = data.train, data.validation
        return data, name

    def before_the_tree(self) -> Any:
        """Return the estimator with the best trend, loss and C.

        The trend comes first: it gains most where labels come and go, and the best loss may be another with it.
        """
        trends = self._trends()
        if trends:
            self._adopt(self._run(trends, self.train), "trends", self.before, trends[0].name)
        variants = self._loss_and_cost()
        if len(variants) > 1:
            own, n_others = variants[0].name, len(variants) - 1
            sizes = self._sample_sizes(len(variants))
            kept = _KEPT[len(_KEPT) - len(sizes) :]
            for size, n_kept in zip(sizes, kept, strict=True):
                rows = np.random.default_rng(self.runner.random_state).permutation(self.train.n_points)[:size]
                trials = self._run(variants, self.train.take(np.sort(rows)))
                variants = [trials.variants[name] for name in self.limits.judge(trials, own).promising(n_kept)]
            self._adopt(self._run(variants, self.train), "pairs of loss and C", self.before, own, n_others)
        return self.runner.estimator

    def after_the_tree(self, estimator: Any, record: dict[str, Any], hits: Hits) -> tuple[Any, Trials, str]:
        """Return the estimator with evidence and more trees, if these are chosen, the trials and the chosen one.

        `record` and `hits` are the measurements of the estimator as it is.
        """
        self.runner.estimator = estimator
        own = Variant.of(**{name: value for name, value in self._own_after().items() if value is not None})
        variants = self._after_the_tree()
        trials = self._run(variants, self.train, all_optional=True) if variants else Trials(self.train.n_points)
        trials.variants = {own.name: own, **trials.variants}
        trials._records = {own.name: record, **trials._records}
        trials._hits = {own.name: hits, **trials._hits}
        if len(trials.variants) == 1:
            return estimator, trials, own.name
        chosen = self._adopt(trials, "combinations of evidence and number of trees", self.after, own.name)
        return self.runner.estimator, trials, chosen

    def _trends(self) -> list[Variant]:
        if "trend" not in self.tuned or self.runner.estimator.get_params(deep=False)["trend"] is not None:
            return []
        return [Variant.of(trend=None), Variant.of(trend=HALF_LIFE)]

    def _loss_and_cost(self) -> list[Variant]:
        own = self.runner.estimator.get_params(deep=False)
        losses = _own_first(own.get("loss"), tuple(COSTS)) if "loss" in self.tuned else [own.get("loss")]
        return [
            Variant.of(loss=loss, C=cost)
            for loss in losses
            for cost in (_own_first(own.get("C"), COSTS.get(loss, ())) if "C" in self.tuned else [own.get("C")])
        ]

    def _after_the_tree(self) -> list[Variant]:
        own = self._own_after()
        evidence, n_trees = [own["evidence"]], [own["n_trees"]]
        if "evidence" in self.tuned and own["evidence"] is None:
            evidence.append("auto")
        if "n_trees" in self.tuned and own["n_trees"] < N_TREES:
            n_trees.append(N_TREES)
        pairs = [(kind, count) for count in n_trees for kind in evidence]
        return [Variant.of(evidence=kind, n_trees=count) for kind, count in pairs[1:]]  # the first is known

    def _own_after(self) -> dict[str, Any]:
        own = self.runner.estimator.get_params(deep=False)
        return {name: own.get(name) for name in ("evidence", "n_trees")}

    def _sample_sizes(self, n_variants: int) -> list[int]:
        if n_variants <= _KEPT[-1]:
            return []
        sizes = [self.train.n_points // _FACTOR**power for power in (2, 1)]
        return [size for size in sizes if size >= _MIN_POINTS]

    def _run(self, variants: list[Variant], train: TuningData, *, all_optional: bool = False) -> Trials:
        trials = self.runner.run(variants, train, _REPEATS, _TIMED_POINTS, all_optional=all_optional)
        self.trials += trials.records()
        return trials

    def _adopt(self, trials: Trials, what: str, sentences: list[str], own: str, n_tried: int | None = None) -> str:
        """Give the estimator the parameters of the best variant within the limits, and return its name."""
        chosen, words = self._choose(trials, what, own, n_tried)
        self.runner.estimator.set_params(**dict(trials.variants[chosen].parameters))
        self.runner.budget.adopt(chosen)
        sentences.append(words)
        return chosen

    def _choose(self, trials: Trials, what: str, own: str, n_tried: int | None = None) -> tuple[str, str]:
        verdict = self.limits.judge(trials, own, n_tried)
        try:
            chosen = verdict.choose()
        except LabelTreesError:  # the choice of the tree may still meet the limits, or says that nothing does
            chosen = verdict.best
        return chosen, self._words(trials, verdict, chosen, what)

    def _words(self, trials: Trials, verdict: Verdict, chosen: str, what: str) -> str:
        metric = metric_title(self.limits.metric)
        others = [name for name in trials.variants if name != chosen]
        best_other = max(others, key=verdict.metric, default=None)
        against = "" if best_other is None else f" (next: {best_other}, {100 * verdict.metric(best_other):.2f} %)"
        if verdict.keeps_own(chosen):
            against += ", because no other gains more than luck explains"
        return (
            f"{len(trials.variants)} {what} were tried on {trials.n_points:,} points; chosen: {chosen}, with {metric} "
            f"{100 * verdict.metric(chosen):.2f} %{against}."
        )


def _own_first(own: Any, values: tuple[Any, ...]) -> list[Any]:
    """Return the estimator's own value and the others; the first is tried even if there is no time for more."""
    return list(dict.fromkeys([own, *values]))
