"""The settings of `prepare_logs`, checked once and kept in the summary."""

from __future__ import annotations

import codecs
import datetime as dt
import itertools
from dataclasses import dataclass, fields, replace
from typing import Any

from labeltrees._settings import anything, check_settings, choice, flag, integer, number, optional, setting
from labeltrees._validation import check_seed, refuse
from labeltrees.errors import InputError

FEATURES = ("words", "history", "column")
POINT_WEIGHTS = ("events", "engagement", "none")


_MOMENTS = ("since", "history_before", "test_since", "until")  # in the order that their values must have


def _text(name: str, value: object) -> None:
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


def _column(help: str) -> Any:
    return setting(None, optional(_text), help)


@dataclass(frozen=True)
class LogSettings:
    """The settings of `prepare_logs`, where each is explained."""

    context: str = setting("context", _text, "Column with the context: a customer, a query, a page.")
    item: str = setting("item", _text, "Column with the item, which becomes a label.")
    weight: str | None = _column("Column with the weight of an event. [default: weight, if it exists]")
    time: str | None = _column("Column with the time. [default: time, if it exists]")
    item_name: str | None = _column("Column with a readable name of the item.")
    features: str | None = choice(
        None,
        FEATURES,
        "Words of the context, its history before a time, or a column. [default: by the other options, else words]",
    )
    feature_column: str | None = _column("Column with features: a text, or a list of names or ids.")
    feature_separator: str | None = _column("Separates the names in the feature column.")
    # Times and the period are checked when they are parsed.
    history_before: Any = setting(
        None, anything, "Items before this time are features, items from then on are labels.", metavar="TIME"
    )
    since: Any = setting(None, anything, "Leave out events before this time.", metavar="TIME")
    until: Any = setting(None, anything, "Leave out events from this time on.", metavar="TIME")
    period: Any = setting(
        None,
        anything,
        "Use only a period such as 36h, 90d, 12w or 1y; without --since or --until, the last one.",
        metavar="LENGTH",
    )
    time_format: str = setting("auto", _text, "auto, or a strptime format such as %d/%m/%Y %H:%M.")
    encoding: str = setting("utf-8", _encoding, "Encoding of CSV files.")
    separator: str | None = setting(
        None, optional(_separator), "Separator of CSV files. [default: detected from the first line]"
    )
    min_engagement: float = setting(0.0, number(0), "Drop pairs of context and item with a smaller total weight.")
    min_item_contexts: int = setting(1, integer(1), "Drop items that occur in fewer contexts.")
    drop_duplicates: bool = setting(False, flag, "Count events that are equal in all used columns only once.")
    point_weights: str = choice(
        "events", POINT_WEIGHTS, "Weight of a point: number of events of its context, sum of their weights, or none."
    )
    test_share: float = setting(0.05, number(0, 0.99), "Share of contexts for the test part, drawn at random.")
    test_since: Any = setting(
        None, anything, "Use the events from this time on as the test part instead.", metavar="TIME"
    )
    random_state: int = setting(0, lambda name, value: check_seed(value), "Random seed of the test part.")

    def checked(self) -> LogSettings:
        """Check the settings; return them with times parsed and `features` chosen."""
        from labeltrees.data.logs.times import parse_moment, parse_period  # imports polars

        check_settings(self)
        moments: dict[str, Any] = {name: parse_moment(name, getattr(self, name)) for name in _MOMENTS}
        settings = replace(self, period=parse_period(self.period), features=self._which_features(), **moments)
        settings._check_order()
        return settings

    def given_columns(self) -> dict[str, str]:
        """Return the column of each role that must be in the log."""
        columns = {
            "context": self.context,
            "item": self.item,
            "weight": self.weight,
            "time": self.time,
            "name": self.item_name,
            "feature": self.feature_column,
        }
        return {role: name for role, name in columns.items() if name is not None}

    def needs_time(self) -> bool:
        """Whether some setting needs the time of events."""
        return any(getattr(self, name) is not None for name in (*_MOMENTS, "period", "time"))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {part.name: _json_value(getattr(self, part.name)) for part in fields(self)}

    def _which_features(self) -> str:
        features = self.features
        if features is None:
            if self.feature_column is not None and self.history_before is not None:
                message = "feature_column and history_before are both given: set features to 'column' or 'history'"
                raise InputError(message)
            column = "column" if self.feature_column is not None else "words"
            features = "history" if self.history_before is not None else column
        needs = {"history": "history_before", "column": "feature_column"}
        for kind, name in needs.items():
            if features == kind and getattr(self, name) is None:
                message = f"features={kind!r} needs {name}"
                raise InputError(message)
            if features != kind and getattr(self, name) is not None:
                message = f"{name} cannot be used with features={features!r}"
                raise InputError(message)
        if self.feature_separator is not None and features != "column":
            message = "feature_separator needs feature_column"
            raise InputError(message)
        return features

    def _check_order(self) -> None:
        if self.period is not None and self.since is not None and self.until is not None:
            message = "at most two of since, until and period can be given"
            raise InputError(message)
        given = [(name, getattr(self, name)) for name in _MOMENTS if getattr(self, name) is not None]
        for (earlier, first), (later, second) in itertools.pairwise(given):
            if first >= second:
                message = f"{earlier} ({first}) must be before {later} ({second})"
                raise InputError(message)


def _json_value(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, dt.timedelta) else value
