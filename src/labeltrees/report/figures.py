"""The charts of a sweep result, and of a calibration."""

from __future__ import annotations

from typing import Any

from labeltrees._validation import check_choice
from labeltrees.report.charts import COLOURS, HEIGHT, WIDTH, altair, styled
from labeltrees.report.curves import curves
from labeltrees.report.tables import series_name
from labeltrees.tuning.result import SweepResult

NAMES = ("precision_depth", "precision_time", "frequencies", "served", "depths", "mass")
_MAX_TRADEOFFS = 6  # per chart of depths or mass


def figure(result: SweepResult, name: str, y: str | None = None) -> Any:
    """Return a chart of a result.

    Parameters
    ----------
    result : SweepResult
    name : str
        "precision_depth", "precision_time": one point with its 95 % interval per setting, one curve per fanout and
        variant (a smooth trend for time), the chosen setting, and the best baseline as a horizontal line (only named
        in the subtitle if it is far below).
        "frequencies", "served": label frequencies by rank, and the share of points that the most frequent labels serve.
        "depths", "mass": the number and the mass of labels at each depth, for trees at several tradeoffs.
    y : str, optional
        The metric of the first two charts; by default precision at the smallest k.
    """
    check_choice("name", name, NAMES)
    y = f"p{result.ks[0]}" if y is None else y
    if name in ("precision_depth", "precision_time"):
        chart = curves(result, name.removeprefix("precision_"), y)
    elif name == "frequencies":
        chart = frequency_curves(result.details["frequencies"]["by_rank"])
    elif name == "served":
        chart = served_curves(result.details["frequencies"]["served"])
    else:
        chart = levels(result, name)
    return styled(chart)


def frequency_curves(by_rank: list[dict[str, Any]]) -> Any:
    """Return the chart of the label frequencies by rank."""
    alt = altair()
    return (
        alt.Chart(alt.Data(values=by_rank))
        .mark_line()
        .encode(
            x=alt.X("rank:Q", title="rank of the label", scale=alt.Scale(type="log"), axis=_log_axis(alt)),
            y=alt.Y("frequency:Q", title="share of label occurrences", scale=alt.Scale(type="log"), axis=_powers(alt)),
            color=alt.Color("curve:N", title=None, legend=alt.Legend(orient="bottom")),
            tooltip=["curve:N", "rank:Q", alt.Tooltip("frequency:Q", format=".3~g")],
        )
        .properties(width=WIDTH, height=HEIGHT, title="Label frequencies (f) and cover frequencies (f~)")
    )


_SERVED = {"at_least_one": "at least one label", "at_least_three": "three labels, or all", "all_labels": "all labels"}


def served_curves(table: list[dict[str, Any]]) -> Any:
    """Return the chart of the share of points that the most frequent labels serve, from `Imbalance.table()`."""
    alt = altair()
    rows = [
        {"labels": row["q"], "share": 100 * row[name], "points with": text, "order": place}
        for row in table
        for place, (name, text) in enumerate(_SERVED.items())
    ]
    n_labels = max(row["q"] for row in table)
    curves = (
        alt.Chart(alt.Data(values=rows))
        .mark_line()
        .encode(
            x=alt.X(
                "labels:Q", title="number of most frequent labels", scale=alt.Scale(type="log"), axis=_log_axis(alt)
            ),
            y=alt.Y("share:Q", title="points served (%)", scale=alt.Scale(domain=[0, 100])),
            color=alt.Color(
                "points with:N", title=None, sort=list(_SERVED.values()), legend=alt.Legend(orient="bottom")
            ),
            tooltip=["points with:N", "labels:Q", alt.Tooltip("share:Q", title="points served (%)", format=".1f")],
        )
    )
    one_percent = alt.Data(values=[{"labels": -(-n_labels // 100), "text": "1 % of the labels"}])
    rule = alt.Chart(one_percent).mark_rule(color="grey", strokeDash=[2, 3]).encode(x="labels:Q", tooltip="text:N")
    return alt.layer(curves, rule).properties(
        width=WIDTH, height=HEIGHT, title="Points whose labels are among the most frequent"
    )


def levels(result: SweepResult, name: str) -> Any:
    """Return the chart of the number ("depths") or the mass ("mass") of labels at each depth, at several tradeoffs."""
    alt = altair()
    records = _shown_trees(result)
    key = "labels_per_depth" if name == "depths" else "mass_per_depth"
    rows = []
    for record in records:
        values = result.details["settings"][record["setting"]][key]
        factor = 1 if name == "depths" else 100
        for depth, value in enumerate(values):
            if depth > 0:
                rows.append({"tradeoff": f"{record['tradeoff']:.4g}", "depth": depth, "value": factor * value})
    title = "number of labels" if name == "depths" else "% of label occurrences"
    subject = "Labels" if name == "depths" else "Mass of labels"
    order = [f"{record['tradeoff']:.4g}" for record in records]
    series = series_name(records[0], result)
    bars = (
        alt.Chart()
        .mark_bar(color="#0072b2")
        .encode(
            x=alt.X("depth:O", title="depth (edges from the root)", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3)),
            tooltip=["tradeoff:N", "depth:O", alt.Tooltip("value:Q", title=title, format=",.4~g")],
        )
        .properties(width=WIDTH, height=56)
    )
    header = alt.Header(labelAngle=0, labelAlign="left", titleFontSize=13, labelFontSize=12)
    return bars.facet(
        row=alt.Row("tradeoff:N", sort=order, title="tradeoff", header=header), data=alt.Data(values=rows), spacing=8
    ).properties(title={"text": f"{subject} at each depth", "subtitle": f"{title}; {series}"})


def _shown_trees(result: SweepResult) -> list[dict[str, Any]]:
    """Return some records, by ascending tradeoff, from the curve of the chosen or else the first setting."""
    first = result.record(result.chosen) if result.chosen else result.table[0]
    shared = ["fanout", "cover", "path", *result.facts.get("varied", [])]
    curve = [row for row in result.table if all(row[name] == first[name] for name in shared)]
    curve.sort(key=lambda row: row["tradeoff"])
    if len(curve) <= _MAX_TRADEOFFS:
        return curve
    places = [round(place * (len(curve) - 1) / (_MAX_TRADEOFFS - 1)) for place in range(_MAX_TRADEOFFS)]
    return [curve[place] for place in places]


def _log_axis(alt: Any) -> Any:
    return alt.Axis(format="~s", labelOverlap=True)


def _powers(alt: Any) -> Any:
    return alt.Axis(format=".0e", labelOverlap=True)


def reliability_chart(bins: list[dict[str, Any]]) -> Any:
    """Return the chart of the share of correct labels against their probability, from the bins of `reliability`."""
    alt = altair()
    shown = ("probability", "correct", "correct_low", "correct_high")
    rows = [{**row, **{name: 100 * row[name] for name in shown}} for row in bins]
    scale = alt.Scale(domain=[0, 100])
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("probability:Q", title="probability (%)", scale=scale))
    intervals = base.mark_rule(color=COLOURS[0], opacity=0.5).encode(y="correct_low:Q", y2="correct_high:Q")
    points = base.mark_line(point=True, color=COLOURS[0]).encode(
        y=alt.Y("correct:Q", title="correct labels (%)", scale=scale),
        tooltip=[
            alt.Tooltip("n_labels:Q", title="labels"),
            *(alt.Tooltip(f"{name}:Q", format=".1f") for name in shown),
        ],
    )
    ideal = alt.Chart(alt.Data(values=[{"p": 0}, {"p": 100}])).mark_line(color="grey", strokeDash=[4, 4])
    return alt.layer(ideal.encode(x="p:Q", y="p:Q"), intervals, points).properties(
        width=HEIGHT, height=HEIGHT, title="Reliability of the probabilities"
    )
