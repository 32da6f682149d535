"""Holds, fails or undecided: the verdict on a claim follows from its intervals and a margin that was set beforehand."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.paper.intervals import Interval

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"

PRECISION_MARGIN = 0.5  # points of precision that are too few to matter
DEPTH_MARGIN = 10.0  # percent: "by at least 10 %" is the smallest fall of the depth that the paper reports
MIN_SEEDS = 3  # with fewer, the interval says too little about the spread between seeds
SERVED = 50.0  # percent of the points that 1 % of the labels serve in the paper's figure 1


def above(estimate: Interval, limit: float) -> str:
    """Judge "the value is above the limit"."""
    if estimate.low > limit:
        return HOLDS
    return FAILS if estimate.high < limit else UNDECIDED


def below(estimate: Interval, limit: float) -> str:
    """Judge "the value is below the limit"."""
    return above(Interval(-estimate.value, -estimate.high, -estimate.low), -limit)


def within(estimate: Interval, margin: float) -> str:
    """Judge "the value is zero, give or take the margin"."""
    if -margin < estimate.low and estimate.high < margin:
        return HOLDS
    return FAILS if estimate.low > margin or estimate.high < -margin else UNDECIDED


def enough_seeds(verdict: str, n_seeds: int) -> str:
    """Return the verdict, or "undecided" if it rests on too few seeds."""
    return verdict if n_seeds >= MIN_SEEDS else UNDECIDED


def all_of(verdicts: Iterable[str]) -> str:
    """Judge a claim with several parts: it fails if one fails, and holds if all hold."""
    found = set(verdicts)
    if FAILS in found:
        return FAILS
    return UNDECIDED if UNDECIDED in found else HOLDS
