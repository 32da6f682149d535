"""What became of the events of a log, step by step, so that it adds up."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any

SUMMARY_FORMAT = "labeltrees logs summary"


@dataclass(frozen=True)
class LogSummary:
    """What became of the events of a log: ``events_read`` = sum of ``events_dropped`` + sum of ``events_used``.

    Attributes
    ----------
    events_read : int
    events_dropped : dict
        The number of events by reason, in the order the reasons are looked for; 0 for a reason that could have been.
    events_used : dict
        The number of events used for "labels" and, where features come from the past, for "history".
    pairs, items, contexts : dict
        How many there were, how many were dropped and why, how many are used. A split by time can make two points
        of one context.
    train, test : dict
        n_points, n_labels_with_points, labels and features a point.
    first_event, last_event : str or None
        The times of the events that were clean.
    columns : dict
        The column of the log for each role.
    notes : dict
        Counts of what was changed without dropping an event.
    settings : dict
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
    settings: dict[str, Any]
    files: list[str]
    files_left_out: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {"format": SUMMARY_FORMAT, **asdict(self)}

    def rows(self) -> list[tuple[str, int]]:
        """Return the steps as a table: what, and how many events."""
        rows = [("events read", self.events_read)]
        rows += [(f"- {reason}", count) for reason, count in self.events_dropped.items()]
        rows += [(f"= used for {what}", count) for what, count in self.events_used.items()]
        return rows


def moment_text(moment: dt.datetime | None) -> str | None:
    """Return a moment as text for JSON."""
    return None if moment is None else moment.isoformat(sep=" ")
