"""The paper's figures 1 to 6 from our records, in the paper's axes: expected depth to the right, precision upwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.paper.claims import top_percent
from benchmarks.paper.curves import Curve, interval
from benchmarks.paper.datasets import is_log, is_variant
from benchmarks.paper.records import Record
from labeltrees.report.charts import altair, save

if TYPE_CHECKING:
    from benchmarks.paper.page import Results

WIDTH, HEIGHT = 300, 190
BACKGROUND = "#fbfbf8"  # light, so that the pictures can be read on dark pages too
# The paper's colours of figure 3, in shades that colour-blind readers can tell apart.
COLOURS = {
    "marginal": "#0072b2",
    "greedy": "#e69f00",
    "direct": "#009e73",
    "direct, greedy": "#d1352b",
}
TITLES = {
    "marginal": "marginal cover (the paper's method)",
    "greedy": "greedy cover",
    "direct": "marginal cover, direct path",
    "direct, greedy": "greedy cover, direct path",
}
SERVED = {"at_least_one": "at least one label", "at_least_three": "three labels", "all_labels": "all labels"}
FIGURE_2_SETS = ("git-commits", "debian-depends", "debian")  # the first that has records


def available(results: Results) -> list[int]:
    """Return the figures that have records."""
    logs = any(found.test for name, found in results.curves.items() if is_log(name))
    sets = any(found.test for name, found in results.curves.items() if not is_log(name))
    records = {1: results.imbalance, 2: sets, 3: sets, 4: results.text, 5: logs, 6: results.imbalance}
    return [number for number, found in records.items() if found]


def draw_all(results: Results, folder: Path) -> None:
    """Write paper-figure-1.svg to paper-figure-6.svg; a figure without records is left out."""
    sets = {name: found.test for name, found in results.curves.items() if found.test and not is_log(name)}
    main = {name: curves for name, curves in sets.items() if not is_variant(name)}
    logs = {name: found.test for name, found in results.curves.items() if found.test and is_log(name)}
    name = next((name for name in FIGURE_2_SETS if name in sets), next(iter(sets), ""))
    charts = {
        1: ("Label frequency imbalance", lambda: served_chart(results.imbalance, "at_least_one")),
        2: (f"New operating points, shown on {name}", lambda: operating_points(sets[name]["marginal"], name)),
        3: ("Parabel with our trees: precision against expected depth", lambda: panels_of(main)),
        4: ("fastText with our trees: P@1 against expected depth@1", lambda: text_chart(results.text)),
        5: ("Logs: precision against expected depth", lambda: panels_of(logs)),
        6: ("Label frequency imbalance: one, three or all labels", lambda: served_panels(results.imbalance)),
    }
    for number in available(results):
        title, chart = charts[number]
        _save(folder, number, chart(), title)


def served_panels(imbalance: list[Record]) -> Any:
    """Return one panel each for one, three and all labels of a point."""
    return altair().vconcat(*(served_chart(imbalance, column) for column in SERVED))


def served_chart(imbalance: list[Record], column: str) -> Any:
    """Return the share of the points that the most frequent labels serve, one curve per set."""
    alt = altair()
    rows = [
        {"dataset": record["dataset"], "x": 100 * row["share_of_labels"], "y": 100 * row[column]}
        for record in imbalance
        for row in record["table"]
    ]
    one_percent = [
        {"dataset": record["dataset"], "x": _one_percent(record), "low": share.low, "high": share.high}
        for record in imbalance
        for share in [top_percent(record)]
    ]
    x = alt.X("x:Q", title="most frequent labels (% of the labels, log scale)", scale=alt.Scale(type="log"))
    title = f"points with {SERVED[column]} among them (%)"
    y = alt.Y("y:Q", title=title, scale=alt.Scale(domain=[0, 100]))
    # Names stand beside the curves' colours; eight sets need a longer palette than other charts.
    colour = alt.Color("dataset:N", title=None, scale=alt.Scale(scheme="tableau10"))
    layers = [
        alt.Chart(alt.Data(values=rows)).mark_line(interpolate="monotone").encode(x=x, y=y, color=colour),
        alt.Chart(alt.Data(values=[{"x": 1.0}])).mark_rule(strokeDash=[4, 4], color="#666").encode(x="x:Q"),
    ]
    if column == "at_least_one":
        half = alt.Chart(alt.Data(values=[{"y": 50}])).mark_rule(strokeDash=[4, 4], color="#666").encode(y="y:Q")
        bars = alt.Chart(alt.Data(values=one_percent)).mark_rule(strokeWidth=4)
        layers += [half, bars.encode(x="x:Q", y="low:Q", y2="high:Q", color=colour)]
    return alt.layer(*layers).properties(width=WIDTH * 1.6, height=HEIGHT * 1.2)


def _one_percent(record: Record) -> float:
    """Return the share of one percent of the labels, which is rounded up to whole labels."""
    return float(100 * -(-record["n_labels"] // 100) / record["n_labels"])


def curve_rows(variant: str, curve: Curve, k: int) -> list[dict[str, Any]]:
    """Return the points of a curve with the intervals of their differences from tradeoff 0, which are paired."""
    rows = []
    for tradeoff in curve.tradeoffs:
        row: dict[str, Any] = {"variant": TITLES[variant], "tradeoff": tradeoff}
        for name, names in ((f"depth{k}", ("x", "left", "right")), (f"p{k}", ("y", "low", "high"))):
            base = curve.at(0.0, name)
            difference = interval(curve.at(tradeoff, name) - base)
            row |= dict(zip(names, (float(base[0]) + value for value in difference), strict=True))
        rows.append(row)
    return rows


def panel(curves: dict[str, Curve], k: int, title: str) -> Any:
    """Return one panel: precision at k against expected depth@k, with intervals of both (see `curve_rows`)."""
    alt = altair()
    rows = [row for variant, curve in curves.items() for row in curve_rows(variant, curve, k)]
    colour = alt.Color(
        "variant:N",
        title=None,
        scale=alt.Scale(domain=list(TITLES.values()), range=list(COLOURS.values())),
        legend=alt.Legend(orient="bottom", columns=2) if len(curves) > 1 else None,
    )
    base = alt.Chart()
    x = alt.X("x:Q", title=f"expected depth@{k}", scale=alt.Scale(zero=False, padding=8))
    y = alt.Y("y:Q", title=f"P@{k} (%)", scale=alt.Scale(zero=False, padding=8))
    return alt.layer(
        base.mark_rule(opacity=0.25).encode(x=x, y=alt.Y("low:Q", title=f"P@{k} (%)"), y2="high:Q", color=colour),
        base.mark_rule(opacity=0.25).encode(x=alt.X("left:Q"), x2="right:Q", y=y, color=colour),
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(x=x, y=y, color=colour, order="tradeoff:Q"),
        base.mark_point(filled=True, size=28, opacity=1).encode(x=x, y=y, color=colour),
        data=alt.Data(values=rows),  # here and not in `base`, because altair copies it with every layer
    ).properties(width=WIDTH, height=HEIGHT, title=title)


def panels_of(sets: dict[str, dict[str, Curve]]) -> Any:
    """Return two panels per set: P@1 and P@3."""
    alt = altair()
    rows = []
    for name, curves in sets.items():
        seeds = _seeds(len(next(iter(curves.values())).seeds))
        rows.append(alt.hconcat(*(panel(curves, k, f"P@{k}, {name} ({seeds})") for k in (1, 3))))
    return alt.vconcat(*rows)


def operating_points(curve: Curve, name: str) -> Any:
    """Return the paper's figure 2: the two extremes that were known, and the points between them."""
    alt = altair()
    chart = panel({"marginal": curve}, 1, f"P@1 at each tradeoff, {name}")
    rows = curve_rows("marginal", curve, 1)
    names = {0: "tradeoff 0: Parabel", len(rows) - 1: f"tradeoff {curve.tradeoffs[-1]:.4g}: Fano"}
    ends = [row | {"text": text} for place, text in names.items() for row in [rows[place]]]
    base = alt.Chart(alt.Data(values=ends)).encode(x="x:Q", y="y:Q")
    marks = base.mark_point(size=110, color="#d1352b", strokeWidth=2)
    left = base.transform_filter("datum.tradeoff > 0").mark_text(align="left", dx=9, dy=12, color="#333")
    right = base.transform_filter("datum.tradeoff == 0").mark_text(align="right", dx=-9, dy=12, color="#333")
    return alt.layer(chart, marks, left.encode(text="text:N"), right.encode(text="text:N")).properties(
        width=WIDTH * 1.6, height=HEIGHT * 1.3
    )


def text_chart(text: list[Record]) -> Any:
    """Return the paper's figure 4: one panel per set, with Huffman's tree as a single point.

    Bars are 95 % intervals of the difference from Huffman's tree, which is paired and therefore has none.
    """
    alt = altair()
    comparisons = [record for record in text if record.get("kind") == "comparison"]
    panels = []
    for name in dict.fromkeys(record["dataset"] for record in comparisons):
        mine = sorted((r for r in comparisons if r["dataset"] == name), key=lambda r: r["tradeoff"])
        base = mine[0]["p1"]["huffman"]
        rows = [
            {"tree": "our trees", "tradeoff": r["tradeoff"], "x": r["depth1"]["ours"], "y": r["p1"]["ours"]}
            | {"low": base + r["p1"]["low"], "high": base + r["p1"]["high"]}
            for r in mine
        ]
        huffman = {"tree": "Huffman's tree (fastText)", "tradeoff": 3.0, "x": mine[0]["depth1"]["huffman"], "y": base}
        seeds = _seeds(len(mine[0]["seeds"]))
        rows.append(huffman | {"low": base, "high": base})
        panels.append(_text_panel(alt, rows, f"P@1, {name} ({mine[0]['epochs']} epochs, {seeds})"))
    return alt.hconcat(*panels)


def _text_panel(alt: Any, rows: list[dict[str, Any]], title: str) -> Any:
    colour = alt.Color(
        "tree:N", title=None, scale=alt.Scale(range=["#d1352b", "#0072b2"]), legend=alt.Legend(orient="bottom")
    )
    base = alt.Chart(alt.Data(values=rows), width=WIDTH, height=HEIGHT, title=title).encode(
        x=alt.X("x:Q", title="expected depth@1", scale=alt.Scale(zero=False, padding=8)), color=colour
    )
    y = alt.Y("y:Q", title="P@1 (%)", scale=alt.Scale(zero=False, padding=8))
    return alt.layer(
        base.mark_rule(opacity=0.35).encode(y=alt.Y("low:Q", title="P@1 (%)"), y2="high:Q"),
        base.transform_filter("datum.tradeoff < 3").mark_line(strokeWidth=1.5).encode(y=y, order="tradeoff:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(y=y),
    )


def _seeds(n: int) -> str:
    return f"{n} seed{'s' if n > 1 else ''}"


def _save(folder: Path, number: int, chart: Any, title: str) -> None:
    styled = (
        chart.properties(title=f"Figure {number}. {title}")
        .configure(font="sans-serif", background=BACKGROUND, padding=12, aria=False)
        .configure_view(stroke="#ccc")
        .configure_axis(labelColor="#222", titleColor="#222", gridColor="#ddd", labelFontSize=11, titleFontSize=12)
        .configure_legend(labelColor="#222", labelFontSize=12, labelLimit=320, symbolStrokeWidth=3, symbolOpacity=1)
        .configure_title(color="#222", fontSize=13, anchor="start")
    )
    save(styled, folder / f"paper-figure-{number}.svg")
