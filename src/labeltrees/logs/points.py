"""From pairs to points with labels: choice of items, use of every pair, train and test, leakage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from labeltrees.errors import InputError
from labeltrees.logs.clean import HISTORY, TESTING, TRAINING
from labeltrees.logs.events import collect
from labeltrees.logs.pairs import Pairs, PairThreshold, Recency, marked_pairs
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.shards import Kept, ShardWork, keep
from labeltrees.tasks import Outcome, Results

FATES = (
    "repeated event",
    "history of a context without items",
    "context without features",
    "pair of low engagement",
    "rare item",
)
# Training points per basket by "auto": limited by this total of pairs, and to this many points.
_MANY_PAIRS, _MOST_POINTS = 16_000_000, 8
SAME_CONTEXT = "test events before a training event of the same context"
ANY_CONTEXT = "test events before the last training event"


def choose_items(
    pairs: Pairs, settings: LogSettings, threshold: PairThreshold, work: ShardWork
) -> tuple[Kept, pl.DataFrame, int]:
    """Return the items that become labels (item, label), as `Kept` and in memory, and the number of all items."""
    counted = work.run(
        "counting items",
        count_items,
        [{"pairs": shard} for shard in pairs.shards],
        settings=settings,
        threshold=threshold,
    )
    shards = Kept(counted, "counted")
    (name,) = work.run("choosing items", keep_items, [{"counted": shards, "least": settings.min_item_contexts}])
    items = Kept([name], "items")
    return items, collect(items.frame(work.results)), work.results[name].values["n_seen"]


def count_items(results: Results, *, pairs: Kept, settings: LogSettings, threshold: PairThreshold) -> Outcome:
    """Keep the items in label windows of one shard, with the number of points that may have each: item, points."""
    labels = marked_pairs(pairs.frame(results), settings, threshold).filter(pl.col("window") != HISTORY)
    used = (pl.col("featured") & pl.col("strong")).sum()
    return {}, {"counted": keep(results, "counted", collect(labels.group_by("item").agg(used.alias("points"))))}


def keep_items(results: Results, *, counted: Kept, least: int) -> Outcome:
    """Keep the items that at least `least` points may have, numbered in their order."""
    seen = collect(counted.frame(results).group_by("item").agg(pl.col("points").sum()))
    items = seen.filter(pl.col("points") >= least).sort("item")
    items = items.select("item", pl.int_range(pl.len(), dtype=pl.Int32).alias("label"))
    return {}, {"items": keep(results, "items", items), "n_seen": seen.height}


@dataclass
class LogPoints:
    """Points and their labels; lists have one entry per shard.

    Attributes
    ----------
    points : list of frames
        context, window, group, order, events, engagement and shard of each remaining point, and latest (the time of its
        last event) if the log has times.
    labels : list
        context, window, label, engagement.
    history : list
        context, window (of the point), item, engagement; only for features="history".
    events, pairs : counters by fate
        How events and pairs were used ("labels", "history"), or one of FATES.
    contexts : counter
        Contexts "seen" in label windows, each of which is "without features", "empty" or "used"; and contexts with
        "history only".
    """

    points: list[pl.DataFrame]
    labels: list[Kept]
    history: list[Kept]
    events: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    contexts: Counter[str] = field(default_factory=Counter)


def make_points(
    pairs: Pairs, items: Kept, settings: LogSettings, threshold: PairThreshold, recency: Recency, work: ShardWork
) -> LogPoints:
    """Decide how every pair is used, and collect the labels of the remaining contexts."""
    names = work.run(
        "making points",
        points_of_shard,
        [{"pairs": shard, "number": number} for number, shard in enumerate(pairs.shards)],
        items=items,
        settings=settings,
        threshold=threshold,
        recency=recency,
    )
    made = LogPoints(
        [collect(Kept([name], "points").frame(work.results)) for name in names],
        [Kept([name], "labels") for name in names],
        [Kept([name], "history") for name in names],
    )
    for record in work.values(names):
        made.events.update(record["n_events"])
        made.pairs.update(record["n_pairs"])
        made.contexts.update(record["n_contexts"])
    return made


def points_of_shard(
    results: Results,
    *,
    pairs: Kept,
    number: int,
    items: Kept,
    settings: LogSettings,
    threshold: PairThreshold,
    recency: Recency,
) -> Outcome:
    """Keep the points of one shard, their labels and histories; return counts of events, pairs and contexts."""
    key = ["context", "window"]
    marked = marked_pairs(pairs.frame(results), settings, threshold)
    frame = collect(marked.join(items.frame(results), on="item", how="left"))
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
    record = {
        "points": keep(results, "points", points.with_columns(pl.lit(number, pl.UInt32).alias("shard"))),
        "labels": keep(results, "labels", frame.filter("carried").select(*key, "label", "engagement")),
    }
    if settings.features == "history":
        record["history"] = keep(results, "history", _history(frame, points, recency.history_factor(settings)))
        frame = _mark_history(frame, points)
    return {}, record | _count(frame, sums)


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
        "n_events": dict(fates.select("fate", "events").iter_rows()),
        "n_pairs": dict(fates.select("fate", "pairs").iter_rows()),
        "n_contexts": {
            "seen": of_context.height,
            "without features": int((~of_context["featured"]).sum()),
            "empty": int((of_context["featured"] & ~of_context["carried"]).sum()),
            "used": int(of_context["carried"].sum()),
            "history only": sums["context"].n_unique() - of_context.height,
        },
    }


def points_per_context(n_pairs: int, settings: LogSettings) -> int:
    """Return the maximum number of training points per context; by default fewer for larger logs of baskets."""
    if settings.points_per_context != "auto":
        return int(settings.points_per_context)
    return 1 if settings.features != "basket" else max(1, min(_MANY_PAIRS // max(n_pairs, 1), _MOST_POINTS))


def order_points(points: pl.DataFrame, settings: LogSettings) -> tuple[pl.DataFrame, int]:
    """Return the points in order, training points first, and the number of training points.

    Training and test points are each ordered by context, so that the result does not depend on the order of events or
    on threads. In a split by time, the window of a point decides; otherwise a random share of the contexts, with all
    their sessions, is for testing.
    """
    points = points.sort("context", "window")
    if settings.test_since is not None:
        for_test = points["window"].to_numpy() == TESTING
    else:
        contexts = points["group"].unique().sort()
        n_test = round(settings.test_share * len(contexts))
        if settings.test_share > 0 and len(contexts) > 1:
            n_test = max(n_test, 1)
        drawn = np.random.default_rng(settings.random_state).permutation(len(contexts))[:n_test]
        drawn_for_test = pl.col("group").is_in(contexts[np.sort(drawn)].implode())
        points = points.filter(~drawn_for_test | (pl.col("window") == TRAINING))  # one test point per context
        for_test = points.select(drawn_for_test)["group"].to_numpy()
    n_train = int(len(for_test) - for_test.sum())
    if n_train == 0:
        message = f"all {points.height:,} remaining points are for testing, none for training"
        raise InputError(message)
    order = np.concatenate([np.flatnonzero(~for_test), np.flatnonzero(for_test)])
    return points[order].with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("point")), n_train


def count_leaks(events: list[pl.LazyFrame], points: pl.DataFrame, n_train: int) -> dict[str, int]:
    """Return how many events of test points are older than training events.

    Parameters
    ----------
    events : list of frames
        The events of each shard, with their moment. If contexts are sessions, group is the context.
    points : frame
        context, window, shard, point and latest, the time of the last event; the first `n_train` are for training.
    """
    last = points.filter(pl.col("point") < n_train)["latest"].max()
    same = any_context = 0
    for number, shard in enumerate(events):  # a shard has all events of its contexts
        group = "group" if "group" in shard.collect_schema() else "context"
        used = points.lazy().filter(pl.col("shard") == number)
        used = used.select("context", "window", is_train=pl.col("point") < n_train)
        joined = shard.join(used, on=["context", "window"]).select(pl.col(group).alias("group"), "is_train", "moment")
        found = collect(joined)
        train = found.filter("is_train").group_by("group").agg(pl.col("moment").max().alias("last"))
        test = found.filter(~pl.col("is_train")).join(train, on="group", how="left")
        same += int((test["moment"] < test["last"]).sum())
        any_context += int((test["moment"] < last).sum())
    return {SAME_CONTEXT: same, ANY_CONTEXT: any_context}
