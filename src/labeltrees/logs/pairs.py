"""From events to pairs of context and item: sessions, weights by age, sums, and the engagement threshold."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from labeltrees.logs.clean import HISTORY, TESTING, TRAINING, earlier_cuts, window_of
from labeltrees.logs.events import collect
from labeltrees.logs.features import LIST_SEPARATOR
from labeltrees.logs.settings import LOW_ENGAGEMENT, LogSettings
from labeltrees.logs.shards import Kept, ShardWork, keep
from labeltrees.tasks import Outcome, Results

_BETWEEN = "\x1f"  # between a context and its session
# Tolerance: sums of the same weights in another order differ in their last digits.
_ROUNDING = 1 - 1e-9


def make_sessions(events: list[Kept], settings: LogSettings, work: ShardWork) -> list[Kept]:
    """Return the events of each shard with sessions as contexts."""
    shards = [{"events": shard} for shard in events]
    names = work.run("splitting sessions", sessions_of_shard, shards, settings=settings)
    return [Kept([name], "sessions") for name in names]


def sessions_of_shard(results: Results, *, events: Kept, settings: LogSettings) -> Outcome:
    """Keep the events of a shard with sessions as contexts."""
    return {}, {"sessions": keep(results, "sessions", split_sessions(events.frame(results), settings))}


def split_sessions(shard: pl.LazyFrame, settings: LogSettings) -> pl.DataFrame:
    """Return the events of a shard with sessions as contexts.

    The column context becomes the session, group is the context, and order is the start of the session (0 for a log
    without times). A session belongs to the window of its first event, so no session is cut in two.
    """
    has_time = "moment" in shard.collect_schema()
    if settings.session is not None:
        session = pl.col("session").cast(pl.String)
    else:
        shard = shard.sort("context", "moment")
        pause = pl.col("moment").diff().over("context") > settings.session_gap
        session = pause.fill_null(False).cast(pl.Int64).cum_sum().over("context").cast(pl.String).str.zfill(8)
    named = shard.with_columns(session.alias("session")).with_columns(
        pl.col("context").alias("group"),
        pl.concat_str(pl.col("context").cast(pl.String), pl.lit(_BETWEEN), "session").alias("context"),
    )
    if has_time:
        start = pl.col("moment").min().over("context")
        named = named.with_columns(start.alias("start")).with_columns(
            window_of("start", settings), pl.col("start").dt.epoch("us").alias("order")
        )
    else:
        named = named.with_columns(pl.lit(0, pl.Int64).alias("order"))
    return collect(named.drop("session", "start", strict=False))


@dataclass(frozen=True)
class Recency:
    """Weights that fall with age: the weight of an event is halved for every half-life of its age.

    Events are weighted once, by their age at the last event of the log. At another moment, the ages of all events
    differ by the same length, so one factor converts the weights.

    Parameters
    ----------
    half_life : timedelta or None
        None if the age does not matter.
    last : datetime or None
        The time of the last event.
    """

    half_life: dt.timedelta | None
    last: dt.datetime | None

    def weight(self) -> pl.Expr:
        """Return the weight of an event, by its columns weight and moment."""
        if self.half_life is None or self.last is None:
            return pl.col("weight")
        age = (pl.lit(self.last) - pl.col("moment")).dt.total_microseconds(fractional=True)
        return pl.col("weight") * (age * (-math.log(2) / _microseconds(self.half_life))).exp()

    def factor(self, moment: dt.datetime | None) -> float:
        """Return the factor that converts weights by age at the last event to weights by age at `moment`."""
        if self.half_life is None or self.last is None or moment is None:
            return 1.0
        return float(2.0 ** min((self.last - moment) / self.half_life, 1000.0))

    def label_factor(self, settings: LogSettings) -> pl.Expr:
        """Return the factor of a pair by its window: ages are taken at the end of the window."""
        starts = self._starts(settings)
        ends = {window: starts[window + 1] for window in starts if window < TRAINING}
        ends |= {HISTORY: starts[min(starts)], TRAINING: settings.test_since, TESTING: None}
        return _by_window({window: self.factor(moment) for window, moment in ends.items()})

    def history_factor(self, settings: LogSettings) -> pl.Expr:
        """Return the factor of a history: ages are taken at the start of its point's window or session."""
        if settings.has_sessions:
            if self.half_life is None or self.last is None:
                return pl.lit(1.0)
            age = (pl.lit(self.last).dt.epoch("us") - pl.col("order")).cast(pl.Float64)
            return (age * (math.log(2) / _microseconds(self.half_life))).clip(upper_bound=690).exp()
        starts = self._starts(settings) | {TESTING: settings.test_since}
        return _by_window({window: self.factor(start) for window, start in starts.items()})

    def _starts(self, settings: LogSettings) -> dict[int, dt.datetime | None]:
        """Return the start of each training window."""
        return {TRAINING: settings.history_before, **earlier_cuts(settings, self.last)}


def _microseconds(length: dt.timedelta) -> float:
    return length / dt.timedelta(microseconds=1)


def _by_window(factors: dict[int, float]) -> pl.Expr:
    expression = pl.lit(1.0)
    for window, factor in factors.items():
        expression = pl.when(pl.col("window") == window).then(pl.lit(factor)).otherwise(expression)
    return expression


@dataclass
class Pairs:
    """The pairs of a log.

    Attributes
    ----------
    shards : list
        By shard: context, item, window, total (of the weights), engagement, recent (the total by age at the last
        event), events; group and order if contexts are sessions; latest (the time of the last event) if the log has
        times; valued (its context has a value) if features come from a column.
    values : list
        By shard: context, window and value, the features of a point; only for features="column".
    lists : bool
        Whether values are lists of names.
    n_repeated, n_several_values : int
        Events that were dropped as repeated, and points with several values.
    weak : counter
        Events of the label windows, and the events and pairs of low engagement among them.
    """

    shards: list[Kept]
    values: list[Kept]
    lists: bool = False
    n_repeated: int = 0
    n_several_values: int = 0
    weak: Counter[str] = field(default_factory=Counter)


def make_pairs(
    events: list[Kept], settings: LogSettings, recency: Recency, whole_weights: bool, work: ShardWork
) -> Pairs:
    """Sum the engagement of every pair, shard by shard."""
    names = work.run(
        "summing pairs",
        sum_pairs,
        [{"events": shard} for shard in events],
        settings=settings,
        recency=recency,
        whole_weights=whole_weights,
    )
    pairs = Pairs([Kept([name], "pairs") for name in names], [Kept([name], "values") for name in names])
    for record in work.values(names):
        pairs.lists = record["lists"]
        pairs.n_repeated += record["n_repeated"]
        pairs.n_several_values += record["n_several_values"]
        pairs.weak.update(record["weak"])
    return pairs


def sum_pairs(
    results: Results, *, events: Kept, settings: LogSettings, recency: Recency, whole_weights: bool
) -> Outcome:
    """Keep the pairs and values of one shard; return the counts."""
    record: dict[str, Any] = {"lists": False, "n_repeated": 0, "n_several_values": 0}
    shard = events.frame(results)
    # Sums of fractions depend on their order in the last digits: such weights are sorted before they are summed.
    total = pl.col("weight").sum() if whole_weights else pl.col("weight").sort().sum()
    recent = total if recency.half_life is None else recency.weight().sort().sum()
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
        record["values"] = keep(results, "values", values)
        pairs = pairs.join(values.select("context", "window", valued=True), on=["context", "window"], how="left")
    record["pairs"] = keep(results, "pairs", pairs)
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
    return {}, record


def _given_values(shard: pl.LazyFrame, lists: bool) -> tuple[pl.DataFrame, int]:
    """Return the most common feature value of every point as one text, and the number of points with several values."""
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


class PairThreshold(NamedTuple):
    """The minimum that a pair must reach in a column, and the number of pairs of low engagement that are kept."""

    column: str
    value: float
    n_weak: int = 0


def engagement_threshold(pairs: Pairs, settings: LogSettings) -> PairThreshold:
    """Return the threshold of the user, or the one that "auto" chooses.

    "auto" keeps all pairs if more than half of the events are in pairs of low engagement. It does not look at the age
    of events: two events are not low engagement only because they are old.
    """
    if settings.min_engagement != "auto":
        return PairThreshold("engagement", float(settings.min_engagement))
    weak = pairs.weak
    if 2 * weak["weak events"] <= weak["events"]:
        return PairThreshold("total", LOW_ENGAGEMENT)
    return PairThreshold("total", 0.0, weak["weak pairs"])


def is_strong(column: str, threshold: float) -> pl.Expr:
    """Return whether a pair has enough engagement."""
    return pl.col(column) >= threshold * _ROUNDING


def marked_pairs(pairs: pl.LazyFrame, settings: LogSettings, threshold: PairThreshold) -> pl.LazyFrame:
    """Return the pairs of one shard with group, order and two marks.

    `featured`: their context has features; `strong`: they have enough engagement.
    """
    if not settings.has_sessions:  # an earlier window of a context is the history of a later one
        pairs = pairs.with_columns(group=pl.col("context"), order=pl.col("window").cast(pl.Int64))
    strong = is_strong(threshold.column, threshold.value).alias("strong")
    featured = pl.lit(True)
    if settings.features == "history":
        featured = pl.col("order").min().over("group") < pl.col("order")
    elif settings.features == "basket":
        featured = strong.sum().over("context", "window") > 1
    elif settings.features == "column":
        featured = pl.col("valued").is_not_null()
    return pairs.with_columns(featured.alias("featured"), strong)
