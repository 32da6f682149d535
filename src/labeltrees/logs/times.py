"""Times in logs: finding their format, and reading them."""

from __future__ import annotations

from typing import Any

import polars as pl

from labeltrees.errors import InputError, Parameter
from labeltrees.logs.events import collect

# The formats that "auto" knows. A column may mix them; each time is read by the one format that it matches.
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?"
_ZONE = r" ?(Z|UTC|[+-]\d{2}:?\d{2})"
_FORMATS = {
    "iso": rf"^\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}([T ]{_CLOCK}({_ZONE})?)?$",
    "numeric": rf"^\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})([T ]{_CLOCK}( ?[AaPp][Mm])?({_ZONE})?)?$",
    "compact": r"^(19|20)\d{6}$",
    "epoch": r"^\d{9,19}(\.\d+)?$",
}
_PARTS = r"^(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})"
_CLOCK_PARTS = r"[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?"


def time_expression(events: pl.LazyFrame, time_format: str) -> pl.Expr:
    """Return the expression that reads the column "time" of `events`; null where a time cannot be read.

    The result has no time zone: times with one are converted to UTC. "auto" reads the whole column once, because the
    only date that shows whether the day or the month comes first may be at its end.
    """
    time, dtype = pl.col("time"), events.collect_schema()["time"]
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            time = time.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return time.cast(pl.Datetime("us"))
    if dtype == pl.Null:
        return pl.lit(None, pl.Datetime("us"))
    if dtype.is_numeric():
        return _from_epoch(time.cast(pl.Float64))
    if dtype != pl.String:
        message = f"the time column must hold texts, numbers or times, not {dtype}"
        raise InputError(message)
    if time_format != "auto":
        return _strptime(events, time_format)
    return _automatic(events)


def _strptime(events: pl.LazyFrame, time_format: str) -> pl.Expr:
    text = pl.col("time").str.strip_chars()
    has_clock = any(directive in time_format for directive in ("%H", "%I", "%T", "%s", "%R", "%c", "%+", "%k", "%X"))
    if "%z" in time_format or "%:z" in time_format or "%+" in time_format:
        read = text.str.to_datetime(time_format, strict=False, time_unit="us", time_zone="UTC")
        read = read.dt.replace_time_zone(None)
    elif has_clock:
        read = text.str.to_datetime(time_format, strict=False, time_unit="us")
    else:
        read = text.str.to_date(time_format, strict=False).cast(pl.Datetime("us"))
    first = text.filter(text != "").first()
    try:
        found = collect(events.select(read.count().alias("read"), first.alias("first")))
    except pl.exceptions.PolarsError as error:
        message = "{} {!r} is not a time format: {}"
        raise InputError(message, Parameter("time_format"), time_format, error) from None
    if found["read"].item() == 0 and found["first"].item() is not None:
        message = f"no time in the log has the format {time_format!r}; the first is {found['first'].item()!r}"
        raise InputError(message)
    return read


def _automatic(events: pl.LazyFrame) -> pl.Expr:
    text = pl.col("time").str.strip_chars()
    is_format = {name: text.str.contains(pattern) for name, pattern in _FORMATS.items()}
    is_format["epoch"] = is_format["epoch"] & ~is_format["compact"]
    numeric = text.filter(is_format["numeric"])
    first, second = (numeric.str.extract(_PARTS, group).cast(pl.Int32).max() for group in (1, 2))
    found = collect(
        events.select(
            *(matches.sum().alias(name) for name, matches in is_format.items()),
            first.alias("first"),
            second.alias("second"),
            text.filter(text != "").first().alias("example"),
            numeric.first().alias("numeric_example"),
        )
    ).row(0, named=True)
    readers = {
        "iso": lambda: _from_parts(text, ("year", "month", "day")),
        "numeric": lambda: _from_parts(text, _order_of_parts(found)),
        "compact": lambda: text.str.to_date("%Y%m%d", strict=False).cast(pl.Datetime("us")),
        "epoch": lambda: _from_epoch(text.cast(pl.Float64, strict=False)),
    }
    present = [name for name in _FORMATS if found[name]]
    if not present:
        if found["example"] is None:
            return pl.lit(None, pl.Datetime("us"))
        message = "the format of the times is unknown (the first is {!r}): give {}"
        raise InputError(message, found["example"], Parameter("time_format"))
    return pl.coalesce([pl.when(is_format[name]).then(readers[name]()) for name in present])


def _order_of_parts(found: dict[str, Any]) -> tuple[str, str, str]:
    """Return the order of day, month and year; refuse a log that does not show whether the day comes first."""
    example, ask = found["numeric_example"], "give {}, such as %d/%m/%Y %H:%M or %m/%d/%Y %H:%M"
    wanted = Parameter("time_format")
    if found["first"] > 12 and found["second"] > 12:
        message = "some times in the log have the day first, others the month (the first is {!r}): " + ask
        raise InputError(message, example, wanted)
    if found["first"] <= 12 and found["second"] <= 12:
        message = "times such as {!r} could have the day or the month first: " + ask
        raise InputError(message, example, wanted)
    return ("day", "month", "year") if found["first"] > 12 else ("month", "day", "year")


def _from_parts(text: pl.Expr, order: tuple[str, str, str]) -> pl.Expr:
    """Read dates of three numbers, with an optional time of day; impossible dates (31 February) become null."""
    parts = {name: text.str.extract(_PARTS, group).cast(pl.Int32) for group, name in enumerate(order, start=1)}
    year = pl.when(parts["year"] < 100).then(parts["year"] + 2000).otherwise(parts["year"])
    written = pl.concat_str(
        [
            year.cast(pl.String),
            *(parts[name].cast(pl.String).str.zfill(2) for name in ("month", "day")),
        ],
        separator="-",
    )
    date = written.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    hour, minute, second = (text.str.extract(_CLOCK_PARTS, group).cast(pl.Int64).fill_null(0) for group in (1, 2, 3))
    fraction = text.str.extract(_CLOCK_PARTS, 4).str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64).fill_null(0)
    afternoon = text.str.extract(r"([AaPp])[Mm]", 1).str.to_lowercase()
    hour = (
        pl.when(afternoon.is_null()).then(hour).otherwise(hour % 12 + pl.when(afternoon == "p").then(12).otherwise(0))
    )
    zone = text.str.extract(r":\d{2}.*?([+-]\d{2}:?\d{2})$", 1).str.replace(":", "", literal=True)
    minutes_east = zone.str.slice(1, 2).cast(pl.Int64) * 60 + zone.str.slice(3, 2).cast(pl.Int64)
    minutes_east = pl.when(zone.str.starts_with("-")).then(-minutes_east).otherwise(minutes_east).fill_null(0)
    clock = pl.duration(
        hours=hour, minutes=minute - minutes_east, seconds=second, microseconds=fraction, time_unit="us"
    )
    return pl.when((hour < 24) & (minute < 60) & (second < 61)).then(date + clock)


def _from_epoch(number: pl.Expr) -> pl.Expr:
    """Read seconds, milli-, micro- or nanoseconds since 1970; the size of the number shows which."""
    size = number.abs()
    microseconds = pl.when(size < 1e11).then(number * 1e6).when(size < 1e14).then(number * 1e3)
    microseconds = microseconds.when(size < 1e17).then(number).when(size < 9e18).then(number / 1e3)
    return microseconds.round().cast(pl.Int64, strict=False).cast(pl.Datetime("us"))
