"""Finding the valid events of a log, and counting the others by reason."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import polars as pl

from labeltrees.errors import InputError, Parameter
from labeltrees.logs.events import Events, collect
from labeltrees.logs.settings import LogSettings
from labeltrees.logs.times import time_expression

# An event is dropped for the first of these reasons that applies.
REASONS = (
    "line with too many fields",
    "no context",
    "no item",
    "no session",
    "no time",
    "time not understood",
    "outside the period",
    "weight missing or not a number",
    "weight not above 0",
)
# The window of an event, by its time; without `history_before` and `test_since` it is TRAINING. With several points per
# history, numbers between HISTORY and TRAINING are earlier training windows.
HISTORY, TRAINING, TESTING = 0, 100, 101


@dataclass(frozen=True)
class CleanEvents:
    """The valid events, and the counts of the others.

    Attributes
    ----------
    sources : list of lazy frames
        One per frame of the log: context, item, weight (float), window (HISTORY, TRAINING, TESTING or an earlier
        training window) and, if the log has them, name, feature, session and moment (the time).
    n_read, n_kept : int
    dropped : dict
        Number of dropped events by reason.
    first, last : datetime or None
        The range of times of the events kept.
    whole_weights : bool
        Whether all weights are whole numbers, so that their sums do not depend on the order.
    """

    sources: list[pl.LazyFrame]
    n_read: int
    n_kept: int
    dropped: dict[str, int]
    first: dt.datetime | None
    last: dt.datetime | None
    whole_weights: bool = True


def clean_events(events: Events, settings: LogSettings) -> CleanEvents:
    """Find the valid events in one pass over the log.

    Finding or checking the time format takes one pass before it, and a period that ends with the last event another.
    """
    frame, columns = events.frame, events.columns
    schema = frame.collect_schema()
    has_time = "time" in columns
    needing = settings.needing_time()
    if needing and not has_time:
        verb = "needs" if len(needing) == 1 else "need"
        # The advice for a log without times depends on the features.
        without = InputError("use {}", Parameter("features", "basket"))
        if settings.features == "basket":
            without = InputError("split at random with {}, and leave this out", Parameter("test_share"))
        message = (
            ", ".join(["{}"] * len(needing)) + f" {verb} the time of events, but the log has no column 'time': "
            "name the column of the times with {}, or, for baskets without times, {}"
        )
        raise InputError(message, *map(Parameter, needing), Parameter("time", "COLUMN"), without)
    missing_time = pl.lit(False)
    if has_time:
        missing_time = pl.col("time").is_null()
        if schema["time"] == pl.String:
            missing_time |= pl.col("time").str.strip_chars() == ""
        moment = time_expression(frame, settings.time_format)
    else:
        moment = pl.lit(None, pl.Datetime("us"))
    weight = _number(pl.col("weight"), schema["weight"]) if "weight" in columns else pl.lit(1.0)
    # First these columns, then those that depend on them: polars computes each once.
    understood = (missing_time.alias("missing_time"), moment.alias("moment"), weight.alias("weight"))
    since, until = _period(frame.with_columns(understood), settings, has_time)
    reason = _reason(schema, has_time, since, until).alias("reason")
    frame = frame.with_columns(understood).with_columns(reason)
    moments = (pl.col("moment").min().alias("first"), pl.col("moment").max().alias("last"))
    whole = (pl.col("weight") == pl.col("weight").round()).all().alias("whole")
    counts = collect(frame.group_by("reason").agg(pl.len().alias("n"), whole, *moments))
    by_reason = {row["reason"]: row for row in counts.iter_rows(named=True)}
    kept = by_reason.pop(0, {"n": 0, "first": None, "last": None, "whole": True})
    n_read = sum(counts["n"])
    used = _reasons_that_can_occur(schema, has_time, since, until)
    dropped = {
        name: by_reason.get(number, {"n": 0})["n"] for number, name in enumerate(REASONS, start=1) if name in used
    }
    if n_read == 0:
        message = "the log has no events"
        raise InputError(message)
    if kept["n"] == 0:
        why = ", ".join(f"{n:,} {name}" for name, n in dropped.items() if n)
        message = f"none of the {n_read:,} events can be used: {why}"
        raise InputError(message)
    extra: list[str] = [name for name in ("name", "feature", "session") if name in columns]
    if has_time:
        extra.append("moment")
    window = window_of("moment", settings, earlier_cuts(settings, kept["last"]))
    kept_columns = ["context", "item", "weight", window, *extra]
    kept_frames = [
        source.with_columns(understood).with_columns(reason).filter(pl.col("reason") == 0).select(kept_columns)
        for source in events.sources
    ]
    return CleanEvents(kept_frames, n_read, kept["n"], dropped, kept["first"], kept["last"], kept["whole"])


def _number(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a column as numbers, null for anything else."""
    if dtype == pl.String:
        column = column.str.strip_chars()
    number = column.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _period(
    frame: pl.LazyFrame, settings: LogSettings, has_time: bool
) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Return the start of the period and its end (exclusive); a period without bounds ends with the last event."""
    since, until, period = settings.since, settings.until, settings.period
    if period is None or not has_time:
        return since, until
    if since is not None:
        return since, since + period
    if until is None:
        last = collect(frame.select(pl.col("moment").max())).item()
        return (None if last is None else last - period), None
    return until - period, until


def _is_empty(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if dtype == pl.String:
        return column.is_null() | (column.str.strip_chars() == "")
    return column.is_null()


def _reason(schema: pl.Schema, has_time: bool, since: dt.datetime | None, until: dt.datetime | None) -> pl.Expr:
    moment, weight = pl.col("moment"), pl.col("weight")
    outside = pl.lit(False)
    if since is not None:
        outside |= moment < since
    if until is not None:
        outside |= moment >= until
    conditions = {
        "line with too many fields": pl.col("ragged") if "ragged" in schema else pl.lit(False),
        "no context": _is_empty("context", schema["context"]),
        "no item": _is_empty("item", schema["item"]),
        "no session": _is_empty("session", schema["session"]) if "session" in schema else pl.lit(False),
        "no time": pl.col("missing_time"),
        "time not understood": moment.is_null() if has_time else pl.lit(False),
        "outside the period": outside,
        "weight missing or not a number": weight.is_null(),
        "weight not above 0": weight <= 0,
    }
    expression = pl.lit(0, pl.UInt8)
    for number, name in reversed(list(enumerate(REASONS, start=1))):
        expression = pl.when(conditions[name]).then(pl.lit(number, pl.UInt8)).otherwise(expression)
    return expression


def _reasons_that_can_occur(
    schema: pl.Schema, has_time: bool, since: dt.datetime | None, until: dt.datetime | None
) -> set[str]:
    used = {"no context", "no item"}
    if "ragged" in schema:
        used.add("line with too many fields")
    if "session" in schema:
        used.add("no session")
    if has_time:
        used |= {"no time", "time not understood"}
    if since is not None or until is not None:
        used.add("outside the period")
    if "weight" in schema:
        used |= {"weight missing or not a number", "weight not above 0"}
    return used


def earlier_cuts(settings: LogSettings, last: dt.datetime | None) -> dict[int, dt.datetime]:
    """Return the start of each training window before `history_before`, the newest first.

    They are as long as the training window, which ends at `test_since` or with the last event.
    """
    n_points, cut, end = settings.points_per_context, settings.history_before, settings.test_since or last
    if settings.features != "history" or settings.has_sessions or n_points == "auto" or cut is None or end is None:
        return {}
    return {TRAINING - number: cut - number * (end - cut) for number in range(1, int(n_points))}


def window_of(column: str, settings: LogSettings, cuts: dict[int, dt.datetime] | None = None) -> pl.Expr:
    """Return the window (HISTORY, TRAINING, TESTING, or one of `cuts`) of the moments in a column."""
    window, moment = pl.lit(TRAINING, pl.UInt8), pl.col(column)
    if settings.test_since is not None:
        window = pl.when(moment >= settings.test_since).then(pl.lit(TESTING, pl.UInt8)).otherwise(window)
    if settings.history_before is not None:
        end = settings.history_before
        for number, start in (cuts or {}).items():
            window = pl.when((moment >= start) & (moment < end)).then(pl.lit(number, pl.UInt8)).otherwise(window)
            end = start
        window = pl.when(moment < end).then(pl.lit(HISTORY, pl.UInt8)).otherwise(window)
    return window.alias("window")
