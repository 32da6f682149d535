"""The tables of a report as texts: the decision, the measurements of a setting, the baselines; titles of columns."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees.metrics.table import METRICS, find_metric
from labeltrees.tuning.candidates import describe_setting
from labeltrees.tuning.result import SweepResult

Record = dict[str, Any]

_TITLES = {
    "chunks": "nodes opened per query",
    "classifiers": "classifiers per query",
    "batch_us": "time per point in a batch (µs)",
    "tree_seconds": "building the tree (s)",
    "training_seconds": "training (s)",
    "model_bytes": "size on disk (bytes)",
    "tradeoff": "tradeoff",
    "fanout": "fanout",
    "cover": "cover",
    "path": "path",
}


def column_title(column: str) -> str:
    """Return the title of a column of the table, with its unit.

    Examples
    --------
    >>> column_title("ndcg5"), column_title("top1_p99_us")
    ('nDCG@5 (%)', 'single call for 1 label, 99th percentile (µs)')
    """
    if column in _TITLES:
        return _TITLES[column]
    if column.startswith("top"):
        k, percentile = column.removeprefix("top").removesuffix("_us").split("_")
        which = "median" if percentile == "p50" else "99th percentile"
        return f"single call for {k} label{'' if k == '1' else 's'}, {which} (µs)"
    found = find_metric(column)
    return column if found is None else found.title + (" (%)" if found.metric.is_share else "")


def series_name(record: Record, result: SweepResult) -> str:
    """Return the name of the curve of a record: its fanout and other parameters, cover and path only if they vary."""
    parts = [] if record["fanout"] is None else [f"fanout {record['fanout']}"]
    for name in ("cover", "path"):
        if record[name] is not None and len({row[name] for row in result.table}) > 1:
            parts.append(f"{record[name]} {name}")
    parts += [f"{name} {record[name]}" for name in result.facts.get("varied", [])]
    return ", ".join(parts) or "binary trees"


def asked_metric(result: SweepResult) -> str:
    """Return the metric that the user asked for, or else the first P@k."""
    return str(result.facts.get("metric", f"p{result.ks[0]}"))


def describe(result: SweepResult, record: Record) -> str:
    """Return a setting in words: the varied parameters that differ from the first setting, and the tree."""
    varied = {name: record[name] for name in result.facts.get("varied", [])}
    first = {name: result.table[0][name] for name in varied}
    changed = [f"{name} {value}" for name, value in varied.items() if value != first[name]]
    is_same_tree = all(record[name] == result.table[0][name] for name in ("tradeoff", "fanout"))
    if varied and is_same_tree:
        return ", ".join(changed) or "as given"
    return ", ".join([*changed, describe_setting(record)])


class Decision(NamedTuple):
    """One sentence, and a table as texts; `settings` has the setting of each row."""

    sentence: str
    columns: list[str]
    rows: list[list[str]]
    settings: list[str]


def decide(result: SweepResult) -> Decision:
    """Return the decision: the chosen setting, or else the fastest whose 95 % interval includes the best value."""
    metric, largest = asked_metric(result), max(result.ks)
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
    others = [f"p{k}" for k in result.ks if f"p{k}" != metric]
    columns = [metric, time, f"top{largest}_p99_us", *others, "model_bytes"]
    return Decision(
        _sentence(result, middle, best, metric, time),
        ["", *(_short_title(column) for column in columns)],
        [
            [f"{name} ({describe(result, record)})", *(_cell(result, record, column) for column in columns)]
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
    setting, title = describe(result, middle), column_title(metric).removesuffix(" (%)")
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


_WORK = {"chunks": "nodes opened per query", "classifiers": "classifiers evaluated per query"}
_MODEL = {
    "tree_seconds": "building the tree (s)",
    "training_seconds": "training, with the tree (s)",
    "model_bytes": "size on disk (MB)",
}


def setting_groups(result: SweepResult) -> list[dict[str, Any]]:
    """Return groups with a title, headings and rows; a row has a name and columns of the table (None: empty cell)."""
    known = set(result.table[0])
    ks, timed = result.ks, [k for k in sorted({1, *result.ks}) if f"top{k}_p50_us" in known]
    heads = [f"@{k}" for k in ks]
    kinds = [(metric, metric.column, metric.words) for metric in METRICS]
    kinds += [(metric, f"weighted_{metric.column}", f"weighted {metric.words}") for metric in METRICS]
    rows = [
        (metric.is_share, [words, [f"{column}{k}" for k in ks]])
        for metric, column, words in kinds
        if f"{column}{ks[0]}" in known
    ]
    return [
        {
            "title": "Quality (%), with 95 % intervals",
            "heads": heads,
            "rows": [row for is_share, row in rows if is_share],
        },
        {
            "title": "Time (µs)",
            "heads": [f"top {k}" for k in timed],
            "rows": [
                ["single call, median", [f"top{k}_p50_us" for k in timed]],
                ["single call, 99th percentile", [f"top{k}_p99_us" for k in timed]],
                ["per point in a batch", [None] * (len(timed) - 1) + ["batch_us"]],
            ],
        },
        {
            "title": "Search",
            "heads": heads,
            "rows": [
                *(row for is_share, row in rows if not is_share),
                *([name, [None] * (len(ks) - 1) + [key]] for key, name in _WORK.items()),
            ],
        },
        {"title": "Model", "heads": [""], "rows": [[name, [key]] for key, name in _MODEL.items()]},
    ]


def baseline_rows(result: SweepResult) -> dict[str, Any]:
    """Return headings, rows, and the sentences that compare the model with the baselines."""
    if not result.baselines:
        return {"columns": [], "rows": [], "note": ""}
    largest, first = max(result.ks), f"p{result.ks[0]}"
    others = [metric.column for metric in METRICS if metric.has_interval and metric.column != "p"]
    others += [f"weighted_{metric.column}" for metric in METRICS if metric.has_interval]
    columns = [asked_metric(result), *(f"p{k}" for k in result.ks), *(f"{name}{largest}" for name in others)]
    columns = [column for column in dict.fromkeys(columns) if column in result.table[0]]
    best = result.chosen or max(result.table, key=lambda record: record[first])["setting"]
    model = {"baseline": best, **model_on_same_points(result, best)}
    columns = [column for column in columns if column in model["intervals"]]
    kind = "chosen model" if result.chosen else "most precise model"
    return {
        "columns": ["", *(column_title(column) for column in columns)],
        "rows": [
            [
                kind if record is model else record["baseline"],
                *(_value_and_interval(record, column) for column in columns),
            ]
            for record in (model, *result.baselines)
        ],
        "note": _note(result),
    }


def model_on_same_points(result: SweepResult, setting: str) -> Record:
    """Return the metrics of a setting on the points that the baselines were measured on, with intervals."""
    compared = result.facts.get("compared")
    if compared is not None and setting == result.chosen:
        return dict(compared)
    return {**result.record(setting), "intervals": result.details["settings"][setting]["intervals"]}


def _value_and_interval(record: dict[str, Any], column: str) -> list[str]:
    """Return the value, and its interval for the line below it."""
    low, high = record["intervals"][column]
    return [f"{100 * record[column]:.2f}", f"{100 * low:.1f} to {100 * high:.1f}"]


def _note(result: SweepResult) -> str:
    n_all = result.facts["data"]["n_validation_points"]
    n_measured = result.facts["measured"].get("baseline_points", n_all)
    what = "This table is" if "compared" in result.facts else "Baselines are"
    part = "" if n_measured == n_all else f" {what} measured on {n_measured:,} of the {n_all:,} validation points."
    return f"{result.comparison or ''} Small numbers: 95 % confidence intervals.{part}".strip()
