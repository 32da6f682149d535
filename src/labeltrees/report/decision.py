"""The decision of a result: one sentence, and the settings to compare it with."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees.report.names import column_title
from labeltrees.tuning.result import SweepResult

Record = dict[str, Any]


class Decision(NamedTuple):
    """One sentence, and a table of texts with the name of the setting of each row."""

    sentence: str
    columns: list[str]
    rows: list[list[str]]
    settings: list[str]


def decide(result: SweepResult) -> Decision:
    """Return the decision: the chosen setting, or without one the fastest that is not clearly worse than the best."""
    metric, largest = f"p{result.ks[0]}", max(result.ks)
    time = f"top{largest}_p50_us"
    known = [record for record in result.table if record[metric] is not None]
    timed = [record for record in known if record[time] is not None] or known
    best = max(known, key=lambda record: record[metric])
    fastest = min(timed, key=lambda record: record[time] or 0.0)
    if result.chosen is not None:
        middle, role = result.record(result.chosen), "chosen"
    else:
        middle, role = _fastest_like(result, timed, best, metric, time), "compromise"
    shown = [("fastest", fastest), (role, middle), ("most precise", best)]
    columns = [metric, time, f"top{largest}_p99_us", *(f"p{k}" for k in result.ks[1:]), "model_bytes"]
    return Decision(
        _sentence(result, middle, best, metric, time),
        ["", *(_short_title(column) for column in columns)],
        [
            [f"{name} ({_setting(record)})", *(_cell(result, record, column) for column in columns)]
            for name, record in shown
        ],
        [record["setting"] for _, record in shown],
    )


def _fastest_like(result: SweepResult, timed: list[Record], best: Record, metric: str, time: str) -> Record:
    """Return the fastest setting whose 95 % interval includes the highest value of the metric."""
    intervals = {record["setting"]: result.interval(record["setting"], metric) for record in timed}
    like = [
        record
        for record in timed
        if record is best or ((bounds := intervals[record["setting"]]) is not None and bounds[1] >= best[metric])
    ]
    return min(like or [best], key=lambda record: record[time] or 0.0)


def _sentence(result: SweepResult, middle: Record, best: Record, metric: str, time: str) -> str:
    setting, title = _setting(middle), column_title(metric).removesuffix(" (%)")
    cost = "" if middle[time] is None else f" in {middle[time]:.1f} µs per call"
    value, bracket, interval = _cell(result, middle, metric).partition(" (")
    reached = f"{title} {value} %{bracket}{interval}{cost}"
    loss = 100 * (best[metric] - middle[metric])
    against = "which is the highest" if loss <= 0 else f"{loss:.2f} points below the highest"
    if result.chosen is not None:
        return f"Chosen: {setting}. It reaches {reached}, {against}."
    return (
        f"No setting was chosen. A good compromise is {setting}: {reached}, {against}. It is the fastest setting whose "
        f"95 % interval includes the highest {title}."
    )


def _setting(record: Record) -> str:
    return f"tradeoff {record['tradeoff']:.4g}" + ("" if record["fanout"] is None else f", fanout {record['fanout']}")


def _cell(result: SweepResult, record: Record, column: str) -> str:
    value = record[column]
    if value is None:
        return "-"
    if column == "model_bytes":
        return f"{value / 1e6:,.1f}"
    if column.endswith("_us"):
        return f"{value:,.1f}"
    bounds = result.interval(record["setting"], column)
    interval = "" if bounds is None else f" ({100 * bounds[0]:.1f} to {100 * bounds[1]:.1f})"
    return f"{100 * value:.2f}{interval}"


def _short_title(column: str) -> str:
    if column == "model_bytes":
        return "size (MB)"
    if column.endswith("_us"):
        return "µs per call" if "_p50_" in column else "99th percentile"
    return column_title(column)
