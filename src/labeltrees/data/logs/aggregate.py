"""Events summed to pairs of context and item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from labeltrees.data.logs.clean import HISTORY
from labeltrees.data.logs.features import LIST_SEPARATOR
from labeltrees.data.logs.reading import collect
from labeltrees.data.logs.recency import Recency
from labeltrees.data.logs.settings import LOW_ENGAGEMENT, LogSettings
from labeltrees.data.logs.shards import EVENTS, Shards
from labeltrees.data.logs.steps import Report, ShardStep, StepRunner

# Tolerance: sums of the same weights in another order differ in their last digits.
_ROUNDING = 1 - 1e-9

PAIRS, VALUES, SESSIONS = "pairs", "values", "sessions"  # names of frames


@dataclass
class Aggregated:
    """The pairs of a log; lists have one entry per shard.

    Attributes
    ----------
    pairs : list of frames
        context, item, window, engagement, recent (by its age at the last event), events; group and order if contexts
        are sessions; latest (the time of the last event) if the log has times; valued (its context has a value) if
        features come from a column.
    values : list of frames
        context, window and value: the features of a point, only for features="column".
    """

    pairs: list[pl.LazyFrame] = field(default_factory=list)
    values: list[pl.LazyFrame] = field(default_factory=list)
    lists: bool = False  # whether values are lists of names
    n_repeated: int = 0
    n_several_values: int = 0


def aggregate(
    settings: LogSettings, shards: Shards, recency: Recency, whole_weights: bool, runner: StepRunner, report: Report
) -> Aggregated:
    """Sum the engagement of every pair, shard by shard."""
    result = Aggregated()
    arguments = {"settings": settings, "recency": recency, "whole_weights": whole_weights}
    steps = [ShardStep(PAIRS, sum_pairs, shards, number, arguments) for number in range(shards.count)]
    for record in runner.run("summing pairs", steps, report):
        result.lists = record["lists"]
        result.n_repeated += record["n_repeated"]
        result.n_several_values += record["n_several_values"]
    result.pairs = shards.frames(PAIRS)
    if settings.features == "column":
        result.values = shards.frames(VALUES)
    return result


def sum_pairs(
    shards: Shards, number: int, *, settings: LogSettings, recency: Recency, whole_weights: bool
) -> dict[str, Any]:
    """Keep the pairs and values of one shard; return what was counted."""
    record: dict[str, Any] = {"lists": False, "n_repeated": 0, "n_several_values": 0}
    shard = shards.frame(SESSIONS if settings.has_sessions else EVENTS, number)
    # Sums of fractions depend on their order in the last digits: such weights are sorted before they are summed.
    weight = recency.weight()
    total = weight.sum() if whole_weights and not recency.is_used else weight.sort().sum()
    if settings.drop_duplicates:
        before = collect(shard.select(pl.len())).item()
        distinct = collect(shard.unique())
        record["n_repeated"] = before - distinct.height
        shard = distinct.lazy()
    key = ["context", "item", "window", *(("group", "order") if settings.has_sessions else ())]
    has_time = "moment" in shard.collect_schema()
    latest = [pl.col("moment").max().alias("latest")] if has_time else []
    pairs = collect(shard.group_by(key).agg(total.alias("recent"), pl.len().alias("events"), *latest))
    pairs = pairs.with_columns((pl.col("recent") * recency.label_factor(settings)).alias("engagement"))
    if settings.features == "column":
        record["lists"] = isinstance(shard.collect_schema()["feature"], pl.List)
        values, record["n_several_values"] = _given_values(shard, record["lists"])
        shards.keep(VALUES, number, values)
        pairs = pairs.join(values.select("context", "window", valued=True), on=["context", "window"], how="left")
    shards.keep(PAIRS, number, pairs)
    return record


def mark_pairs(pairs: list[pl.LazyFrame], settings: LogSettings) -> tuple[list[pl.LazyFrame], float, int]:
    """Say of each pair whether its context has features, and whether it has enough engagement.

    Returns
    -------
    pairs : list of frames
        With group, order, featured and strong added.
    min_engagement : float
        The threshold used.
    n_weak : int
        The number of pairs of low engagement that were kept, because most events are in such pairs.
    """
    given = settings.min_engagement
    if given != "auto":
        return [marked(shard, float(given), settings) for shard in pairs], float(given), 0
    strict = [marked(shard, LOW_ENGAGEMENT, settings) for shard in pairs]
    labels = pl.concat([shard.select("window", "events", "strong") for shard in strict])
    weak = ~pl.col("strong")
    found = collect(
        labels.filter(pl.col("window") != HISTORY).select(
            pl.col("events").sum().alias("all"),
            pl.col("events").filter(weak).sum().alias("weak"),
            weak.sum().alias("n"),
        )
    ).row(0, named=True)
    if 2 * found["weak"] <= found["all"]:
        return strict, LOW_ENGAGEMENT, 0
    return [marked(shard, 0.0, settings) for shard in pairs], 0.0, found["n"]


def marked(shard: pl.LazyFrame, min_engagement: float, settings: LogSettings) -> pl.LazyFrame:
    """Return the pairs of one shard as `mark_pairs` does."""
    if not settings.has_sessions:  # of one context, events of an earlier window are the history of a later one
        shard = shard.with_columns(group=pl.col("context"), order=pl.col("window").cast(pl.Int64))
    strong = (pl.col("engagement") >= min_engagement * _ROUNDING).alias("strong")
    featured = pl.lit(True)
    if settings.features == "history":
        featured = pl.col("order").min().over("group") < pl.col("order")
    elif settings.features == "basket":
        featured = strong.sum().over("context", "window") > 1
    elif settings.features == "column":
        featured = pl.col("valued").is_not_null()
    return shard.with_columns(featured.alias("featured"), strong)


def _given_values(shard: pl.LazyFrame, lists: bool) -> tuple[pl.DataFrame, int]:
    """Return the features of every point as one text (of several the most common), and how many had several."""
    feature = pl.col("feature")
    if lists:
        feature = feature.list.drop_nulls().list.join(LIST_SEPARATOR)
    counted = collect(
        shard.filter(pl.col("window") != HISTORY)
        .select("context", "window", feature.alias("value"))
        .filter(pl.col("value").str.strip_chars() != "")
        .group_by("context", "window", "value")
        .len("n")
    )
    values = (
        counted.sort("n", "value", descending=[True, False])
        .group_by("context", "window", maintain_order=True)
        .agg(pl.col("value").first(), pl.len().alias("n_values"))
    )
    return values.drop("n_values"), int((values["n_values"] > 1).sum())


def count_items(pairs: list[pl.LazyFrame]) -> pl.DataFrame:
    """Return every item of the label windows, and the number of points that may have it: item, points."""
    carried = (pl.col("featured") & pl.col("strong")).sum()
    labels = pl.concat(pairs).filter(pl.col("window") != HISTORY)
    return collect(labels.group_by("item").agg(carried.alias("points")))
