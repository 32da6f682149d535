"""The report: one HTML page with everything in a sweep result, without network access or other files."""

from __future__ import annotations

import html
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from labeltrees._files import write_atomically
from labeltrees.report.baseline_rows import baseline_rows
from labeltrees.report.charts import COLOURS, altair, save
from labeltrees.report.figures import NAMES, figure
from labeltrees.report.names import column_title, series_name
from labeltrees.tuning.frontier import is_quality
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.sweep_folder import to_json

_TITLE = "Operating points"


def write_report(result: SweepResult, path: str | os.PathLike[str]) -> None:
    """Write the page of a result."""
    write_atomically(path, [make_page(result).encode()])


def write_figures(result: SweepResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as PNG and SVG and return the files."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name in NAMES:
        chart = figure(result, name)
        for ending in ("png", "svg"):
            written.append(target / f"{name}.{ending}")
            save(chart, written[-1])
    return written


def make_page(result: SweepResult) -> str:
    """Return the page as text."""
    parts = {
        "title": html.escape(_TITLE),
        "summary": html.escape(result.explanation or _summary(result)),
        "style": _template("report.css"),
        "library": _library(),
        "data": to_json(_page_data(result)).replace("<", r"\u003c"),  # so that no data can end the script element
        "script": _template("report.js"),
    }
    # One pass, so that nothing in the data is taken for a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place.group(1)], _template("report.html"))


def _summary(result: SweepResult) -> str:
    data = result.facts["data"]
    settings = "1 setting" if len(result.table) == 1 else f"{len(result.table)} settings"
    held_out = ", held out from the training data at random" if result.facts["measured"].get("held_out") else ""
    comparison = "" if result.comparison is None else f" {result.comparison}"
    return (
        f"{settings}, trained on {data['n_points']:,} points with {data['n_labels']:,} labels and measured on "
        f"{data['n_validation_points']:,} points{held_out}.{comparison}"
    )


def _page_data(result: SweepResult) -> dict[str, Any]:
    measured = [name for name in result.table[0] if any(row[name] is not None for row in result.table)]
    largest = max(result.ks)
    wanted = [f"{name}{k}" for name in ("p", "ndcg") for k in result.ks] + [f"recall{largest}", f"weighted_p{largest}"]
    metrics = [name for name in wanted if name in measured]
    return {
        "table": [{**record, "series": series_name(record, result.table)} for record in result.table],
        "columns": [_column(name) for name in result.table[0] if name != "setting"],
        "chosen": result.chosen,
        "metrics": [{"name": name, "title": column_title(name).removesuffix(" (%)")} for name in metrics],
        "curves": {
            name: {x: _spec(figure(result, f"precision_{x}", name)) for x in ("depth", "time")} for name in metrics
        },
        "charts": {name: _spec(figure(result, name)) for name in NAMES[2:]},
        "settings": result.details["settings"],
        "examples": result.details["examples"],
        "baselines": baseline_rows(result),
        "facts": _facts(result),
        "colours": COLOURS,
        "ks": list(result.ks),
    }


def _column(name: str) -> dict[str, Any]:
    return {"name": name, "title": column_title(name), "percent": is_quality(name)}


def _spec(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart without its style: the page has styles for light and dark."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # every part was validated when it was made
    spec.pop("config", None)
    return spec


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
            f"{data['n_validation_points']:,}"
            + (", held out from the training data at random" if timing.get("held_out") else ""),
        ],
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
