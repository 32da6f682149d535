"""The best baseline in a chart: a horizontal line, or only words if it is far below the curves."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees.report.charts import altair
from labeltrees.tuning.result import SweepResult

_COLOUR = "#b00020"


class BaselineLine(NamedTuple):
    """The layers of a chart that show the best baseline, and the lines of the subtitle that name it."""

    layers: list[Any]
    subtitle: list[str]
    value: float | None = None  # of the line, in percent


def baseline_line(result: SweepResult, metric: str, low: float, high: float) -> BaselineLine:
    """Return the line of the baseline with the highest value of a metric; nothing if none was measured.

    The points, with their intervals, are between `low` and `high` percent. A line far below them would leave no room to
    see how they differ. It is drawn only if they keep at least half of the height.
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
