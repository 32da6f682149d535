"""Events summed to pairs of context and item, and pairs grouped to points with labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from labeltrees.data.logs.clean import HISTORY
from labeltrees.data.logs.features import LIST_SEPARATOR
from labeltrees.data.logs.reading import collect
from labeltrees.data.logs.recency import Recency
from labeltrees.data.logs.settings import LOW_ENGAGEMENT, LogSettings
from labeltrees.data.logs.shards import Shards

# Tolerance: sums of the same weights in another order differ in their last digits.
_ROUNDING = 1 - 1e-9

FATES = (
    "repeated event",
    "history of a context without items",
    "context without features",
    "pair of low engagement",
    "rare item",
)


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
    events: list[pl.LazyFrame],
    settings: LogSettings,
    shards: Shards,
    recency: Recency,
    whole_weights: bool = True,
    report: Callable[[float], object] = lambda _share: None,
) -> Aggregated:
    """Sum the engagement of every pair, shard by shard."""
    result = Aggregated()
    # Sums of fractions depend on their order in the last digits: such weights are sorted before they are summed.
    weight = recency.weight()
    total = weight.sum() if whole_weights and not recency.is_used else weight.sort().sum()
    for number, shard in enumerate(events):
        record = shards.finished("pairs", number)
        if record is None:
            record = _aggregate_shard(shard, number, settings, shards, recency, total)
        kept = [shards.frame(name, number) for name in record["frames"]]
        result.pairs.append(kept[0])
        result.values += kept[1:]
        result.lists = record["lists"]
        result.n_repeated += record["n_repeated"]
        result.n_several_values += record["n_several_values"]
        report((number + 1) / len(events))
    return result


def _aggregate_shard(
    shard: pl.LazyFrame, number: int, settings: LogSettings, shards: Shards, recency: Recency, total: pl.Expr
) -> dict[str, Any]:
    """Keep the pairs and values of one shard; return their names and what was counted."""
    record: dict[str, Any] = {"frames": ["pairs"], "lists": False, "n_repeated": 0, "n_several_values": 0}
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
        record["frames"] = ["pairs", "values"]
        record["lists"] = isinstance(shard.collect_schema()["feature"], pl.List)
        values, record["n_several_values"] = _given_values(shard, record["lists"])
        shards.keep("values", number, values)
        pairs = pairs.join(values.select("context", "window", valued=True), on=["context", "window"], how="left")
    shards.keep("pairs", number, pairs)
    shards.finish("pairs", number, record)
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
        return [_marked(shard, float(given), settings) for shard in pairs], float(given), 0
    marked = [_marked(shard, LOW_ENGAGEMENT, settings) for shard in pairs]
    labels = pl.concat([shard.select("window", "events", "strong") for shard in marked])
    weak = ~pl.col("strong")
    found = collect(
        labels.filter(pl.col("window") != HISTORY).select(
            pl.col("events").sum().alias("all"),
            pl.col("events").filter(weak).sum().alias("weak"),
            weak.sum().alias("n"),
        )
    ).row(0, named=True)
    if 2 * found["weak"] <= found["all"]:
        return marked, LOW_ENGAGEMENT, 0
    return [_marked(shard, 0.0, settings) for shard in pairs], 0.0, found["n"]


def _marked(shard: pl.LazyFrame, min_engagement: float, settings: LogSettings) -> pl.LazyFrame:
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
    pairs: list[pl.LazyFrame],
    items: pl.DataFrame,
    settings: LogSettings,
    shards: Shards,
    recency: Recency,
    report: Callable[[float], object] = lambda _share: None,
) -> Points:
    """Decide how every pair is used, and collect the labels of the remaining contexts.

    Parameters
    ----------
    pairs : list of frames
        From `mark_pairs`.
    items : frame
        item and label of the items that are kept.
    settings : LogSettings
    shards : Shards
    """
    result = Points()
    key = ["context", "window"]
    for number, shard in enumerate(pairs):
        frame = collect(shard.join(items.lazy(), on="item", how="left"))
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
        result.points.append(points.with_columns(pl.lit(number, pl.UInt32).alias("shard")))
        result.labels.append(shards.keep("labels", number, frame.filter("carried").select(*key, "label", "engagement")))
        if settings.features == "history":
            history = _history(frame, points, recency.history_factor(settings))
            frame = _mark_history(frame, points)
            result.history.append(shards.keep("history", number, history))
        _count(result, frame, sums)
        report((number + 1) / len(pairs))
    return result


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


def _count(result: Points, frame: pl.DataFrame, sums: pl.DataFrame) -> None:
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
    for name, n_events, n_pairs in fates.iter_rows():
        result.events[name] += n_events
        result.pairs[name] += n_pairs
    with_labels = sums.filter(pl.col("window") != HISTORY)
    of_context = with_labels.group_by("context").agg(pl.col("featured").any(), pl.col("carried").any())
    result.contexts["seen"] += of_context.height
    result.contexts["without features"] += int((~of_context["featured"]).sum())
    result.contexts["empty"] += int((of_context["featured"] & ~of_context["carried"]).sum())
    result.contexts["used"] += int(of_context["carried"].sum())
    result.contexts["history only"] += sums["context"].n_unique() - of_context.height
