"""The best baseline in a chart: a horizontal line, or only words if it is far below the curves."""

from __future__ import annotations

from typing import Any, NamedTuple

from labeltrees.report.charts import altair
from labeltrees.tuning.result import SweepResult

_COLOUR = "#b00020"


class BaselineLine(NamedTuple):
    """The layers of a chart that show the best baseline, and the subtitle that names it, as a part of a title."""

    layers: list[Any]
    subtitle: dict[str, str]


def baseline_line(result: SweepResult, metric: str) -> BaselineLine:
    """Return the line of the baseline with the highest value of a metric; nothing if none was measured.

    A line far below the curves would leave no room to see how the curves differ. It is drawn only if the curves keep at
    least half of the height.
    """
    known = [record for record in result.baselines if metric in record]
    if not known:
        return BaselineLine([], {})
    best = max(known, key=lambda record: float(record[metric]))
    values = [record[metric] for record in result.table if record[metric] is not None]
    low, high = min(values), max(values)
    subtitle = f"best baseline: {best['baseline']}, {100 * best[metric]:.2f} %"
    if best[metric] < low - (high - low):
        return BaselineLine([], {"subtitle": f"{subtitle} (below this chart)"})
    alt = altair()
    data = alt.Data(values=[{"y": 100 * best[metric], "baseline": best["baseline"]}])
    line = (
        alt.Chart(data)
        .mark_rule(color=_COLOUR, strokeDash=[8, 3], strokeWidth=1.5)
        .encode(y="y:Q", tooltip=["baseline:N", alt.Tooltip("y:Q", title="%", format=".2f")])
    )
    return BaselineLine([line], {"subtitle": f"{subtitle} (red line)"})
