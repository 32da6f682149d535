"""Events summed to pairs of context and item."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from labeltrees.logs.clean import HISTORY
from labeltrees.logs.features import LIST_SEPARATOR
from labeltrees.logs.reading import collect
from labeltrees.logs.recency import Recency
from labeltrees.logs.settings import LOW_ENGAGEMENT, LogSettings
from labeltrees.logs.shards import EVENTS, Shards
from labeltrees.logs.steps import Report, ShardStep, StepRunner

# Tolerance: sums of the same weights in another order differ in their last digits.
_ROUNDING = 1 - 1e-9

PAIRS, VALUES, SESSIONS, COUNTED = "pairs", "values", "sessions", "counted"  # names of frames


@dataclass
class Aggregated:
    """What is known of the pairs of a log.

    The pairs of each shard are kept under the name PAIRS: context, item, window, total (of the weights), engagement,
    recent (the total by age at the last event), events; group and order if contexts are sessions; latest (the time of
    the last event) if the log has times; valued (its context has a value) if features come from a column.

    Attributes
    ----------
    values : list of frames
        By shard: context, window and value, the features of a point; only for features="column".
    weak : counter
        Events of the label windows, and the events and pairs of low engagement among them.
    """

    values: list[pl.LazyFrame] = field(default_factory=list)
    lists: bool = False  # whether values are lists of names
    n_repeated: int = 0
    n_several_values: int = 0
    weak: Counter[str] = field(default_factory=Counter)


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
        result.weak.update(record["weak"])
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
    total = pl.col("weight").sum() if whole_weights else pl.col("weight").sort().sum()
    recent = recency.weight().sort().sum() if recency.is_used else total
    if settings.drop_duplicates:
        before = collect(shard.select(pl.len())).item()
        distinct = collect(shard.unique())
        record["n_repeated"] = before - distinct.height
        shard = distinct.lazy()
    key = ["context", "item", "window", *(("group", "order") if settings.has_sessions else ())]
    has_time = "moment" in shard.collect_schema()
    latest = [pl.col("moment").max().alias("latest")] if has_time else []
    sums = (total.alias("total"), recent.alias("recent"), pl.len().alias("events"))
    pairs = collect(shard.group_by(key).agg(*sums, *latest)).with_columns(
        (pl.col("recent") * recency.label_factor(settings)).alias("engagement")
    )
    if settings.features == "column":
        record["lists"] = isinstance(shard.collect_schema()["feature"], pl.List)
        values, record["n_several_values"] = _given_values(shard, record["lists"])
        shards.keep(VALUES, number, values)
        pairs = pairs.join(values.select("context", "window", valued=True), on=["context", "window"], how="left")
    shards.keep(PAIRS, number, pairs)
    weak = ~is_strong("total", LOW_ENGAGEMENT)
    record["weak"] = (
        pairs.filter(pl.col("window") != HISTORY)
        .select(
            pl.col("events").sum(),
            pl.col("events").filter(weak).sum().alias("weak events"),
            weak.sum().alias("weak pairs"),
        )
        .row(0, named=True)
    )
    return record


def is_strong(column: str, threshold: float) -> pl.Expr:
    """Return whether a pair has enough engagement."""
    return pl.col(column) >= threshold * _ROUNDING


class Threshold(NamedTuple):
    """The least value that a pair must have in a column, and how many pairs of low engagement are kept."""

    column: str
    value: float
    n_weak: int = 0


def engagement_threshold(aggregated: Aggregated, settings: LogSettings) -> Threshold:
    """Return the threshold that the user has given, or that of "auto".

    "auto" keeps all pairs if more than half of the events are in pairs of low engagement. It does not look at the age
    of events: a pair that was engaged with twice is not of low engagement only because that was long ago.
    """
    if settings.min_engagement != "auto":
        return Threshold("engagement", float(settings.min_engagement))
    weak = aggregated.weak
    if 2 * weak["weak events"] <= weak["events"]:
        return Threshold("total", LOW_ENGAGEMENT)
    return Threshold("total", 0.0, weak["weak pairs"])


def marked_pairs(shards: Shards, number: int, settings: LogSettings, threshold: Threshold) -> pl.LazyFrame:
    """Return the pairs of one shard with group, order and two marks.

    `featured`: their context has features; `strong`: they have enough engagement.
    """
    shard = shards.frame(PAIRS, number)
    if not settings.has_sessions:  # of one context, events of an earlier window are the history of a later one
        shard = shard.with_columns(group=pl.col("context"), order=pl.col("window").cast(pl.Int64))
    strong = is_strong(threshold.column, threshold.value).alias("strong")
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


def count_items(
    settings: LogSettings, threshold: Threshold, shards: Shards, runner: StepRunner, report: Report
) -> pl.DataFrame:
    """Return every item of the label windows, and the number of points that may have it: item, points."""
    arguments = {"settings": settings, "threshold": threshold}
    steps = [ShardStep(COUNTED, items_of_shard, shards, number, arguments) for number in range(shards.count)]
    runner.run("counting items", steps, report)
    return collect(pl.concat(shards.frames(COUNTED)).group_by("item").agg(pl.col("points").sum()))


def items_of_shard(shards: Shards, number: int, *, settings: LogSettings, threshold: Threshold) -> dict[str, Any]:
    """Keep the items of one shard, and the number of its points that may have them."""
    labels = marked_pairs(shards, number, settings, threshold).filter(pl.col("window") != HISTORY)
    carried = (pl.col("featured") & pl.col("strong")).sum()
    shards.keep(COUNTED, number, collect(labels.group_by("item").agg(carried.alias("points"))))
    return {}
