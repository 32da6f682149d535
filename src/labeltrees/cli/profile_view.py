"""Tables of a profile."""

from __future__ import annotations

import math
from typing import Any

from labeltrees.cli.output import console, number, printable
from labeltrees.cli.tables import make_table
from labeltrees.profiling import Profile

_TITLES = {
    "queries": "query",
    "nonzeros": "features",
    "roots": "root",
    "below_root": "other nodes",
    "heap_steps": "steps",
    "path_visits": "nodes for labels found in other trees",
}


def print_profile(title: str, profile: Profile) -> None:
    """Print the summary of a profile."""
    out, record = console(), profile.summary()
    out.print(f"{title}: top {record['k']}, {_search(record)}\n")
    counts = record["counts"]
    rows = [
        _spread_row("features", record["features"]),
        _spread_row("nodes visited", record["nodes"]),
        _spread_row("nodes of an oracle", record["oracle"]),
        _spread_row("microseconds", record["microseconds"]),
        _spread_row("predicted microseconds", record["predicted"]),
    ]
    out.print(make_table(("per query", "mean", "median", "99 %"), rows))
    facts = [
        ("visited nodes that an oracle needs", f"{100 * record['oracle_share']:.0f} %"),
        ("classifiers evaluated", number(counts.get("children", record["nodes"]["mean"]), 1)),
        ("error of the prediction on held-out points", _percent(record["error"])),
        *[(name.replace("_", " "), number(value, 1)) for name, value in (record["counters"] or {}).items()],
    ]
    out.print()
    out.print(make_table(None, facts))
    if record["counters"] is None:
        out.print(f"instructions and cache misses are not available: {record['counters_reason']}")
    out.print()
    parts = [
        (part, number(own["microseconds"], 2), f"{100 * own['share']:.0f} %", _counted(profile, part))
        for part, own in record["parts"].items()
    ]
    out.print(make_table(("part", "microseconds", "share", "operations per query"), parts, left=(0, 3)))
    out.print()
    depths = [(str(own["depth"]), number(own["nodes"], 2), number(own["oracle"], 2)) for own in record["by_depth"]]
    out.print(make_table(("depth", "nodes visited", "nodes of an oracle"), depths, left=()))


def print_query(record: dict[str, Any]) -> None:
    """Print the search of one query."""
    out = console()
    out.print(f"query {record['query']}: {', '.join(printable(str(label)) for label in record['labels'])}\n")
    several = any(visit["tree"] > 0 for visit in record["visits"])
    rows = [
        (
            *([str(visit["tree"])] if several else []),
            str(visit["node"]),
            str(visit["depth"]),
            f"{visit['score']:.4f}",
            "yes" if visit["oracle"] else "no",
        )
        for visit in record["visits"]
    ]
    columns = (*(["tree"] if several else []), "node", "depth", "score", "oracle")
    out.print(make_table(columns, rows, left=()))
    out.print()
    times = {name: value for name, value in record.items() if name.endswith("_us")}
    shown = [("microseconds", number(record["microseconds"], 2)), ("predicted", number(record["predicted"], 2))]
    shown += [(f"  {name.removesuffix('_us').replace('_', ' ')}", number(value, 2)) for name, value in times.items()]
    out.print(make_table(None, shown))


def _search(record: dict[str, Any]) -> str:
    return "exact" if record.get("beam") is None else f"beam {record['beam']}"


def _spread_row(name: str, spread: dict[str, float]) -> tuple[str, ...]:
    return name, *(number(spread[key], 1) for key in ("mean", "p50", "p99"))


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:+.1f} %"


def _counted(profile: Profile, part: str) -> str:
    """Return the operations of a part: how many of each per query, and their cost."""
    return ", ".join(
        f"{number(float(profile.counts.each[name].mean()), 1)} {_TITLES.get(name, name)} "
        f"at {number(profile.costs.nanoseconds[name], 1)} ns"
        for name in profile.costs.parts[part]
    )
