"""What a chosen model must keep to, and which settings do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labeltrees._validation import check_number, refuse
from labeltrees.errors import InputError, LabelTreesError
from labeltrees.tuning.paired_bound import PairedDifference, paired_difference
from labeltrees.tuning.quality import split_metric
from labeltrees.tuning.result import SweepResult

# Models of a sample are smaller, hence faster, than those of all points.
_SLACK = 1.5
SAME_TIME = 1.05


@dataclass(frozen=True)
class Limits:
    """The limits of a choice, and what it is judged by.

    Parameters
    ----------
    max_precision_loss : float, optional
        How far the metric may lie below the best setting's.
    max_latency_us : float, optional
        The most microseconds of a single call, 99th percentile.
    metric : str
        "p" or "ndcg" and a k up to `k`.
    k : int
        Labels of a single call.
    """

    max_precision_loss: float | None
    max_latency_us: float | None
    metric: str
    k: int

    def validate(self) -> None:
        """Refuse limits that say nothing."""
        if self.max_precision_loss is None and self.max_latency_us is None:
            message = "give max_precision_loss (the fastest within it), max_latency_us (the most precise), or both"
            raise InputError(message)
        if self.max_precision_loss is not None:
            check_number("max_precision_loss", self.max_precision_loss, 0, 1)
        if self.max_latency_us is not None:
            check_number("max_latency_us", self.max_latency_us, 0, low_open=True)
        kind, k = split_metric(self.metric)
        if kind not in ("p", "ndcg") or k > self.k:
            refuse("metric", f"p or ndcg and a k of at most {self.k}, such as 'p1'", self.metric)

    def judge(self, result: SweepResult) -> Verdict:
        """Compare every setting of a result with its most precise one."""
        values = {name: hits.per_point(self.metric) for name, hits in result._hits.items()}
        names = list(values)
        best = names[int(np.argmax([values[name].mean() for name in names]))]
        differences = {name: paired_difference(values[name], values[best]) for name in names}
        return Verdict(self, result, best, differences)


@dataclass(frozen=True)
class Verdict:
    """What the settings of a result are worth under some limits."""

    limits: Limits
    result: SweepResult
    best: str
    differences: dict[str, PairedDifference]

    def metric(self, name: str) -> float:
        """Return a setting's metric."""
        return float(self.result.record(name)[self.limits.metric])

    def time(self, name: str, percentile: int = 50) -> float:
        """Return the microseconds of a setting's single calls."""
        return float(self.result.record(name)[f"top{self.limits.k}_p{percentile}_us"])

    def is_close(self, name: str) -> bool:
        """Whether a setting is, with confidence, not worse than the best by more than the loss."""
        loss = self.limits.max_precision_loss
        return loss is None or self.differences[name].lower >= -loss

    def may_be_close(self, name: str) -> bool:
        """Whether it cannot be ruled out that it is."""
        loss = self.limits.max_precision_loss
        return loss is None or self.differences[name].upper >= -loss

    def is_fast(self, name: str, slack: float = 1.0) -> bool:
        """Whether a setting's latency is within the limit."""
        limit = self.limits.max_latency_us
        return limit is None or self.time(name, 99) <= slack * limit

    def choose(self) -> str:
        """Return the setting to take."""
        names = list(self.differences)
        fast = [name for name in names if self.is_fast(name)]
        if not fast:
            fastest = min(names, key=lambda name: self.time(name, 99))
            message = (
                f"no setting answers within {self.limits.max_latency_us:g} microseconds: the fastest seen, {fastest}, "
                f"takes {self.time(fastest, 99):.1f} (99th percentile of single calls for {self.limits.k} labels)"
            )
            raise LabelTreesError(message)
        if self.limits.max_precision_loss is None:
            return max(fast, key=lambda name: (self.metric(name), -self.time(name)))
        kept = [name for name in fast if self.is_close(name)]
        if not kept:
            closest = max(fast, key=self.metric)
            message = (
                f"no setting is both within {self.limits.max_latency_us:g} microseconds and, with confidence, within "
                f"{self.limits.max_precision_loss:g} of the best {self.limits.metric}: of those that are fast enough, "
                f"{closest} is the most precise, {-self.differences[closest].mean:.4f} below the best"
            )
            raise LabelTreesError(message)
        # Repeated timings differ by some percent: of those about as fast, the precision decides.
        least = min(self.time(name) for name in kept)
        about = [name for name in kept if self.time(name) <= SAME_TIME * least]
        return max(about, key=lambda name: (self.metric(name), -self.time(name)))

    def promising(self, count: int) -> list[str]:
        """Return the `count` settings to go on with: the best two, the fastest, and those that may be chosen."""
        names = list(self.differences)
        by_metric = sorted(names, key=lambda name: (-self.metric(name), self.time(name)))
        by_time = sorted(names, key=lambda name: (self.time(name), -self.metric(name)))
        fast = [name for name in names if self.is_fast(name, _SLACK)]
        if self.limits.max_precision_loss is None:
            likely = [name for name in by_metric if name in fast]
        else:
            likely = [name for name in by_time if name in fast and self.may_be_close(name)]
        always = by_metric[:2] + (by_time[:1] if self.limits.max_latency_us is not None else [])
        kept = set(list(dict.fromkeys(always + likely + by_metric))[:count])
        return [name for name in names if name in kept]
