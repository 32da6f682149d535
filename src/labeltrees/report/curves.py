"""The charts of a metric against depth and time: points with intervals and names, curves, the best baseline."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees.report.charts import HEIGHT, WIDTH, altair, place_labels, trends
from labeltrees.report.tables import column_title, series_name
from labeltrees.tuning.result import SweepResult, columns_of, frontier

_COLOUR = "#b00020"


class BaselineLine(NamedTuple):
    """The layers of a chart that show the best baseline, and the lines of the subtitle that name it."""

    layers: list[Any]
    subtitle: list[str]
    value: float | None = None  # of the line, in percent


def baseline_line(result: SweepResult, metric: str, low: float, high: float) -> BaselineLine:
    """Return the line of the baseline with the highest value of a metric; no layers if none was measured.

    The points and their intervals lie between `low` and `high` percent. A line far below them would squeeze them
    together, so it is drawn only if the points keep at least half of the height.
    """
    known = [record for record in result.baselines if metric in record]
    if not known:
        return BaselineLine([], [])
    best = max(known, key=lambda record: float(record[metric]))
    subtitle = f"best baseline: {best['baseline']}, {100 * best[metric]:.2f} %"
    if 100 * best[metric] < low - (high - low):
        return BaselineLine([], [f"{subtitle} (below this chart)"])
    alt = altair()
    data = alt.Data(values=[{"y": 100 * best[metric], "baseline": best["baseline"]}])
    line = (
        alt.Chart(data)
        .mark_rule(color=_COLOUR, strokeDash=[8, 3], strokeWidth=1.5)
        .encode(y="y:Q", tooltip=["baseline:N", alt.Tooltip("y:Q", title="%", format=".2f")])
    )
    return BaselineLine([line], [f"{subtitle} (red line)"], 100 * best[metric])


_DOT, _RING = 4, 11  # pixels: the radius of a point, and of the ring around the chosen one
_MARGIN = 0.06  # of the range of an axis, free at both of its ends


def curves(result: SweepResult, x: str, y: str, width: int = WIDTH) -> Any:
    """Return the chart of a metric against "depth" or "time".

    The Vega parameter `at` is the name of the setting to mark; the slider of the page changes it.
    """
    alt = altair()
    x_column, y_column = columns_of(result.table, x, y, max(result.ks))
    rows = point_rows(result, x_column, y_column)
    ends = [row[end] for row in rows for end in ("low", "high") if row[end] is not None]
    best_baseline = baseline_line(result, y_column, min(ends), max(ends))
    domains = _domain([row["x"] for row in rows]), _domain([*ends, best_baseline.value])
    name_points(rows, *domains, width)
    across = {"title": column_title(x_column), "scale": alt.Scale(domain=domains[0], nice=False, zero=False)}
    up = {"title": column_title(y_column), "scale": alt.Scale(domain=domains[1], nice=False, zero=False)}
    base = alt.Chart().encode(x=alt.X("x:Q", **across), y=alt.Y("y:Q", **up))
    colour = alt.Color("series:N", title=None, legend=alt.Legend(orient="bottom", columns=2, symbolOpacity=1))
    at = alt.param(name="at", value="")
    layers = [
        base.mark_rule(opacity=0.4, strokeWidth=1).encode(y=alt.Y("low:Q", **up), y2="high:Q", color=colour),
        base.properties(data=alt.Data(values=in_order(rows) if x == "depth" else trends(rows)))
        .mark_line(opacity=0.55, strokeWidth=2.5, clip=True)
        .encode(color=colour, order="tradeoff:Q"),
        base.mark_point(filled=True, opacity=1).encode(
            color=colour,
            size=alt.condition("datum.frontier", alt.value(90), alt.value(35)),
            tooltip=_tooltip(alt, x_column, y_column),
        ),
        # Hidden instead of filtered, because Vega warns about layers without data.
        base.mark_point(size=320, strokeWidth=3, color="#e00070", filled=False).encode(
            opacity=alt.condition("datum.setting == at", alt.value(1), alt.value(0))
        ),
        base.mark_point(size=220, shape="diamond", strokeWidth=2, color="grey", filled=False).encode(
            opacity=alt.condition("datum.note != ''", alt.value(1), alt.value(0))
        ),
        base.mark_text(fontSize=11).encode(
            x=alt.X("name_x:Q", **across), y=alt.Y("name_y:Q", **up), text="name:N", color=colour
        ),
        *best_baseline.layers,
    ]
    title = {"text": _title(x, y_column), "subtitle": [_SUBTITLES[x], *best_baseline.subtitle]}
    return (
        alt.layer(*layers, data=alt.Data(values=rows))
        .add_params(at)
        .properties(width=width, height=HEIGHT, title=title)
    )


# Depths are exact, so lines join their points; times are noisy, so lines show trends.
_SUBTITLES = {
    "depth": "numbers: tradeoffs; bars: 95 % intervals; lines join the tradeoffs in order",
    "time": "numbers: tradeoffs; bars: 95 % intervals; lines: trends",
}


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points of each series in the order of their tradeoffs."""
    known = [row for row in rows if row["x"] is not None and row["y"] is not None]
    points = [{name: row[name] for name in ("series", "tradeoff", "x", "y")} for row in known]
    return sorted(points, key=lambda row: (row["series"], row["tradeoff"]))


def point_rows(result: SweepResult, x_column: str, y_column: str) -> list[dict[str, Any]]:
    """Return one row per setting: x, y (in percent), the 95 % interval of y, and how it is drawn."""
    best = {record["setting"] for record in frontier(result.table, x_column, y_column)}
    rows = []
    for record in result.table:
        is_chosen = record["setting"] == result.chosen
        value = None if record[y_column] is None else 100 * record[y_column]
        low, high = (100 * bound for bound in result.interval(record["setting"], y_column) or (0.0, 0.0))
        rows.append(
            {
                **{name: value for name, value in record.items() if name != x_column},
                "x": record[x_column],
                "y": value,
                "low": low if high > 0 else value,
                "high": high if high > 0 else value,
                "series": series_name(record, result),
                "frontier": record["setting"] in best,
                "note": "chosen" if is_chosen else "",
                "name": ("chosen: " if is_chosen else "") + f"{record['tradeoff']:.3g}",
            }
        )
    return rows


def names_in_width(chart: dict[str, Any], width: int) -> list[list[float | None]]:
    """Return the positions of the points' names if a chart, given as its specification, had another width."""
    rows = [dict(row) for row in chart["data"]["values"]]
    encoding = chart["layer"][2]["encoding"]
    name_points(rows, encoding["x"]["scale"]["domain"], encoding["y"]["scale"]["domain"], width)
    return [[row["name_x"], row["name_y"]] for row in rows]


def name_points(rows: list[dict[str, Any]], across: list[float], up: list[float], width: int) -> None:
    """Add the position of each point's name to its row: None if there is no free place."""
    known = [row for row in rows if row["x"] is not None and row["y"] is not None]
    (left, right), (bottom, top) = across, up
    points = [((row["x"] - left) / (right - left) * width, (top - row["y"]) / (top - bottom) * HEIGHT) for row in known]
    important = sorted(range(len(known)), key=lambda i: (not known[i]["note"], not known[i]["frontier"]))
    radii = [_RING if row["note"] else _DOT for row in known]
    places = place_labels(points, radii, [row["name"] for row in known], important, width, HEIGHT)
    for row in rows:
        row["name_x"] = row["name_y"] = None
    for row, place in zip(known, places, strict=True):
        if place is not None:
            row["name_x"] = left + place[0] / width * (right - left)
            row["name_y"] = top - place[1] / HEIGHT * (top - bottom)


def _domain(values: list[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    margin = _MARGIN * (high - low) or 0.5
    return [low - margin, high + margin]


def _tooltip(alt: Any, x_column: str, y_column: str) -> list[Any]:
    return [
        alt.Tooltip("series:N", title="curve"),
        alt.Tooltip("tradeoff:Q", format=".4~g"),
        alt.Tooltip("y:Q", title=column_title(y_column), format=".2f"),
        alt.Tooltip("low:Q", title="95 % interval from", format=".2f"),
        alt.Tooltip("high:Q", title="to", format=".2f"),
        alt.Tooltip("x:Q", title=column_title(x_column), format=".2f"),
        alt.Tooltip("chunks:Q", title="nodes opened per query", format=".1f"),
        alt.Tooltip("frontier:N", title="on the frontier"),
    ]


def _title(x: str, y_column: str) -> str:
    metric = column_title(y_column).removesuffix(" (%)")
    return f"{metric} against {'expected depth' if x == 'depth' else 'measured time'}"
