"""The limits of a choice, which candidates meet them, and paired comparisons on the same points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from labeltrees._matrices import Float64s
from labeltrees._validation import check_number
from labeltrees.errors import LabelTreesError, Parameter
from labeltrees.metrics.table import check_metric, values_of_points
from labeltrees.tuning.study import Trial

CONFIDENCE = 0.95
TWO_SIDED = 0.975  # of each bound; both together hold with 95 % confidence
SAME_TIME = 1.05  # times that differ by less than this factor count as equal
_SAMPLE_TOLERANCE = 1.5  # early rounds keep settings up to this many times the latency limit


class PairedDifference(NamedTuple):
    """The mean difference over points, and its one-sided confidence bounds."""

    mean: float
    lower: float
    upper: float


def paired_difference(values: Float64s, reference: Float64s, confidence: float = CONFIDENCE) -> PairedDifference:
    """Return the mean of `values` (n,) minus `reference` (n,), with one-sided bounds from Student's t distribution.

    Both models saw the same points, so the difficulty of a point cancels out and the bounds are much tighter than those
    of two separate means. Each bound alone holds with the given confidence.

    Examples
    --------
    >>> paired_difference(np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0, 1.0]))
    PairedDifference(mean=0.0, lower=0.0, upper=0.0)
    """
    differences = values - reference
    n = len(differences)
    mean = float(differences.mean())
    if not differences.any():
        return PairedDifference(0.0, 0.0, 0.0)
    if n < 2:
        return PairedDifference(mean, -math.inf, math.inf)
    half = float(student.ppf(confidence, n - 1) * np.std(differences, ddof=1) / math.sqrt(n))
    return PairedDifference(mean, mean - half, mean + half)


def luck_of(n_tried: int) -> float:
    """Return how many standard errors the best of `n_tried` equal models gains by luck.

    Examples
    --------
    >>> [round(luck_of(n), 1) for n in (1, 2, 9, 20)]
    [0.0, 0.6, 1.5, 1.9]
    """
    return float(norm.ppf((n_tried - 0.375) / (n_tried + 0.25)))  # expected maximum of n normal variables (Blom)


def is_beyond_luck(values: Float64s, reference: Float64s, n_tried: int) -> bool:
    """Whether the mean of `values` (n,) is above that of `reference` (n,) by more than luck explains.

    If `n_tried` models are as good as the reference, the best of them still gains some standard errors: about 0.6 for
    2 models, 1.5 for 9. The gain must be larger than that, and than one standard error.

    Examples
    --------
    >>> gain = np.array([0.0, 0.0, 1.0, 1.0, 0.0])  # 0.4, with a standard error of 0.24
    >>> is_beyond_luck(gain, np.zeros(5), n_tried=1), is_beyond_luck(gain, np.zeros(5), n_tried=20)
    (True, False)
    """
    differences = values - reference
    if len(differences) < 2 or not differences.any():
        return False
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    return float(differences.mean()) > max(1.0, luck_of(n_tried)) * error


@dataclass(frozen=True)
class Limits:
    """The limits of a choice, and the metric and k that it uses.

    Parameters
    ----------
    max_precision_loss : float, optional
        How far the metric may be below that of the best setting.
    max_latency_us : float, optional
        The largest allowed latency of a single call, 99th percentile.
    metric : str
        A metric that is a mean over points, followed by a number of at most `k`: "p1", "ndcg5", ...
    k : int
        The number of labels that a single call returns.
    """

    max_precision_loss: float | None
    max_latency_us: float | None
    metric: str
    k: int

    @property
    def ks(self) -> tuple[int, ...]:
        """The values of k to measure."""
        return tuple(sorted({at for at in (1, 3, self.k, check_metric(self.metric, self.k).k) if at <= self.k}))

    @property
    def has_latency(self) -> bool:
        """Whether there is a latency limit."""
        return self.max_latency_us is not None

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.has_latency or self.max_precision_loss is not None

    def validate(self) -> None:
        """Raise `InputError` if a limit or the metric is not allowed."""
        if self.max_precision_loss is not None:
            check_number("max_precision_loss", self.max_precision_loss, 0, 1)
        if self.max_latency_us is not None:
            check_number("max_latency_us", self.max_latency_us, 0, low_open=True)
        check_metric(self.metric, self.k)

    def judge(self, trials: Mapping[str, Trial], own: str | None = None, n_tried: int | None = None) -> Verdict:
        """Compare every candidate with the most precise one, and with the estimator's own, if it is in `trials`.

        Parameters
        ----------
        trials : dict of Trial
            By the name of the candidate, all measured on the same validation points.
        own : str, optional
            The estimator's own candidate. Others must gain more than luck explains to replace it.
        n_tried : int, optional
            The number of candidates that were compared with `own`, if some were dropped after early rounds.
        """
        values = {name: values_of_points(trial.hits, self.metric) for name, trial in trials.items()}
        names = list(values)
        best = names[int(np.argmax([values[name].mean() for name in names]))]
        differences = {name: paired_difference(values[name], values[best]) for name in names}
        if own not in values:
            return Verdict(self, trials, best, differences)
        n_others = max(n_tried or 0, len(names) - 1)
        better = [name for name in names if name != own and is_beyond_luck(values[name], values[own], n_others)]
        return Verdict(self, trials, best, differences, own, frozenset(better))


@dataclass(frozen=True)
class Verdict:
    """How candidates compare with the best of them, and which of them meet the limits."""

    limits: Limits
    trials: Mapping[str, Trial]
    best: str
    differences: dict[str, PairedDifference]
    own: str | None = None
    better_than_own: frozenset[str] = frozenset()

    def metric(self, name: str) -> float:
        """Return a setting's metric."""
        return float(self.trials[name].record[self.limits.metric])

    def time(self, name: str, percentile: int = 50) -> float:
        """Return the microseconds of a setting's single calls."""
        return float(self.trials[name].record[f"top{self.limits.k}_p{percentile}_us"])

    def is_close(self, name: str) -> bool:
        """Whether a setting is, with 95 % confidence, within the allowed loss of the best."""
        loss = self.limits.max_precision_loss
        return loss is None or self.differences[name].lower >= -loss

    def may_be_close(self, name: str) -> bool:
        """Whether a setting could be within the allowed loss of the best."""
        loss = self.limits.max_precision_loss
        return loss is None or self.differences[name].upper >= -loss

    def is_fast(self, name: str, tolerance: float = 1.0) -> bool:
        """Whether the latency of a setting is within `tolerance` times the limit."""
        limit = self.limits.max_latency_us
        return limit is None or self.time(name, 99) <= tolerance * limit

    def keeps_own(self, chosen: str) -> bool:
        """Whether the estimator's own setting was chosen although another one has a higher metric."""
        return chosen == self.own and chosen != self.best and self.limits.max_precision_loss is None

    def choose(self) -> str:
        """Return the name of the setting to use; raise `LabelTreesError` if none meets the limits."""
        names = list(self.differences)
        latency = Parameter("max_latency_us", self.limits.max_latency_us)
        fast = [name for name in names if self.is_fast(name)]
        if not fast:
            quickest = min(names, key=lambda name: self.time(name, 99))
            message = (
                "no setting meets {}: the fastest, {}, takes {:.1f} us per call (99th percentile, k = {}). Allow more "
                "time or try other tradeoffs and fanouts"
            )
            raise LabelTreesError(message, latency, quickest, self.time(quickest, 99), self.limits.k)
        if self.limits.max_precision_loss is None:
            kept = [name for name in fast if self.own not in fast or name == self.own or name in self.better_than_own]
            return max(kept, key=lambda name: (self.metric(name), -self.time(name)))
        kept = [name for name in fast if self.is_close(name)]
        if not kept:
            closest = max(fast, key=self.metric)
            message = (
                "no setting meets both {} and {}: among the fast enough settings, {} has the best {}, {:.4f} below the "
                "best. Relax one of the limits"
            )
            loss = Parameter("max_precision_loss", self.limits.max_precision_loss)
            below = -self.differences[closest].mean
            raise LabelTreesError(message, latency, loss, closest, self.limits.metric, below)
        # Repeated timings differ by a few percent. Among settings about as fast as the fastest, precision decides.
        shortest = min(self.time(name) for name in kept)
        fastest = [name for name in kept if self.time(name) <= SAME_TIME * shortest]
        return max(fastest, key=lambda name: (self.metric(name), -self.time(name)))

    def promising(self, count: int) -> list[str]:
        """Return the `count` settings to continue with.

        These are the two best, the estimator's own, the fastest, and others that may be chosen.
        """
        names = list(self.differences)
        by_metric = sorted(names, key=lambda name: (-self.metric(name), self.time(name)))
        by_time = sorted(names, key=lambda name: (self.time(name), -self.metric(name)))
        fast = [name for name in names if self.is_fast(name, _SAMPLE_TOLERANCE)]
        if self.limits.max_precision_loss is None:
            likely = [name for name in by_metric if name in fast]
        else:
            likely = [name for name in by_time if name in fast and self.may_be_close(name)]
        always = by_metric[:2] + [name for name in names if name == self.own]
        always += by_time[:1] if self.limits.max_latency_us is not None else []
        kept = set(list(dict.fromkeys(always + likely + by_metric))[:count])
        return [name for name in names if name in kept]
