"""The search of a choice: changes of an estimator are tried alone on growing samples, then together, then on trees.

1. `Search.screen`: every change alone, on growing samples of the points. Changes that are unlikely to gain at the full
   size are dropped before the next size.
2. `Search.combine`: combinations of changes on as many points as the time budget allows; the one that may gain most
   comes next. A combination becomes the best so far if it gains.
3. `Search.compare_trees`: tradeoffs and fanouts, if there is a limit or if `tune` asks for them.

What each change gains at the full size is estimated from all trials together, alone and in combinations, on all sizes
(`Effects`). All trials are measured on the same validation points, so that differences are paired. The search can be
interrupted at any time: `Search.best` is the best so far.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.metrics.table import metric_title, values_of_points
from labeltrees.tuning.budget import AND, OWN
from labeltrees.tuning.candidates import Parameters, plain
from labeltrees.tuning.changes import Candidate, Change, Effects, name_of
from labeltrees.tuning.limits import Limits, PairedDifference, Verdict, luck_of, paired_difference
from labeltrees.tuning.study import Study, Trial
from labeltrees.tuning.trial import CAREFUL, QUICK, USUAL, Timing

_FACTOR = 3  # between the sizes of samples
MIN_POINTS, MIN_POINTS_IN_A_HURRY = 2000, 400  # of a sample; the latter with a time budget
_SCREEN_UNTIL, _COMBINE_UNTIL = 0.5, 0.7  # shares of the time budget: for changes alone; for combinations, before trees
_PER_KIND = 2  # maximum number of changes of one kind that go on to the next size, and into combinations
# Standard errors that a gain must exceed. The best of many changes gains by luck; those that are expected to gain need
# less evidence.
_CAUTION, _EXPECTED_CAUTION = 1.0, 0.3
# Standard errors by which a combination may be better than expected when the next one is chosen; higher values use the
# rest of a time budget.
_OPTIMISM = (0.5, 1.0, 2.0)
_LEAST_GAIN = 0.0005  # a combination is tried if it may gain this much
_MAX_STEPS = 8  # combinations that are tried without a time budget
_FIRST_SHARE = (
    0.3  # the estimator as given is trained on all points first, if that takes at most this share of a budget
)
_WORTHWHILE = 0.5  # a sample must save this share of the time, otherwise changes are tried on all points
_MIN_KEPT = 4  # trees that go on to the next size, at least
_SAME = 0.95  # confidence of each bound of a gain


class Step(NamedTuple):
    """A combination that was compared with the best before it: what changes, both trials, the gain, and the verdict."""

    name: str
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
    steps: list[Step] = field(default_factory=list)
    trees: Verdict | None = None
    n_points_of_trees: list[tuple[int, int]] = field(default_factory=list)  # candidates and points of each round
    _alive: list[Change] = field(default_factory=list)  # changes that may gain
    _best: Candidate = ()
    _has_steps: bool = False  # the best so far is the result of steps; before, it is what changes alone let expect
    _candidates: dict[str, Candidate] = field(default_factory=lambda: {OWN: ()})  # those that were tried, by name
    _slow: list[Change] = field(default_factory=list)  # changes that are too slow for the limit of latency
    _trials: dict[tuple[str, int], Trial] = field(default_factory=dict)

    # Results.

    @property
    def best_name(self) -> str | None:
        """The best candidate so far in words, None before the first trial."""
        if self.trees is not None:
            return self.trees.choose()
        if self._has_steps or not self.tried:
            return name_of(self._best) if self.tried else None
        effects = self.effects()
        gains = {name: effects.gain(own).mean for name, own in self._candidates.items()}
        return max(gains, key=lambda name: gains[name])

    @property
    def alone(self) -> list[Change]:
        """The changes that were tried alone."""
        return [change for change in self.changes if change.name in self._candidates]

    @property
    def chosen(self) -> list[str]:
        """The names of the changes of the best combination."""
        return [change.name for change in self._best]

    @property
    def best(self) -> Trial | None:
        """The trial of the best candidate so far, None before the first trial."""
        name = self.best_name
        if name is None:
            return None
        sizes = [key for key in self._trials if key[0] == name]
        return self._trials[max(sizes, key=lambda key: (key in self._timed, key))]

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
        self._alive = list(self.changes)
        if not self._alive:
            return
        self._time_own()
        for size in self.sizes():
            if self._saves_little(size):
                size = self.study.n_points
            is_light = size < self.study.n_points and not self.limits.has_latency
            timing = None if is_light else QUICK
            candidates = [(), *((change,) for change in self._alive)]
            trials = self._run(candidates, size, timing=timing, until=_SCREEN_UNTIL)
            self._alive = self._promising(self._alive)
            if len(trials) < len(candidates) or not self._alive or size == self.study.n_points:
                break

    def _time_own(self) -> None:
        """Train the estimator as given on the smallest sample and, if a time budget allows, on all points.

        All later stages need this trial. It also says how the time of a training grows. One sample alone does not: it
        makes the training on all points look too long, so larger samples come in between where that decides.
        """
        budget, (smallest, *larger) = self.study.budget, self.sizes()
        if budget.seconds is None or smallest == self.study.n_points:
            return
        in_time = _FIRST_SHARE * budget.seconds
        timing = self._timing if self.limits.has_latency else None
        self._run([()], smallest, timing=timing)
        for size in larger:
            if budget.expected(OWN, size) <= in_time < budget.expected(OWN, self.study.n_points):
                self._run([()], size, timing=timing)
        if budget.expected(OWN, self.study.n_points) <= in_time:
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

    def effects(self) -> Effects:
        """Return what changes gain, from all trials so far; the estimator as given has a trial of the same size."""
        own = {size: self.steady_values(trial) for (name, size), trial in self._trials.items() if name == OWN}
        known = [key for key in self._trials if key[0] in self._candidates and key[0] != OWN and key[1] in own]
        differences = [self.steady_values(self._trials[key]) - own[key[1]] for key in known]
        trials = [(self._candidates[name], size / self.study.budget.n_final) for name, size in known]
        n_validation = len(next(iter(own.values())))
        level = float(self._trials[OWN, max(own)].record[self.limits.metric])
        scale = max(0.1, math.sqrt(max(level * (1 - level), 0.0)))  # as if the metric were 0 or 1 for each point
        covariance = np.eye(len(known))  # unknown from one point
        if known and n_validation > 1:
            covariance = np.atleast_2d(np.cov(differences))
        means = np.array([difference.mean() for difference in differences])
        return Effects(self.changes, trials, means, covariance / n_validation, scale)

    def _promising(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes that may gain, and may be the best of their kind; the largest gain first."""
        effects, kept = self.effects(), list[Change]()
        gains = {change.name: effects.gain((change,)) for change in changes}
        for change in sorted(changes, key=lambda change: -gains[change.name].mean):
            gain = gains[change.name]
            better = [other for other in kept if other.kind == change.kind]
            may_be_best = not better or gain.mean + 2 * gain.error > gains[better[0].name].mean
            if len(better) < _PER_KIND and gain.mean + gain.error > 0 and may_be_best:
                kept.append(change)
        return kept

    # Changes together.

    def combine(self, *, with_trees: bool = False) -> None:
        """Try combinations, those that may gain most first, as long as there is time; leave some for trees if asked."""
        if not self.tried:
            return
        size = self._size_of_steps()
        self._run([()], size, timing=self._timing)
        effects = self.effects()
        known = [self._candidates[name] for name, own in self._trials if own == size and name in self._candidates]
        first = max(known, key=lambda candidate: effects.gain(candidate).mean)
        if first:
            self._run([first], size, timing=self._timing)  # a change alone on a sample has no times yet
            self._add_step(first, size)
        self._has_steps = True
        for _ in range(_MAX_STEPS) if self.study.budget.seconds is None else itertools.count():
            candidate = self._next(size, _COMBINE_UNTIL if with_trees else 1.0)
            if candidate is None:
                break
            self._run([candidate], size, timing=self._timing)
            self._add_step(candidate, size)

    def _combinations(self) -> list[Candidate]:
        """Return the combinations of the changes that may gain."""
        kinds: dict[str, list[Candidate]] = {}
        promising = self._promising(self._alive)
        for change in self.changes:  # in this order, so that a combination has one name
            if change in promising:
                kinds.setdefault(change.kind, [()]).append((change,))
        found: list[Candidate] = [sum(parts, ()) for parts in itertools.product(*kinds.values())]
        return [own for own in found if not any(a.excludes(b) for a, b in itertools.combinations(own, 2))]

    def _size_of_steps(self) -> int:
        """Return the largest size at which there is time for a combination that probably gains."""
        budget, n_points, effects = self.study.budget, self.study.n_points, self.effects()
        if budget.seconds is None or any(size == n_points and name != OWN for name, size in self._trials):
            return n_points  # samples would say less than is known already
        likely = [own for own in self._combinations() if effects.gain(own).mean > 0]
        for size in (n_points, *reversed([own for own in self.sizes() if own < n_points])):
            if any(budget.has_time(name_of(own), size) for own in likely):
                return size
        return min(n_points, *self.sizes())

    def _next(self, size: int, until: float) -> Candidate | None:
        """Return the combination that is most worth its time, of those that may gain over the best so far.

        Its possible gain counts less the more of the remaining time it takes, which other trials could use.
        """
        effects, budget, best = self.effects(), self.study.budget, name_of(self._best)
        waiting: dict[str, Candidate] = {}
        for candidate in self._combinations():
            name, n_new = name_of(candidate), sum(change not in self._best for change in candidate)
            if (name, size) in self._timed or any(change in self._slow for change in candidate):
                continue
            # With a limit of latency, changes are added one by one, to find those that are too slow.
            if (n_new == 1 or not self.limits.has_latency) and budget.has_time(name, size, until, best):
                waiting[name] = candidate
        for optimism in _OPTIMISM if budget.seconds is not None else _OPTIMISM[:1]:
            gains = {name: effects.possible_gain(own, self._best, optimism) for name, own in waiting.items()}
            worth = {name: gain * (1 - budget.share(name, size)) for name, gain in gains.items() if gain > _LEAST_GAIN}
            if worth:
                return waiting[max(worth, key=lambda name: worth[name])]
        return None

    def _add_step(self, candidate: Candidate, size: int) -> None:
        """Compare a combination with the best so far."""
        trial, before = (self._trials[name_of(own), size] for own in (candidate, self._best))
        added = [change for change in candidate if change not in self._best]
        removed = [change for change in self._best if change not in candidate]
        words = [f"+ {change.name}" for change in added] + [f"- {change.name}" for change in removed]
        gain = paired_difference(self.values(trial), self.values(before), _SAME)
        likely = self.effects().gain(candidate, self._best)
        is_expected = all(own.prior > 0 for own in added)
        caution = _EXPECTED_CAUTION if is_expected else max(_CAUTION, luck_of(len(self._candidates) - 1))
        stays, reason = gain.mean > 0 and likely.mean > caution * likely.error, ""
        if self.limits.has_latency and not self._is_fast(trial):
            stays, reason = False, "latency"
            self._slow += added
        elif not stays:
            reason = "no gain"
        self.steps.append(Step(" ".join(words), trial, before, gain, stays, reason))
        if stays:
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
        named = {name_of(candidate): candidate for candidate in candidates}
        report = timing is not None and size == self.study.n_points
        options: dict[str, Any] = {"timing": timing, "report": report, "until": until}
        if self.study.place.is_remote:
            found = self.study.run(wanted, size, **options)
            self._keep(found)
            self._candidates |= {name: named[name] for name in found}
            return found
        found = {}
        for name, parameters in wanted.items():
            is_known = not found or (name, size) in self._trials
            if is_known or self.study.budget.allows(name, size, until):
                found |= self.study.run({name: parameters}, size, **options)
                self._keep(found)
                self._candidates[name] = named[name]
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
