"""Pairs grouped to points with labels, and how every event and pair was used."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from labeltrees.logs.aggregate import Threshold, marked_pairs
from labeltrees.logs.clean import HISTORY
from labeltrees.logs.reading import collect
from labeltrees.logs.recency import Recency
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.shards import Shards
from labeltrees.logs.steps import Report, ShardStep, StepRunner

ITEMS, POINTS, LABELS, PAST = "items", "points", "labels", "history"  # names of frames
FATES = (
    "repeated event",
    "history of a context without items",
    "context without features",
    "pair of low engagement",
    "rare item",
)


@dataclass
class Points:
    """Points and their labels; lists have one entry per shard.

    Attributes
    ----------
    points : list of frames
        context, group, window, events, engagement and latest of each remaining point.
    labels : list of frames
        context, window, label, engagement.
    history : list of frames
        context, window (of the point), item, engagement; empty unless features="history".
    events, pairs : counters by fate
        How events and pairs were used ("labels", "history"), or one of FATES.
    contexts : counter
        Contexts "seen" in label windows, each of which is "without features", "empty" or "used"; and contexts with
        "history only".
    """

    points: list[pl.DataFrame] = field(default_factory=list)
    labels: list[pl.LazyFrame] = field(default_factory=list)
    history: list[pl.LazyFrame] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    contexts: Counter[str] = field(default_factory=Counter)


def make_points(
    items: pl.DataFrame,
    settings: LogSettings,
    threshold: Threshold,
    shards: Shards,
    recency: Recency,
    runner: StepRunner,
    report: Report,
) -> Points:
    """Decide how every pair is used, and collect the labels of the remaining contexts.

    Parameters
    ----------
    items : frame
        item and label of the items that are kept.
    settings : LogSettings
    threshold : Threshold
    shards : Shards
        With the pairs.
    """
    shards.keep(ITEMS, 0, items)
    arguments = {"settings": settings, "threshold": threshold, "recency": recency}
    steps = [ShardStep(POINTS, points_of_shard, shards, number, arguments) for number in range(shards.count)]
    result = Points()
    for record in runner.run("making points", steps, report):
        for name, counter in (("events", result.events), ("pairs", result.pairs), ("contexts", result.contexts)):
            counter.update(record[name])
    result.points = [collect(frame) for frame in shards.frames(POINTS)]
    result.labels = shards.frames(LABELS)
    if settings.features == "history":
        result.history = shards.frames(PAST)
    return result


def points_of_shard(
    shards: Shards, number: int, *, settings: LogSettings, threshold: Threshold, recency: Recency
) -> dict[str, Any]:
    """Keep the points of one shard, their labels and histories; return counts of events, pairs and contexts."""
    key = ["context", "window"]
    pairs = marked_pairs(shards, number, settings, threshold)
    frame = collect(pairs.join(shards.frame(ITEMS, 0), on="item", how="left"))
    latest = [name for name in frame.columns if name == "latest"]
    if settings.features == "basket":  # without its rare items a basket may have one item left
        known = (pl.col("strong") & pl.col("label").is_not_null()).sum().over(key) > 1
        frame = frame.with_columns(pl.col("featured") & known)
    carried = pl.col("featured") & pl.col("strong") & pl.col("label").is_not_null() & (pl.col("window") != HISTORY)
    frame = frame.with_columns(carried.alias("carried"))
    sums = frame.group_by(key).agg(
        pl.col("group", "order").first(),
        pl.col("events").sum(),
        pl.col("engagement").sort().sum(),
        pl.col("carried").any(),
        pl.col("featured").any(),
        *(pl.col(name).max() for name in latest),
    )
    points = sums.filter("carried").select(*key, "group", "order", "events", "engagement", *latest)
    shards.keep(POINTS, number, points.with_columns(pl.lit(number, pl.UInt32).alias("shard")))
    shards.keep(LABELS, number, frame.filter("carried").select(*key, "label", "engagement"))
    if settings.features == "history":
        shards.keep(PAST, number, _history(frame, points, recency.history_factor(settings)))
        frame = _mark_history(frame, points)
    return _count(frame, sums)


def _history(frame: pl.DataFrame, points: pl.DataFrame, factor: pl.Expr) -> pl.DataFrame:
    """Return the history of each point: the pairs of its group, summed over earlier windows or sessions."""
    earlier = frame.select("group", "item", "recent", pl.col("order").alias("then"))
    joined = points.lazy().select("context", "window", "group", "order").join(earlier.lazy(), on="group")
    before = joined.filter(pl.col("then") < pl.col("order"))
    sums = before.group_by("context", "window", "order", "item").agg(pl.col("recent").sort().sum())
    return collect(sums.select("context", "window", "item", (pl.col("recent") * factor).alias("engagement")))


def _mark_history(frame: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Add a column that says whether a pair is in the history of a point of its group."""
    last = points.group_by("group").agg(pl.col("order").max().alias("last"))
    return frame.join(last, on="group", how="left").with_columns(
        (pl.col("order") < pl.col("last")).fill_null(False).alias("as_history")
    )


def _count(frame: pl.DataFrame, sums: pl.DataFrame) -> dict[str, dict[str, int]]:
    as_history = pl.col("as_history") if "as_history" in frame.columns else pl.lit(False)
    fate = (
        pl.when("carried")
        .then(pl.lit("labels"))
        .when(as_history)
        .then(pl.lit("history"))
        .when(pl.col("window") == HISTORY)
        .then(pl.lit(FATES[1]))
        .when(~pl.col("featured"))
        .then(pl.lit(FATES[2]))
        .when(~pl.col("strong"))
        .then(pl.lit(FATES[3]))
        .otherwise(pl.lit(FATES[4]))
    )
    fates = frame.group_by(fate.alias("fate")).agg(pl.col("events").sum(), pl.len().alias("pairs"))
    with_labels = sums.filter(pl.col("window") != HISTORY)
    of_context = with_labels.group_by("context").agg(pl.col("featured").any(), pl.col("carried").any())
    return {
        "events": dict(fates.select("fate", "events").iter_rows()),
        "pairs": dict(fates.select("fate", "pairs").iter_rows()),
        "contexts": {
            "seen": of_context.height,
            "without features": int((~of_context["featured"]).sum()),
            "empty": int((of_context["featured"] & ~of_context["carried"]).sum()),
            "used": int(of_context["carried"].sum()),
            "history only": sums["context"].n_unique() - of_context.height,
        },
    }
