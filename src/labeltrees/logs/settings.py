"""The settings of `prepare_logs`: one field each, with its check and its help text."""

from __future__ import annotations

import codecs
import datetime as dt
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from labeltrees._extras import import_extra
from labeltrees._settings import anything, check_settings, choice, flag, integer, number, optional, setting
from labeltrees._validation import check_seed, refuse
from labeltrees.errors import InputError, Parameter

FEATURES = ("words", "history", "column", "basket", "related")
POINT_WEIGHTS = ("none", "events")
PRESETS = ("paper",)
_NEEDS = "{} needs {}"
MAX_POINTS = 64  # of one context
LOW_ENGAGEMENT = 2.0  # our reading of the paper's "low engagement": less than 2, that is, one event

# The paper aggregates one year, removes pairs of low engagement and tests on a random 5 % of the contexts.
_PAPER: dict[str, Any] = {"min_engagement": LOW_ENGAGEMENT, "point_weights": None, "test_share": 0.05, "period": "365d"}

_UNITS = {
    "s": dt.timedelta(seconds=1),
    "m": dt.timedelta(minutes=1),
    "h": dt.timedelta(hours=1),
    "d": dt.timedelta(days=1),
    "w": dt.timedelta(weeks=1),
    "y": dt.timedelta(days=365),
}
_MOMENTS = ("since", "history_before", "test_since", "until")  # in the order that their values must have
_LENGTHS = ("period", "session_gap", "half_life")


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        refuse(name, "a text", value)


def _separator(name: str, value: Any) -> None:
    _text(name, value)
    if len(value.encode()) != 1:
        refuse(name, "one character", value)


def _encoding(name: str, value: Any) -> None:
    try:
        codecs.lookup(value)
    except (LookupError, TypeError):
        refuse(name, "the name of an encoding, such as utf-8 or latin-1", value)


def _number_or_auto(name: str, value: Any) -> None:
    if value != "auto":
        number(0)(name, value)


def _hidden(name: str, value: Any) -> None:
    number(0, low_open=True)(name, value)
    if value > 1 and value != int(value):
        refuse(name, "a share below 1, or a whole number of items", value)


def _points(name: str, value: Any) -> None:
    if value != "auto":
        integer(1, MAX_POINTS)(name, value)


def _column(help: str) -> Any:
    return setting(None, optional(_text), help, metavar="COLUMN", daily=True)


@dataclass(frozen=True, repr=False)
class Columns:
    """Which columns of a log `prepare_logs` uses, and how it reads them.

    Four parameters matter: `context` makes the points, `item` the labels, `time` allows histories and a split by time,
    and `weight` says how much an event counts.

    Parameters
    ----------
    context, item : str
        The columns of the context (a customer, a query, a page, a basket) and of the item, which becomes a label.
    time : str, optional
        The column of the time; by default a column "time" if there is one.
    weight : str, optional
        The column of the event weights. By default a column "weight" if there is one, else each event counts 1. Events
        without a weight above 0 are dropped.
    item_name : str, optional
        The column of a readable item name. An item with several names gets the most common one.
    feature_column : str, optional
        A column with a text (tf-idf of its words) or a list of names or ids. A context with several values gets the
        most common one.
    feature_separator : str, optional
        Splits the texts of `feature_column` into names.
    session : str, optional
        A column that splits the events of a context into sessions, such as an invoice number. Each session is a point.
    session_gap : str or timedelta, optional
        Instead of such a column: a new session of a context starts after a pause longer than this, such as 30m or 2d.
    drop_duplicates : bool
        Whether events that are equal in all these columns count once. By default they add up, like two clicks.
    time_format : str
        "auto" reads ISO times with or without zone, numbers of seconds, milli-, micro- or nanoseconds since 1970, and
        dates such as 31/12/2010 8:26 or 12/31/10 if some date in the log shows which number is the day. Anything else
        is a strptime format.
    encoding : str
        Encoding of CSV files.
    separator : str, optional
        Separator of CSV files; by default detected from the first line.
    """

    context: str = setting(
        "context", _text, "Column with the context: a customer, a query, a page, a basket.", daily=True
    )
    item: str = setting("item", _text, "Column with the item, which becomes a label.", daily=True)
    weight: str | None = _column("Column with the weight of an event. [default: weight, if it exists]")
    time: str | None = _column("Column with the time. [default: time, if it exists]")
    item_name: str | None = _column("Column with a readable name of the item.")
    feature_column: str | None = _column("Column with features: a text, or a list of names or ids.")
    feature_separator: str | None = setting(None, optional(_text), "Separates the names in the feature column.")
    session: str | None = _column("Column that splits the events of a context into sessions.")
    session_gap: Any = setting(
        None,
        anything,
        "Start a new session of a context after a pause such as 30m or 2d.",
        metavar="LENGTH",
        daily=True,
    )
    drop_duplicates: bool = setting(False, flag, "Count events that are equal in all used columns only once.")
    time_format: str = setting("auto", _text, "auto, or a strptime format such as %d/%m/%Y %H:%M.")
    encoding: str = setting("utf-8", _encoding, "Encoding of CSV files.")
    separator: str | None = setting(
        None, optional(_separator), "Separator of CSV files. [default: detected from the first line]"
    )

    def __repr__(self) -> str:
        values = ((item.name, getattr(self, item.name), item.default) for item in fields(self))
        changed = (f"{name}={value!r}" for name, value, default in values if value != default)
        return f"{type(self).__name__}({', '.join(changed)})"


def columns_of(columns: Any) -> Columns:
    """Return the columns that a user gives as `Columns`, as a dict with the same names, or not at all."""
    if columns is None:
        return Columns()
    if isinstance(columns, Mapping):
        known = [item.name for item in fields(Columns)]
        unknown = next((name for name in columns if name not in known), None)
        if unknown is not None:
            refuse("columns", f"a dict with keys among {', '.join(known)}", {unknown: columns[unknown]})
        return Columns(**columns)
    if not isinstance(columns, Columns):
        refuse("columns", "Columns(context=..., item=..., ...)", columns)
    return columns


def period_of(period: Any) -> dict[str, Any]:
    """Return since, until and period for the argument `period`: a length, or a pair of a start and an end.

    Examples
    --------
    >>> period_of("90d")
    {'period': '90d'}
    >>> period_of(("2011-01-01", "90d"))
    {'since': '2011-01-01', 'period': '90d'}
    """
    if not isinstance(period, tuple | list):
        return {"period": period}
    if len(period) != 2:
        refuse("period", "a length of time such as 90d, or a pair (start, end)", period)
    names = [
        "period" if isinstance(value, dt.timedelta) or (isinstance(value, str) and is_length(value)) else name
        for name, value in zip(("since", "until"), period, strict=True)
    ]
    if names == ["period", "period"]:
        refuse("period", "a length of time, or a pair (start, end) with at most one length", period)
    return dict(zip(names, period, strict=True))


@dataclass(frozen=True, repr=False)
class LogSettings(Columns):
    """The settings of `prepare_logs`, where each is explained."""

    preset: str | None = choice(None, PRESETS, "Settings of the paper, for options that are not given.", daily=True)
    features: str | None = choice(
        None,
        FEATURES,
        "Words of the context, items before a time, a column, other items of the basket; related: points are items, "
        "labels the items that share most contexts. [default: by the other options, else words]",
        daily=True,
    )
    history_before: Any = setting(
        None,
        anything,
        "Items before this time are features, items from then on are labels.",
        metavar="TIME",
        daily=True,
    )
    hide: float = setting(
        0.5, _hidden, "Items of a basket that are labels: a share below 1, or a number.", metavar="SHARE|N"
    )
    points_per_context: int | str = setting(
        "auto",
        _points,
        "Training points per basket, with different hidden items (auto: by size), or per history, with earlier ends.",
        metavar="N|auto",
    )
    max_items: int = setting(10, integer(1), "Maximum number of related items per item.")
    half_life: Any = setting(
        None,
        anything,
        "Halve the weight of an event for every such period of age: 30d, 12w.",
        metavar="LENGTH",
        daily=True,
    )
    since: Any = setting(None, anything, "Leave out events before this time.", metavar="TIME")
    until: Any = setting(None, anything, "Leave out events from this time on.", metavar="TIME")
    period: Any = setting(
        None,
        anything,
        "Use only a period such as 36h, 90d, 12w or 1y; without since or until, the end of the log.",
        metavar="LENGTH",
        daily=True,
    )
    min_engagement: float | str = setting(
        "auto",
        _number_or_auto,
        "Drop pairs of context and item with a smaller total weight; auto: 2, if at least half of the events remain.",
        metavar="W|auto",
        daily=True,
    )
    min_item_contexts: int = setting(1, integer(1), "Drop items that occur in fewer contexts.", daily=True)
    point_weights: str | None = choice(
        None,
        POINT_WEIGHTS,
        "Weight of a training point: events, its number of events scaled to mean 1. [default: none, all the same]",
    )
    test_share: float = setting(
        0.05, number(0, 0.99), "Share of contexts for the test part, drawn at random.", daily=True
    )
    test_since: Any = setting(
        None,
        anything,
        "Use the events from this time on as the test part instead (recommended).",
        metavar="TIME",
        daily=True,
    )
    random_state: int = setting(0, lambda _name, value: check_seed(value), "Random seed.")

    def checked(self) -> LogSettings:
        """Check the settings; return them with the preset applied, times parsed and `features` chosen."""
        import_extra("polars", "logs", "preparing logs")
        check_settings(self)
        settings = self._with_preset()
        changes: dict[str, Any] = {name: parse_moment(name, getattr(settings, name)) for name in _MOMENTS}
        changes |= {name: parse_length(name, getattr(settings, name)) for name in _LENGTHS}
        changes["features"] = settings._which_features()
        if settings.point_weights == "none":
            changes["point_weights"] = None
        if settings.min_engagement != "auto":
            changes["min_engagement"] = float(settings.min_engagement)
        settings = replace(settings, **changes)
        settings._check_together()
        return settings

    @property
    def has_sessions(self) -> bool:
        """Whether the events of a context are split into sessions."""
        return self.session is not None or self.session_gap is not None

    def given_columns(self) -> dict[str, str]:
        """Return the column of each role that must be in the log."""
        columns = {
            "context": self.context,
            "item": self.item,
            "weight": self.weight,
            "time": self.time,
            "name": self.item_name,
            "feature": self.feature_column,
            "session": self.session,
        }
        return {role: name for role, name in columns.items() if name is not None}

    def needing_time(self) -> list[str]:
        """Return the settings that need the time of events."""
        needing = [name for name in (*_MOMENTS, *_LENGTHS, "time") if getattr(self, name) is not None]
        if self.preset == "paper" and self.period is not None and self.period == dt.timedelta(days=365):
            needing.remove("period")  # set by the preset, which uses all of a log without times
        if self.features == "history" and self.has_sessions and not needing:
            needing.append("features='history'")
        return needing

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {part.name: _json_value(getattr(self, part.name)) for part in fields(self)}

    def _with_preset(self) -> LogSettings:
        """Return the settings with the values of the preset where the user has left the default."""
        if self.preset is None:
            return self
        values = _PAPER
        if self.since is not None or self.until is not None:
            values = {name: value for name, value in values.items() if name != "period"}
        defaults = LogSettings()
        unset = {name: value for name, value in values.items() if getattr(self, name) == getattr(defaults, name)}
        return replace(self, **unset)

    def _which_features(self) -> str:
        features = self.features
        if features is None:
            if self.feature_column is not None and self.history_before is not None:
                message = "{} and {} are both given: set {} to 'column' or 'history'"
                raise InputError(message, *map(Parameter, ("feature_column", "history_before", "features")))
            column = "column" if self.feature_column is not None else "words"
            features = "history" if self.history_before is not None else column
        if features == "history" and self.history_before is None and not self.has_sessions:
            message = (
                "{} needs {} (the time that ends the history), or sessions: {} or {} (earlier sessions are the history "
                "of later ones)"
            )
            sessions = Parameter("session", "COLUMN"), Parameter("session_gap", "30m")
            raise InputError(message, Parameter("features", "history"), Parameter("history_before"), *sessions)
        if features == "column" and self.feature_column is None:
            raise InputError(_NEEDS, Parameter("features", "column"), Parameter("feature_column"))
        for kind, name in (("history", "history_before"), ("column", "feature_column")):
            of_items = features == "related" and kind == "column"  # features of the item instead of the context
            if features != kind and getattr(self, name) is not None and not of_items:
                message = "{} cannot be used with {}"
                raise InputError(message, Parameter(name), Parameter("features", features))
        if self.feature_separator is not None and self.feature_column is None:
            raise InputError(_NEEDS, Parameter("feature_separator"), Parameter("feature_column"))
        return features

    def _check_together(self) -> None:
        if self.session is not None and self.session_gap is not None:
            message = "{} and {} are both given: sessions come from a column or from pauses, not both"
            raise InputError(message, Parameter("session"), Parameter("session_gap"))
        if self.hide != LogSettings().hide and self.features != "basket":
            message = "{} needs {}, not {}"
            raise InputError(message, Parameter("hide"), Parameter("features", "basket"), repr(self.features))
        if self.max_items != LogSettings().max_items and self.features != "related":
            message = "{} needs {}, not {}"
            raise InputError(message, Parameter("max_items"), Parameter("features", "related"), repr(self.features))
        timed = next((name for name in ("test_since", "half_life") if getattr(self, name) is not None), None)
        if timed is not None and self.features == "related":
            message = "{} cannot be used with {}, which counts baskets of the whole period: give {} and {}"
            wanted = map(Parameter, ("period", "test_share"))
            raise InputError(message, Parameter(timed), Parameter("features", "related"), *wanted)
        several = self.points_per_context not in ("auto", 1)
        if several and self.features != "basket" and (self.features != "history" or self.has_sessions):
            message = "{} is for baskets, and for histories that end at {}: sessions are points already"
            raise InputError(message, Parameter("points_per_context"), Parameter("history_before"))
        if self.period is not None and self.since is not None and self.until is not None:
            message = "at most two of {}, {} and {} can be given"
            raise InputError(message, *map(Parameter, ("since", "until", "period")))
        given = [(name, getattr(self, name)) for name in _MOMENTS if getattr(self, name) is not None]
        for (earlier, first), (later, second) in itertools.pairwise(given):
            if first >= second:
                message = "{} ({}) must be before {} ({})"
                raise InputError(message, Parameter(earlier), first, Parameter(later), second)


def _json_value(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, dt.timedelta) else value


def parse_moment(name: str, value: Any) -> dt.datetime | None:
    """Return the moment of an ISO text, a date or a datetime, without time zone (converted to UTC if it has one)."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            refuse(name, "a time such as 2011-09-01 or 2011-09-01T12:00", value)
    elif isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime):
        refuse(name, "a time such as 2011-09-01 or 2011-09-01T12:00", value)
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)


def is_length(text: str) -> bool:
    """Whether a text is a length of time such as 30m, 36h, 90d, 12w or 1y."""
    return re.fullmatch(r"[1-9]\d{0,5}[smhdwy]", text.strip()) is not None


def parse_length(name: str, value: Any) -> dt.timedelta | None:
    """Return the length of a timedelta or of a text such as 30m, 36h, 90d, 12w or 1y (minutes, hours, ... years)."""
    if value is None:
        return None
    if isinstance(value, str) and is_length(value):
        value = int(value.strip()[:-1]) * _UNITS[value.strip()[-1]]
    if not isinstance(value, dt.timedelta) or value <= dt.timedelta(0):
        refuse(name, "a length of time such as 30m, 36h, 90d, 12w or 1y", value)
    return value
