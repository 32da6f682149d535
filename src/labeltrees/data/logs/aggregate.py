"""Events summed to pairs of context and item, and pairs grouped to points with labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from labeltrees.data.logs.clean import HISTORY, TEST, TRAIN
from labeltrees.data.logs.features import LIST_SEPARATOR
from labeltrees.data.logs.reading import collect
from labeltrees.data.logs.settings import LogSettings
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
        context, item, window, engagement, events, featured (its context has features), strong (enough engagement).
    values : list of frames
        context, window and value: the features of a point, only for features="column".
    """

    pairs: list[pl.LazyFrame] = field(default_factory=list)
    values: list[pl.LazyFrame] = field(default_factory=list)
    lists: bool = False  # whether values are lists of names
    n_repeated: int = 0
    n_several_values: int = 0


def aggregate(events: list[pl.LazyFrame], settings: LogSettings, shards: Shards) -> Aggregated:
    """Sum the engagement of every pair, shard by shard."""
    result = Aggregated()
    for number, shard in enumerate(events):
        if settings.drop_duplicates:
            before = collect(shard.select(pl.len())).item()
            distinct = collect(shard.unique())
            result.n_repeated += before - distinct.height
            shard = distinct.lazy()
        pairs = collect(
            shard.group_by("context", "item", "window").agg(
                pl.col("weight").sum().alias("engagement"), pl.len().alias("events")
            )
        )
        strong = pl.col("engagement") >= settings.min_engagement * _ROUNDING
        featured = pl.lit(True)
        if settings.features == "history":
            # A point's history is its context's earlier windows: HISTORY for train, HISTORY and TRAIN for test.
            first = pl.col("window").min().over("context")
            featured = first < pl.col("window")
        elif settings.features == "column":
            result.lists = isinstance(shard.collect_schema()["feature"], pl.List)
            values, n_several = _given_values(shard, result.lists)
            result.n_several_values += n_several
            result.values.append(shards.keep("values", number, values))
            pairs = pairs.join(values.select("context", "window", featured=True), on=["context", "window"], how="left")
            featured = pl.col("featured").is_not_null()
        pairs = pairs.with_columns(featured.alias("featured"), strong.alias("strong"))
        result.pairs.append(shards.keep("pairs", number, pairs))
    return result


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
        context, window, events, engagement of each remaining point.
    labels : list of frames
        context, window, label.
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


def make_points(pairs: list[pl.LazyFrame], items: pl.DataFrame, settings: LogSettings, shards: Shards) -> Points:
    """Decide how every pair is used, and collect the labels of the remaining contexts.

    Parameters
    ----------
    pairs : list of frames
        From `aggregate`.
    items : frame
        item and label of the items that are kept.
    settings : LogSettings
    shards : Shards
    """
    result = Points()
    key = ["context", "window"]
    for number, shard in enumerate(pairs):
        frame = collect(shard.join(items.lazy(), on="item", how="left"))
        carried = pl.col("featured") & pl.col("strong") & pl.col("label").is_not_null() & (pl.col("window") != HISTORY)
        frame = frame.with_columns(carried.alias("carried"))
        sums = frame.group_by(key).agg(
            pl.col("events").sum(), pl.col("engagement").sum(), pl.col("carried").any(), pl.col("featured").any()
        )
        points = sums.filter("carried").select(*key, "events", "engagement")
        result.points.append(points.with_columns(pl.lit(number, pl.UInt32).alias("shard")))
        result.labels.append(shards.keep("labels", number, frame.filter("carried").select(*key, "label")))
        if settings.features == "history":
            history = _history(frame, points)
            frame = _mark_history(frame, history)
            result.history.append(shards.keep("history", number, history))
        _count(result, frame, sums)
    return result


def _history(frame: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Return the history of each point: its context's pairs, summed over earlier windows."""
    earlier = frame.select("context", "item", "engagement", pl.col("window").alias("then"))
    parts = []
    for window in (TRAIN, TEST):
        of_window = points.filter(pl.col("window") == window).select("context", "window")
        before = earlier.filter(pl.col("then") < window)
        parts.append(before.join(of_window, on="context", how="inner"))
    return pl.concat(parts).group_by("context", "window", "item").agg(pl.col("engagement").sum())


def _mark_history(frame: pl.DataFrame, history: pl.DataFrame) -> pl.DataFrame:
    """Add a column that says whether a pair is in the history of a point of its context."""
    last = history.group_by("context").agg(pl.col("window").max().alias("last"))
    return frame.join(last, on="context", how="left").with_columns(
        (pl.col("window") < pl.col("last")).fill_null(False).alias("as_history")
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
