"""A synthetic log of any size: power-law items and contexts, seasons and drift."""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl
from numpy.typing import NDArray

DAYS = 365
START = np.datetime64("2020-01-01", "ms")
CUT = "2020-10-01"  # events before are history (features); labels come from the last quarter
ITEMS_PER_TOPIC = 500
DIRTY = 0.005  # share of events without context; also of those without item, and with a weight below 0


def power_law(rng: np.random.Generator, n: int, size: int, exponent: float) -> NDArray[np.int64]:
    """Draw `size` ranks from 0 to n - 1 whose frequency falls as rank^-exponent (exponent not 1)."""
    power = 1 - exponent
    draws = (1 + ((n + 1.0) ** power - 1) * rng.random(size)) ** (1 / power)
    return draws.astype(np.int64).clip(1, n) - 1


def synthetic_events(
    n_events: int, first_day: float, days: float, seed: tuple[int, ...], options: argparse.Namespace
) -> pl.DataFrame:
    """Make the events of a period: context, item, weight, time.

    Contexts follow a power law; each likes three topics. Topics have seasons: at the peak of a topic's season, nearly
    all events of contexts that like it are about it; half a year later hardly any. Items of a topic follow a power law
    that drifts: every week the ranks shift by one item, so that last year's best seller is not this year's.
    """
    rng = np.random.default_rng(seed)
    n_topics = max(1, options.items // ITEMS_PER_TOPIC)
    context = power_law(rng, options.contexts, n_events, 0.7)
    day = first_day + np.sort(rng.random(n_events)) * days
    # Fewer events at weekends: a third of those of the last two days of a week move two days back.
    weekend = (day % 7 >= 5) & (rng.random(n_events) < 1 / 3)
    day = np.where(weekend & (day >= first_day + 2), day - 2, day)
    liked = (context * 2654435761 + rng.integers(0, 3, n_events) * 40503) % n_topics
    season = 0.5 + 0.45 * np.cos(2 * np.pi * (day / DAYS - liked / n_topics))
    elsewhere = power_law(rng, n_topics, n_events, 1.2)
    topic = np.where(rng.random(n_events) < season, liked, elsewhere)
    size = min(ITEMS_PER_TOPIC, options.items)
    rank = power_law(rng, size, n_events, 1.1)
    item = topic * size + (rank + (day // 7).astype(np.int64)) % size
    weight = rng.geometric(0.5, n_events).astype(np.float64)
    weight[rng.random(n_events) < DIRTY] *= -1
    frame = pl.DataFrame(
        {
            "context": context,
            "item": item,
            "weight": weight,
            "time": START + (day * 86_400_000).astype("timedelta64[ms]"),
            "lost": rng.random(n_events),
        }
    )
    return frame.select(
        pl.when(pl.col("lost") >= DIRTY).then(pl.format("c{}", "context")).alias("context"),
        pl.when(pl.col("lost") < 1 - DIRTY).then(pl.format("i{}", "item")).alias("item"),
        "weight",
        "time",
    )
