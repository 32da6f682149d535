"""Sessions: the events of a context split by a column or by pauses. Each session becomes a point."""

from __future__ import annotations

from typing import Any

import polars as pl

from labeltrees.logs.aggregate import SESSIONS
from labeltrees.logs.clean import window_of
from labeltrees.logs.reading import collect
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.shards import EVENTS, Shards
from labeltrees.logs.steps import Report, ShardStep, StepRunner

_BETWEEN = "\x1f"  # between a context and its session


def make_sessions(settings: LogSettings, shards: Shards, runner: StepRunner, report: Report) -> None:
    """Keep the events of each shard with sessions as contexts, under the name SESSIONS."""
    steps = [
        ShardStep(SESSIONS, sessions_of_shard, shards, number, {"settings": settings}) for number in range(shards.count)
    ]
    runner.run("splitting sessions", steps, report)


def sessions_of_shard(shards: Shards, number: int, *, settings: LogSettings) -> dict[str, Any]:
    """Keep the sessions of one shard."""
    shards.keep(SESSIONS, number, split_sessions(shards.frame(EVENTS, number), settings))
    return {}


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
