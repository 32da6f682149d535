"""The chart of a calibration: labels should be correct as often as their probability says."""

from __future__ import annotations

from typing import Any

from labeltrees.report.charts import COLOURS, HEIGHT, altair


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
