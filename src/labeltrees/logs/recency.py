"""Recency: the weight of an event is halved for every half-life of its age."""

from __future__ import annotations

import datetime as dt
import math

import polars as pl

from labeltrees.logs.clean import HISTORY, TEST, TRAIN
from labeltrees.logs.settings import LogSettings


class Recency:
    """Weights that fall with age.

    Events are weighted once, by their age at the last event of the log. Ages at any other moment differ by the same
    length for all events, so changing the moment is one factor.

    Parameters
    ----------
    half_life : timedelta or None
        None: the age does not matter.
    last : datetime or None
        The time of the last event.
    """

    def __init__(self, half_life: dt.timedelta | None, last: dt.datetime | None) -> None:
        self._half_life, self._last = half_life, last

    @property
    def is_used(self) -> bool:
        """Whether weights fall with age."""
        return self._half_life is not None

    def weight(self) -> pl.Expr:
        """Return the weight of an event, by its columns weight and moment."""
        if self._half_life is None or self._last is None:
            return pl.col("weight")
        age = (pl.lit(self._last) - pl.col("moment")).dt.total_microseconds(fractional=True)
        return pl.col("weight") * (age * (-math.log(2) / _microseconds(self._half_life))).exp()

    def factor(self, moment: dt.datetime | None) -> float:
        """Return the factor that changes the age at the last event to the age at `moment`."""
        if self._half_life is None or self._last is None or moment is None:
            return 1.0
        return float(2.0 ** min((self._last - moment) / self._half_life, 1000.0))

    def label_factor(self, settings: LogSettings) -> pl.Expr:
        """Return the factor of a pair by its window: the age of a training event is taken at the split."""
        factors = {HISTORY: settings.history_before, TRAIN: settings.test_since, TEST: None}
        return _by_window({window: self.factor(moment) for window, moment in factors.items()})

    def history_factor(self, settings: LogSettings) -> pl.Expr:
        """Return the factor of a history by the window or the start of its point: the history ends there."""
        if settings.has_sessions:
            if self._half_life is None or self._last is None:
                return pl.lit(1.0)
            age = (pl.lit(self._last).dt.epoch("us") - pl.col("order")).cast(pl.Float64)
            return (age * (math.log(2) / _microseconds(self._half_life))).clip(upper_bound=690).exp()
        return _by_window({TRAIN: self.factor(settings.history_before), TEST: self.factor(settings.test_since)})


def _microseconds(length: dt.timedelta) -> float:
    return length / dt.timedelta(microseconds=1)


def _by_window(factors: dict[int, float]) -> pl.Expr:
    expression = pl.lit(1.0)
    for window, factor in factors.items():
        expression = pl.when(pl.col("window") == window).then(pl.lit(factor)).otherwise(expression)
    return expression
