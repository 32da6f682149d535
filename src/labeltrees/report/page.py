"""The report: one HTML page with everything in a sweep result, without network access or other files."""

from __future__ import annotations

import html
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from labeltrees._files import to_json, write_atomically
from labeltrees.metrics.table import METRICS
from labeltrees.report.charts import COLOURS, DARK_COLOURS, altair, save
from labeltrees.report.curves import curves, names_in_width
from labeltrees.report.figures import NAMES, figure
from labeltrees.report.tables import (
    Decision,
    asked_metric,
    baseline_rows,
    column_title,
    decide,
    series_name,
    setting_groups,
)
from labeltrees.tuning.result import SweepResult, is_quality

_NARROW = 270  # pixels of a chart on a phone
_EVERY_K = ("p", "ndcg")  # metrics with charts for every k; the others have charts for the largest k


def write_report(result: SweepResult, path: str | os.PathLike[str], title: str | None = None) -> None:
    """Write the page of a result; `title` names the data."""
    write_atomically(path, [make_page(result, title).encode()])


def write_figures(result: SweepResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as PNG, SVG and PDF and return the files; the precision charts are written for every k."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    charts = {name: figure(result, name) for name in NAMES}
    charts |= {f"{name}_p{k}": figure(result, name, f"p{k}") for name in NAMES[:2] for k in result.ks[1:]}
    for name, chart in charts.items():
        for ending in ("png", "svg", "pdf"):
            written.append(target / f"{name}.{ending}")
            save(chart, written[-1])
    return written


def make_page(result: SweepResult, title: str | None = None) -> str:
    """Return the page as text."""
    decision = decide(result)
    parts = {
        "title": html.escape(title or result.data_name or _data_size(result)),
        "decision": html.escape(decision.sentence),
        "decision_table": _decision_table(decision),
        "summary": html.escape(_summary(result)),
        "explanation": html.escape(result.explanation or result.comparison or ""),
        "style": _template("report.css"),
        "library": _library(),
        "data": to_json(_page_data(result)).replace("<", r"\u003c"),  # so that no data can end the script element
        "script": _template("report.js"),
    }
    # One pass, so that nothing in the data is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place.group(1)], _template("report.html"))


def _data_size(result: SweepResult) -> str:
    data = result.facts["data"]
    return f"{data['n_points']:,} points, {data['n_labels']:,} labels"


def _held_out(measured: dict[str, Any]) -> str:
    how = measured.get("held_out_how", "at random")  # earlier versions did not store it
    return f", held out from the training data {how}" if measured.get("held_out") else ""


def _summary(result: SweepResult) -> str:
    data = result.facts["data"]
    settings = "1 setting" if len(result.table) == 1 else f"{len(result.table)} settings"
    held_out = _held_out(result.facts["measured"])
    return (
        f"{settings}, trained on {data['n_points']:,} points with {data['n_labels']:,} labels and measured on "
        f"{data['n_validation_points']:,} points{held_out}. Small numbers: 95 % confidence intervals."
    )


def _decision_table(decision: Decision) -> str:
    """Return the table as HTML, so that the page shows the decision without JavaScript."""
    head = "".join(f'<th scope="col" class="number">{html.escape(text)}</th>' for text in decision.columns)
    rows = []
    for setting, (name, *cells) in zip(decision.settings, decision.rows, strict=True):
        values = "".join(f'<td class="number">{_with_interval(text)}</td>' for text in cells)
        row = f'<tr data-setting="{html.escape(setting)}"><th scope="row">{_with_interval(name)}</th>{values}</tr>'
        rows.append(row)
    return f"<tr>{head}</tr>\n" + "\n".join(rows)


def _with_interval(text: str) -> str:
    """Return HTML with the part in parentheses small, below the rest."""
    value, bracket, interval = html.escape(text).partition(" (")
    return value + (f'<br><span class="interval">{interval.removesuffix(")")}</span>' if bracket else "")


def first_example(result: SweepResult, setting: str) -> int:
    """Return the example to show first: the first with both correct and incorrect labels, or else the first."""
    for place, search in enumerate(result.details["settings"][setting]["looks"]):
        if {bool(answer["right"]) for answer in search["answers"]} == {True, False}:
            return place
    return 0


def _page_data(result: SweepResult) -> dict[str, Any]:
    measured = [name for name in result.table[0] if any(row[name] is not None for row in result.table)]
    largest = max(result.ks)
    others = [metric.column for metric in METRICS if metric.of_points is not None and metric.column not in _EVERY_K]
    wanted = [f"{name}{k}" for name in _EVERY_K for k in result.ks]
    wanted += [f"{name}{largest}" for name in (*others, "weighted_p")]
    metrics = [name for name in dict.fromkeys([asked_metric(result), *wanted]) if name in measured]
    start = result.chosen or decide(result).settings[1]
    return {
        "table": [{**record, "series": series_name(record, result)} for record in result.table],
        "columns": [_column(name) for name in result.table[0] if name != "setting"],
        "chosen": result.chosen,
        "start": start,
        "firstExample": first_example(result, start),
        "groups": setting_groups(result),
        "metrics": [{"name": name, "title": column_title(name).removesuffix(" (%)")} for name in metrics],
        "curves": {name: {x: _curves(result, x, name) for x in ("depth", "time")} for name in metrics},
        "charts": {name: _spec(figure(result, name)) for name in NAMES[2:]},
        "settings": result.details["settings"],
        "examples": result.details["examples"],
        "baselines": baseline_rows(result),
        "facts": _facts(result),
        "colours": COLOURS,
        "darkColours": DARK_COLOURS,
        "ks": list(result.ks),
    }


def _column(name: str) -> dict[str, Any]:
    return {"name": name, "title": column_title(name), "percent": is_quality(name)}


def _spec(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart without its style: the page has styles for light and dark."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # every part was validated when it was made
    spec.pop("config", None)
    return spec


def _curves(result: SweepResult, x: str, metric: str) -> dict[str, Any]:
    """Return the specification of a chart, and the width and positions of names that a phone uses instead."""
    spec = _spec(curves(result, x, metric))
    return {"spec": spec, "narrow": _NARROW, "names": names_in_width(spec, _NARROW)}


def _facts(result: SweepResult) -> list[list[str]]:
    """Return the facts about data and machine as pairs of texts."""
    data, machine, timing = (result.facts[name] for name in ("data", "machine", "measured"))
    estimator = result.facts["estimator"]
    features = "texts" if data["n_features"] is None else f"{data['n_features']:,} features"
    parameters = ", ".join(f"{name}={value}" for name, value in estimator["parameters"].items())
    return [
        ["training points", f"{data['n_points']:,} ({features})"],
        [
            "validation points",
            f"{data['n_validation_points']:,}{_held_out(timing)}",
        ],
        *([["rules for lists and calls", timing["rules"]]] if "rules" in timing else []),
        ["labels", f"{data['n_labels']:,}, of which {data['n_labels_with_points']:,} have training points"],
        ["labels per point", f"{data['labels_per_point']:.2f}"],
        ["model", f"{estimator['class']}({parameters})"],
        [
            "times",
            f"{timing['single_calls']:,} single calls on one thread, median of {timing['repeats']} rounds, settings "
            f"measured in turns; batches and training on {timing['threads']} "
            f"thread{'' if timing['threads'] == 1 else 's'}",
        ],
        ["processor", f"{machine['processor']}, cores: {machine['cores']}"],
        ["memory and system", f"{machine['memory_gib']} GiB, {machine['system']}"],
        [
            "software",
            f"labeltrees {machine['labeltrees']}, Python {machine['python']}, {machine['vector_instructions']} "
            f"instructions",
        ],
        ["date", machine["date"]],
    ]


def _library() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script that defines the function `vegaEmbed`."""
    altair()
    import vl_convert  # part of the same extra

    snippet = "window.vegaEmbed = vegaEmbed;"
    return re.sub("</(?=script)", r"<\\/", vl_convert.javascript_bundle(snippet), flags=re.IGNORECASE)


def _template(name: str) -> str:
    return (files("labeltrees.report") / "templates" / name).read_text(encoding="utf-8")
