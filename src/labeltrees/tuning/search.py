"""The search of a choice: changes of an estimator are tried alone on growing samples, then together, then on trees.

1. `Search.screen`: every change alone, on growing samples of the points. Some changes gain only with more data (pairs
   of words, pieces of words), others gain only with little data. So the gain at the full size is extrapolated from all
   sizes (`estimate_gain`), and changes that are unlikely to gain are dropped before the next size.
2. `Search.combine`: the changes that gain, added one by one, the largest gain first, on as many points as the time
   budget allows. A change stays if it still gains.
3. `Search.compare_trees`: tradeoffs and fanouts, if there is a limit or if `tune` asks for them.

All trials are measured on the same validation points, so that differences are paired. The search can be interrupted at
any time: `Search.best` is the best so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.metrics.table import metric_title, values_of_points
from labeltrees.tuning.budget import AND, OWN
from labeltrees.tuning.candidates import Parameters, plain, words_of
from labeltrees.tuning.limits import Limits, PairedDifference, Verdict, paired_difference
from labeltrees.tuning.study import Study, Trial
from labeltrees.tuning.trial import CAREFUL, QUICK, USUAL, Timing

_FACTOR = 3  # between the sizes of samples
MIN_POINTS, MIN_POINTS_IN_A_HURRY = 2000, 400  # of a sample; the latter with a time budget
_SCREEN_UNTIL = 0.5  # the share of the time budget for trying changes alone
_PER_KIND = 2  # maximum number of changes of one kind that go on to the next size
# Prior spread of gains and of their slope, see `estimate_gain`; less for changes that are expected to gain.
_WIDTH, _SLOPE, _EXPECTED_WIDTH, _EXPECTED_SLOPE = 0.05, 0.02, 0.02, 0.01
_MAIN_STEPS = 2  # the number of points of the steps is chosen so that there is time for this many of them
_LEAST_ERROR = 0.0005  # of a measured gain, because it varies with seeds and training points
# Standard errors that the gain of a change must exceed. The best of many changes gains by luck; those that are expected
# to gain need less evidence.
_CAUTION, _EXPECTED_CAUTION = 1.0, 0.3
_FIRST_SHARE = (
    0.3  # the estimator as given is trained on all points first, if that takes at most this share of a budget
)
_WORTHWHILE = 0.5  # a sample must save this share of the time, otherwise changes are tried on all points
_MIN_KEPT = 4  # trees that go on to the next size, at least
_SAME = 0.95  # confidence of each bound of a gain


class Change(NamedTuple):
    """Parameters to try.

    Parameters
    ----------
    kind : str
        The kind of change, such as "features"; a candidate has at most one change of each kind.
    parameters : dict
    cost : float
        Expected training time with it, relative to training without it.
    prior : float
        Expected gain before any trial, in percentage points.
    also : str
        Another kind that it excludes.
    """

    kind: str
    parameters: Parameters
    cost: float = 1.5
    prior: float = 0.0
    also: str = ""

    @property
    def name(self) -> str:
        """The change in words."""
        return words_of(self.parameters)

    def excludes(self, other: Change) -> bool:
        """Whether a candidate cannot have both."""
        return self.kind in (other.kind, other.also) or other.kind == self.also


Candidate = tuple[Change, ...]


def name_of(candidate: Candidate) -> str:
    """Return a candidate in words."""
    return AND.join(change.name for change in candidate) or OWN


class Gain(NamedTuple):
    """The gain that a change will probably have at the full size, and its standard error."""

    mean: float
    error: float


def estimate_gain(
    sizes: Sequence[float], gains: Sequence[float], errors: Sequence[float], prior: Gain, slope: float
) -> Gain:
    """Return the gain at the full size from gains on samples, as a line over the logarithm of the size.

    A Bayesian linear regression: before any trial, the gain at the full size is `prior`, and it changes by about
    `slope` when the points are multiplied by e. One sample alone says little about the slope, two say more. Noise is
    not extrapolated.

    Parameters
    ----------
    sizes : shares of the full size
    gains, errors : mean differences and their standard errors
    prior : Gain
    slope : float

    Examples
    --------
    >>> found = estimate_gain([1 / 9, 1 / 3], [0.0, 0.01], [0.001, 0.001], Gain(0.0, 0.02), 0.01)
    >>> round(found.mean, 3)
    0.02
    >>> found = estimate_gain([1 / 9, 1 / 3], [0.0, 0.01], [0.01, 0.01], Gain(0.0, 0.02), 0.01)
    >>> round(found.mean, 3)
    0.007
    """
    lines = np.stack([np.ones(len(sizes)), np.log(np.asarray(sizes, float))], axis=1)
    weights = 1.0 / np.square(np.maximum(errors, _LEAST_ERROR))
    precision = np.diag([1.0 / prior.error**2, 1.0 / slope**2]) + (lines.T * weights) @ lines
    covariance = np.linalg.inv(precision)
    centre = np.array([prior.mean / prior.error**2, 0.0]) + (lines.T * weights) @ np.asarray(gains, float)
    return Gain(float((covariance @ centre)[0]), math.sqrt(float(covariance[0, 0])))


class Step(NamedTuple):
    """A change that was added to the best so far: trials with it and without it, its gain, and why it stays or not."""

    change: Change
    trial: Trial
    before: Trial
    gain: PairedDifference
    stays: bool
    reason: str = ""


class TreeRounds(NamedTuple):
    """Trees to compare: every combination by name, and the name of the estimator's own."""

    candidates: dict[str, Parameters]
    own: str | None


@dataclass
class Search:
    """Finds the best candidate of a study.

    Parameters
    ----------
    study : Study
    limits : Limits
    changes : list of Change
    base : dict
        Parameters that every candidate has.
    samples : bool
        Whether changes and trees are tried on samples first.
    announce : callable
        Called with the best so far in words.
    """

    study: Study
    limits: Limits
    changes: Sequence[Change]
    base: Parameters = field(default_factory=dict)
    samples: bool = True
    announce: Callable[[str], object] = lambda _: None
    gains: dict[str, Gain] = field(default_factory=dict)  # of changes alone, by name
    steps: list[Step] = field(default_factory=list)
    trees: Verdict | None = None
    n_points_of_trees: list[tuple[int, int]] = field(default_factory=list)  # candidates and points of each round
    _best: Candidate = ()
    _trials: dict[tuple[str, int], Trial] = field(default_factory=dict)

    # Results.

    @property
    def best_name(self) -> str | None:
        """The best candidate so far in words, None before the first trial."""
        if self.trees is not None:
            return self.trees.choose()
        if self.steps or not self.tried:
            return name_of(self._best) if self.tried else None
        tried = {name for name, _ in self._trials}
        alone = {name: gain.mean for name, gain in self.gains.items() if name in tried}
        found = max(alone, key=lambda name: alone[name], default=OWN)
        return found if alone.get(found, 0.0) > 0 else OWN

    @property
    def best(self) -> Trial | None:
        """The trial of the best candidate so far, None before the first trial."""
        name = self.best_name
        if name is None:
            return None
        return self._trials[name, max(size for own, size in self._trials if own == name)]

    @property
    def finalists(self) -> dict[str, Trial]:
        """Trials with the same number of points as the best: candidates of the last stage, by name."""
        best = self.best
        assert best is not None
        if self.trees is not None:
            return dict(self.trees.trials)
        same = [key for key in self._trials if key[1] == best.n_points and key in self._timed]
        return {key[0]: self._trials[key] for key in same}

    def records(self) -> list[dict[str, Any]]:
        """Return the measurements of all trials."""
        return [
            {
                "variant": name,
                "n_points": trial.n_points,
                **{key: plain(value) for key, value in trial.parameters.items()},
                **trial.record,
            }
            for name, trial in self.tried
        ]

    @property
    def tried(self) -> list[tuple[str, Trial]]:
        """Names and trials, in the order in which they were made."""
        return [(name, trial) for (name, _), trial in self._trials.items()]

    def values(self, trial: Trial) -> Float64s:
        """Return the metric of each validation point."""
        return values_of_points(trial.hits, self.limits.metric)

    def steady_values(self, trial: Trial) -> Float64s:
        """Return the mean of the metric and nDCG@k for each validation point.

        P@1 has twice the noise of nDCG@5, and changes that gain in one nearly always gain in the other.
        """
        return np.asarray((self.values(trial) + values_of_points(trial.hits, f"ndcg{self.limits.k}")) / 2)

    # Changes alone.

    def screen(self) -> None:
        """Try every change alone on growing samples, and estimate its gain at the full size."""
        alive = list(self.changes)
        if not alive:
            return
        self._time_own()
        for size in self.sizes():
            if self._saves_little(size):
                size = self.study.n_points
            is_light = size < self.study.n_points and not self.limits.has_latency
            timing = None if is_light else QUICK
            trials = self._run([(), *((change,) for change in alive)], size, timing=timing, until=_SCREEN_UNTIL)
            measured = [change for change in alive if change.name in trials]
            for change in measured:
                self.gains[change.name] = self._estimate(change)
            alive = self._promising(measured)
            if not alive or size == self.study.n_points:
                break

    def _time_own(self) -> None:
        """Train the estimator as given on the smallest sample and, if a time budget allows, on all points.

        All later stages need this trial. It also says how the time of a training grows.
        """
        budget, size = self.study.budget, self.sizes()[0]
        if budget.seconds is None or size == self.study.n_points:
            return
        self._run([()], size, timing=self._timing if self.limits.has_latency else None)
        if budget.expected(OWN, self.study.n_points) <= _FIRST_SHARE * budget.seconds:
            self._run([()], self.study.n_points, timing=self._timing)

    def _saves_little(self, size: int) -> bool:
        """Whether a trial on a sample takes nearly as long as one on all points, as far as this was measured."""
        budget, n_points = self.study.budget, self.study.n_points
        is_known = budget.seconds is not None and (OWN, n_points) in self._trials
        return is_known and budget.expected(OWN, size) > (1 - _WORTHWHILE) * budget.expected(OWN, n_points)

    def sizes(self) -> list[int]:
        """Return the sizes of the samples for trying changes; all points if there are few."""
        n_points = self.study.n_points
        least = MIN_POINTS if self.study.budget.seconds is None else MIN_POINTS_IN_A_HURRY
        samples = [n_points // _FACTOR**2, n_points // _FACTOR] if self.samples else []
        return [size for size in samples if size >= least] or [n_points]

    def _estimate(self, change: Change) -> Gain:
        sizes, gains, errors = [], [], []
        for (name, size), trial in self._trials.items():
            own = self._trials.get((OWN, size))
            if name == change.name and own is not None:
                difference = self.steady_values(trial) - self.steady_values(own)
                sizes.append(size / self.study.budget.n_final)
                gains.append(float(difference.mean()))
                errors.append(
                    float(difference.std(ddof=1)) / math.sqrt(len(difference)) if len(difference) > 1 else 1.0
                )
        slope = (_EXPECTED_SLOPE if change.prior > 0 else _SLOPE) * self._scale()
        return estimate_gain(sizes, gains, errors, self._prior(change), slope)

    def _prior(self, change: Change) -> Gain:
        """Return the gain of a change before any trial."""
        return Gain(change.prior / 100, (_EXPECTED_WIDTH if change.prior > 0 else _WIDTH) * self._scale())

    def _scale(self) -> float:
        """Return the standard deviation of the metric over points, as if it were 0 or 1 for each; at least 0.1."""
        level = float(
            next(trial for (name, _), trial in self._trials.items() if name == OWN).record[self.limits.metric]
        )
        return max(0.1, math.sqrt(max(level * (1 - level), 0.0)))

    def _promising(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes that may gain, and may be the best of their kind; the largest gain first."""
        kept: list[Change] = []
        for change in sorted(changes, key=lambda change: -self.gains[change.name].mean):
            gain = self.gains[change.name]
            better = [other for other in kept if other.kind == change.kind]
            may_be_best = not better or gain.mean + 2 * gain.error > self.gains[better[0].name].mean
            if len(better) < _PER_KIND and gain.mean + gain.error > 0 and may_be_best:
                kept.append(change)
        return kept

    # Changes together.

    def combine(self) -> None:
        """Add the changes that gain one by one; a change stays if it still gains, and if calls stay fast enough."""
        if not self.tried:
            return
        waiting = self._by_gain(0.0)
        size = self._size_of_steps(waiting)
        self._run([()], size, timing=self._timing)
        self._add(waiting, size)
        if self.study.budget.seconds is not None:  # use the remaining time for changes that seemed to lose, or are new
            known = {step.change.name for step in self.steps}
            known |= set() if self._best else {name for name, own in self._trials if own == size}
            waiting = self._by_gain(-1.0) + [change for change in self.changes if change.name not in self.gains]
            self._add([change for change in waiting if change.name not in known], size)

    def _by_gain(self, n_errors: float) -> list[Change]:
        """Return the changes whose gain is above this many of its standard errors, the largest first."""
        known = [change for change in self.changes if change.name in self.gains]
        known = [change for change in known if self.gains[change.name].mean > n_errors * self.gains[change.name].error]
        return sorted(known, key=lambda change: -self.gains[change.name].mean)

    def _size_of_steps(self, changes: Sequence[Change]) -> int:
        """Return the largest size at which there is time to add the main changes, and to train the result."""
        budget, n_points = self.study.budget, self.study.n_points
        if budget.seconds is None or any((change.name, n_points) in self._trials for change in changes):
            return n_points  # samples would say less than is known already
        one_of_each = list({change.kind: change for change in reversed(changes)}.values())[::-1][:_MAIN_STEPS]
        together = [name_of(tuple(one_of_each[:number])) for number in range(len(one_of_each) + 1)]
        for size in (n_points, *reversed([own for own in self.sizes() if own < n_points])):
            needed = sum(budget.expected(name, size) for name in together if (name, size) not in self._timed)
            if needed + budget.reserve(together[-1]) <= budget.left:
                return size
        return min(n_points, *self.sizes())

    def _add(self, changes: Sequence[Change], size: int) -> None:
        for change in changes:
            if any(change.excludes(own) for own in self._best):
                continue
            candidate = (*self._best, change)
            is_known = (name_of(candidate), size) in self._timed
            if not is_known and not self.study.budget.allows(name_of(candidate), size, best=name_of(self._best)):
                continue
            trial = self._run([candidate], size, timing=self._timing)[name_of(candidate)]
            step = self._judge(change, trial, self._trials[name_of(self._best), size])
            self.steps.append(step)
            if step.stays:
                self._best = candidate
                self._announce()

    @property
    def _timing(self) -> Timing:
        return USUAL if self.limits.has_latency else QUICK

    @property
    def _timed(self) -> set[tuple[str, int]]:
        """Names and sizes of trials with times and details."""
        return {key for key, trial in self._trials.items() if trial.details}

    def time_best(self) -> None:
        """Time the best candidate so far, if an interruption has prevented that."""
        name, best = self.best_name, self.best
        if name is not None and best is not None and not best.details:
            self._keep(self.study.run({name: best.parameters}, best.n_points, timing=QUICK))

    def _judge(self, change: Change, trial: Trial, before: Trial) -> Step:
        """Decide whether a change stays, from its gain here and its estimated gain alone."""
        difference = self.steady_values(trial) - self.steady_values(before)
        gain = paired_difference(self.values(trial), self.values(before), _SAME)
        # On a sample, the gain at the full size is also uncertain.
        slope = _EXPECTED_SLOPE * self._scale() * math.log(self.study.n_points / trial.n_points)
        error = math.hypot(max(_standard_error(difference), _LEAST_ERROR), slope)
        alone = self.gains.get(change.name) or self._prior(change)
        is_first = len(self._best) == 0
        # The gain alone adds nothing for a first change on all points: it was measured on the same points. Together
        # with others, a change may gain half as much.
        doubt = math.inf if is_first and trial.n_points == self.study.n_points else alone.error + abs(alone.mean) / 2
        weights = np.array([1 / error**2, 0.0 if math.isinf(doubt) else 1 / doubt**2])
        mean = float(weights @ [float(difference.mean()), alone.mean] / weights.sum())
        if self.limits.has_latency and not self._is_fast(trial):
            return Step(change, trial, before, gain, False, "latency")
        caution = _EXPECTED_CAUTION if change.prior > 0 else _CAUTION
        stays = gain.mean > 0 and mean > caution / math.sqrt(float(weights.sum()))
        return Step(change, trial, before, gain, stays, "" if stays else "no gain")

    def _is_fast(self, trial: Trial) -> bool:
        limit = self.limits.max_latency_us
        return limit is None or float(trial.record[f"top{self.limits.k}_p99_us"]) <= limit

    # Trees.

    def compare_trees(self, trees: TreeRounds) -> None:
        """Compare trees with the best changes so far; samples come first where there are many trees and points."""
        chosen = {} if not self._best else {key: value for own in self._best for key, value in own.parameters.items()}
        prefix = name_of(self._best) + AND if self._best else ""
        candidates = {prefix + name: {**self.base, **chosen, **own} for name, own in trees.candidates.items()}
        own = None if trees.own is None else prefix + trees.own
        if self.study.budget.seconds is not None and own is not None:  # the time may end before the last candidate
            candidates = {own: candidates[own], **candidates}
        n_all, n_kept = len(candidates), len(candidates)
        sizes = [size for size in self.sizes() if size < self.study.n_points] if n_all > _MIN_KEPT else []
        for size in sizes if self.study.budget.seconds is None or MIN_POINTS <= min(sizes, default=0) else ():
            n_kept = max(_MIN_KEPT, -(-n_kept // _FACTOR))
            found = self._compare(candidates, size, USUAL)
            candidates = {name: candidates[name] for name in self.limits.judge(found, own).promising(n_kept)}
        others = {}
        if self.steps and self.steps[-1].trial.n_points == self.study.n_points:  # the changes compete with the trees
            names = {name_of(()): (), name_of(self._best): self._best}
            others = {
                name: self._parameters(own)
                for name, own in names.items()
                if (name, self.study.n_points) in self._trials
            }
        found = self._compare({**others, **candidates}, self.study.n_points, CAREFUL, again=True)
        self.trees = self.limits.judge(found, own if own in found else None, n_all - 1)
        self.trees.choose()  # raises an error if no tree meets the limits

    def _compare(
        self, candidates: Mapping[str, Parameters], size: int, timing: Timing, *, again: bool = False
    ) -> dict[str, Trial]:
        report = size == self.study.n_points
        found = self.study.run(candidates, size, timing=timing, report=report, again=again and report)
        self._keep(found)
        self.n_points_of_trees.append((len(found), size))
        return found

    # Trials.

    def _parameters(self, candidate: Candidate) -> Parameters:
        return {**self.base, **{key: value for change in candidate for key, value in change.parameters.items()}}

    def _run(
        self, candidates: Sequence[Candidate], size: int, *, timing: Timing | None, until: float = 1.0
    ) -> dict[str, Trial]:
        """Return the trials of the first candidate, and of others that there is time for.

        In this process they run one by one, so that an interrupted search keeps all finished trials.
        """
        wanted = {name_of(candidate): self._parameters(candidate) for candidate in candidates}
        report = timing is not None and size == self.study.n_points
        options: dict[str, Any] = {"timing": timing, "report": report, "until": until}
        if self.study.place.is_remote:
            found = self.study.run(wanted, size, **options)
            self._keep(found)
            return found
        found = {}
        for name, parameters in wanted.items():
            is_known = not found or (name, size) in self._trials
            if is_known or self.study.budget.allows(name, size, until):
                found |= self.study.run({name: parameters}, size, **options)
                self._keep(found)
                self._announce()
        return found

    def _keep(self, trials: Mapping[str, Trial]) -> None:
        """Keep trials; one that is measured again replaces the first, in its place."""
        self._trials |= {(name, trial.n_points): trial for name, trial in trials.items()}

    def _announce(self) -> None:
        best = self.best
        if best is not None:
            value = f"{metric_title(self.limits.metric)} {100 * best.record[self.limits.metric]:.2f} %"
            self.announce(f"best so far: {self.best_name}, {value}")


def _standard_error(differences: Float64s) -> float:
    n = len(differences)
    return float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else 1.0
