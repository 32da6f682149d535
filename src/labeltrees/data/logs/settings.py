"""The settings of `prepare_logs`, checked once and kept in the summary."""

from __future__ import annotations

import codecs
import datetime as dt
import itertools
from dataclasses import dataclass, fields
from typing import Any

from labeltrees._validation import check_choice, check_integer, check_number, check_seed, refuse
from labeltrees.errors import InputError

FEATURES = ("words", "history", "column")
POINT_WEIGHTS = ("events", "engagement", "none")


@dataclass(frozen=True)
class LogSettings:
    """The settings of `prepare_logs`, where each is explained."""

    context: str = "context"
    item: str = "item"
    weight: str | None = None
    time: str | None = None
    item_name: str | None = None
    features: str | None = None
    feature_column: str | None = None
    feature_separator: str | None = None
    history_before: Any = None
    since: Any = None
    until: Any = None
    period: Any = None
    time_format: str = "auto"
    encoding: str = "utf-8"
    separator: str | None = None
    min_engagement: float = 0.0
    min_item_contexts: int = 1
    drop_duplicates: bool = False
    point_weights: str = "events"
    test_share: float = 0.05
    test_since: Any = None
    random_state: int = 0

    def checked(self) -> LogSettings:
        """Check the settings; return them with times parsed and `features` chosen."""
        from labeltrees.data.logs.times import parse_moment, parse_period  # imports polars

        for name in ("context", "item"):
            _check_text(name, getattr(self, name))
        optional = ("weight", "time", "item_name", "feature_column", "feature_separator", "separator")
        for name in optional:
            if getattr(self, name) is not None:
                _check_text(name, getattr(self, name))
        _check_text("time_format", self.time_format)
        if self.separator is not None and len(self.separator.encode()) != 1:
            refuse("separator", "one character", self.separator)
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError):
            refuse("encoding", "the name of an encoding, such as utf-8 or latin-1", self.encoding)
        moments = {name: parse_moment(name, getattr(self, name)) for name in _MOMENTS}
        changes: dict[str, Any] = {
            **moments,
            "period": parse_period(self.period),
            "features": self._which_features(),
            "min_engagement": check_number("min_engagement", self.min_engagement, 0),
            "min_item_contexts": check_integer("min_item_contexts", self.min_item_contexts, 1),
            "point_weights": check_choice("point_weights", self.point_weights, POINT_WEIGHTS),
            "test_share": check_number("test_share", self.test_share, 0, 0.99),
            "random_state": check_seed(self.random_state),
        }
        if not isinstance(self.drop_duplicates, bool):
            refuse("drop_duplicates", "True or False", self.drop_duplicates)
        settings = LogSettings(**{part.name: getattr(self, part.name) for part in fields(self)} | changes)
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
            both = self.feature_column is not None and self.history_before is not None
            if both:
                message = "feature_column and history_before are both given: set features to 'column' or 'history'"
                raise InputError(message)
            column = "column" if self.feature_column is not None else "words"
            features = "history" if self.history_before is not None else column
        check_choice("features", features, FEATURES)
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


_MOMENTS = ("since", "history_before", "test_since", "until")  # in the order that their values must have


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        refuse(name, "a text", value)


def _json_value(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, dt.timedelta) else value
