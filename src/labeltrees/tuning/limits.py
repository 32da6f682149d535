"""The limits of a choice, and which settings meet them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from labeltrees._validation import check_number, refuse
from labeltrees.errors import LabelTreesError
from labeltrees.tuning.paired_bound import PairedDifference, is_beyond_luck, paired_difference
from labeltrees.tuning.quality import Hits, split_metric

_SAMPLE_TOLERANCE = 1.5  # the latency limit of early rounds: models of a sample are smaller, and so faster
SAME_TIME = 1.05  # times that differ by less than this factor count as equal


class Measured(Protocol):
    """Settings that were measured on the same points: those of a sweep, or variants of a model."""

    comparison: str | None

    @property
    def _hits(self) -> dict[str, Hits]: ...

    def record(self, name: str) -> dict[str, Any]:
        """Return the measurements of a setting."""


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
        "p" or "ndcg" followed by a number of at most `k`.
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
        return tuple(sorted({at for at in (1, 3, self.k, split_metric(self.metric)[1]) if at <= self.k}))

    def validate(self) -> None:
        """Raise `InputError` if a limit or the metric is not allowed."""
        if self.max_precision_loss is not None:
            check_number("max_precision_loss", self.max_precision_loss, 0, 1)
        if self.max_latency_us is not None:
            check_number("max_latency_us", self.max_latency_us, 0, low_open=True)
        kind, k = split_metric(self.metric)
        if kind not in ("p", "ndcg") or k > self.k:
            refuse("metric", f"p or ndcg followed by a number of at most k = {self.k}, such as 'p1'", self.metric)

    def judge(self, result: Measured, own: str | None = None, n_tried: int | None = None) -> Verdict:
        """Compare every setting of a result with the most precise one, and with the estimator's own, if it is there.

        `n_tried` is the number of settings that were compared with `own`, if some were dropped after early rounds.
        """
        values = {name: hits.per_point(self.metric) for name, hits in result._hits.items()}
        names = list(values)
        best = names[int(np.argmax([values[name].mean() for name in names]))]
        differences = {name: paired_difference(values[name], values[best]) for name in names}
        if own not in values:
            return Verdict(self, result, best, differences)
        n_others = max(n_tried or 0, len(names) - 1)
        better = [name for name in names if name != own and is_beyond_luck(values[name], values[own], n_others)]
        return Verdict(self, result, best, differences, own, frozenset(better))


@dataclass(frozen=True)
class Verdict:
    """How the settings of a result compare with the best, and which of them meet the limits."""

    limits: Limits
    result: Measured
    best: str
    differences: dict[str, PairedDifference]
    own: str | None = None  # the estimator's own setting: others must gain more than luck to replace it
    better_than_own: frozenset[str] = frozenset()

    def metric(self, name: str) -> float:
        """Return a setting's metric."""
        return float(self.result.record(name)[self.limits.metric])

    def time(self, name: str, percentile: int = 50) -> float:
        """Return the microseconds of a setting's single calls."""
        return float(self.result.record(name)[f"top{self.limits.k}_p{percentile}_us"])

    def is_close(self, name: str) -> bool:
        """Whether a setting is, with confidence, within the allowed loss of the best."""
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
        fast = [name for name in names if self.is_fast(name)]
        if not fast:
            quickest = min(names, key=lambda name: self.time(name, 99))
            message = (
                f"no setting meets max_latency_us={self.limits.max_latency_us:g}: the fastest, {quickest}, takes "
                f"{self.time(quickest, 99):.1f} us per call (99th percentile, k = {self.limits.k}). Allow more time or "
                f"try other tradeoffs and fanouts"
            )
            raise LabelTreesError(message)
        if self.limits.max_precision_loss is None:
            kept = [name for name in fast if self.own not in fast or name == self.own or name in self.better_than_own]
            return max(kept, key=lambda name: (self.metric(name), -self.time(name)))
        kept = [name for name in fast if self.is_close(name)]
        if not kept:
            closest = max(fast, key=self.metric)
            message = (
                f"no setting meets both max_latency_us={self.limits.max_latency_us:g} and "
                f"max_precision_loss={self.limits.max_precision_loss:g}: among the fast enough settings, "
                f"{closest} has the best {self.limits.metric}, {-self.differences[closest].mean:.4f} below the best. "
                f"Relax one of the limits"
            )
            raise LabelTreesError(message)
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
