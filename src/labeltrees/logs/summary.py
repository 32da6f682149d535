"""How the events of a log were used or dropped, in numbers that add up."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass, fields
from typing import Any

from labeltrees.data.data_folder import FOLDER_VERSION, SUMMARY_FORMAT


@dataclass(frozen=True)
class LogSummary:
    """How the events of a log were used: ``events_read`` = sum of ``events_dropped`` + sum of ``events_used``.

    Attributes
    ----------
    events_read : int
    events_dropped : dict
        Number of events by reason, in the order in which reasons are checked; 0 for a reason that did not occur.
    events_used : dict
        Number of events used for "labels" and, if features come from the history, for "history".
    pairs, items, contexts : dict
        How many there were, how many were dropped by reason, and how many are used. A split by time can make two
        points from one context.
    train, test : dict
        n_points, n_labels_with_points, labels and features per point.
    first_event, last_event : str or None
        The range of times of the valid events.
    columns : dict
        The column of the log for each role.
    notes : dict
        Counts of changes that did not drop an event.
    leakage : dict
        How many test events are older than training events, if the log has times: of the same context, and at all.
        Both are 0 in a split by time, unless a session crosses the split.
    settings : dict
        As used: `min_engagement` is the threshold that "auto" found.
    files : list of str
    files_left_out : list of str
    """

    events_read: int
    events_dropped: dict[str, int]
    events_used: dict[str, int]
    pairs: dict[str, int]
    items: dict[str, int]
    contexts: dict[str, int]
    train: dict[str, Any]
    test: dict[str, Any]
    first_event: str | None
    last_event: str | None
    columns: dict[str, str]
    notes: dict[str, int]
    leakage: dict[str, int]
    settings: dict[str, Any]
    files: list[str]
    files_left_out: list[str]

    def __repr__(self) -> str:
        used = sum(self.events_used.values())
        parts = f"{self.train['n_points']:,} training points, {self.test['n_points']:,} test points"
        return f"LogSummary({self.events_read:,} events read, {used:,} used; {parts}; rows() has all steps)"

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {"format": SUMMARY_FORMAT, "version": FOLDER_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> LogSummary:
        """Make a summary from what `to_json` returned."""
        return cls(**{item.name: record[item.name] for item in fields(cls)})

    def rows(self) -> list[tuple[str, int]]:
        """Return the steps as a table: what, and how many events."""
        rows = [("events read", self.events_read)]
        rows += [(f"- {reason}", count) for reason, count in self.events_dropped.items()]
        rows += [(f"= used for {what}", count) for what, count in self.events_used.items()]
        return rows


def moment_text(moment: dt.datetime | None) -> str | None:
    """Return a moment as text for JSON."""
    return None if moment is None else moment.isoformat(sep=" ")
