"""The pictures: precision against microseconds, one colour a contestant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.frontier.goal import Point, on_frontier
from benchmarks.frontier.grid import OURS, OURS_TEXT
from labeltrees.report.charts import COLOURS, altair, save, styled

RESULTS = Path(__file__).resolve().parent.parent / "results"
PANELS = {"batch": "batch, one thread", "single": "single calls, median"}
CONTESTANTS = [OURS, OURS_TEXT, "PECOS", "omikuji", "napkinXC", "fastText"]
SHAPES = ["circle", "triangle-up", "square", "diamond", "cross", "triangle-down"]
WIDTH, HEIGHT = 430, 330


def draw(set_name: str, points: list[Point]) -> None:
    """Save a picture for each precision."""
    RESULTS.mkdir(exist_ok=True)
    for y in ("p1", "p5"):
        save(picture(set_name, points, y), RESULTS / f"frontier-{set_name}-{y}.png")


def picture(set_name: str, points: list[Point], y: str) -> Any:
    """Return the chart: a panel for batches and one for single calls."""
    alt = altair()
    title = {
        "text": f"{set_name}: P@{y[1:]} against time for the five best labels",
        "subtitle": "up and to the left is better; peers joined along their beams, ours along their own frontier; "
        "ringed and dashed: the frontier of all",
    }
    chart = alt.hconcat(*(panel(points, x, y) for x in PANELS), title=title, spacing=30)
    return styled(chart).configure_legend(orient="bottom", labelFontSize=12, symbolSize=90, title=None)


def panel(points: list[Point], x: str, y: str) -> Any:
    """Return one panel."""
    alt = altair()
    rows = [
        {"x": p[x], "y": p[y], "contestant": p["contestant"], "line": p["model"], "order": order, "ours": p["ours"]}
        for order, p in enumerate(points)
    ]
    of_ours = [
        {"x": p[x], "y": p[y], "contestant": name, "line": name, "order": order}
        for name in (OURS, OURS_TEXT)
        for order, p in enumerate(on_frontier([q for q in points if q["contestant"] == name], x, y))
    ]
    names = [name for name in CONTESTANTS if any(p["contestant"] == name for p in points)]
    places = [CONTESTANTS.index(name) for name in names]
    colour = alt.Color(
        "contestant:N",
        scale=alt.Scale(domain=names, range=[COLOURS[place] for place in places]),
        legend=alt.Legend(columns=len(names)),
    )
    shape = alt.Shape(
        "contestant:N",
        scale=alt.Scale(domain=names, range=[SHAPES[place] for place in places]),
        legend=alt.Legend(columns=len(names)),
    )
    horizontal = alt.X(
        "x:Q",
        title=f"microseconds a query ({PANELS[x]})",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(values=[a * 10**b for b in range(-1, 5) for a in (1, 2, 5)], format="~g", labelOverlap=True),
    )
    vertical = alt.Y("y:Q", title=f"P@{y[1:]} (%)", scale=alt.Scale(zero=False, padding=12))

    def base(values: list[dict[str, Any]]) -> Any:
        return alt.Chart(alt.Data(values=values)).encode(x=horizontal, y=vertical)

    peers = [row for row in rows if not row["ours"]]
    best = [{"x": p[x], "y": p[y], "order": order} for order, p in enumerate(on_frontier(points, x, y))]
    ends = [max((r for r in peers if r["line"] == line), key=lambda r: r["x"]) for line in _joined(peers)]
    return alt.layer(
        base(best).mark_line(color="black", strokeDash=[2, 3], strokeWidth=1).encode(order="order:Q"),
        base([row for row in rows if row["ours"]]).mark_point(size=16, opacity=0.3, filled=True).encode(
            color=colour, shape=shape
        ),
        base(peers + of_ours).mark_line(strokeWidth=1.8).encode(color=colour, detail="line:N", order="order:Q"),
        base(peers + of_ours).mark_point(size=46, opacity=1, filled=True).encode(color=colour, shape=shape),
        base(best).mark_point(size=130, color="black", strokeWidth=1, opacity=1),
        base([{**row, "text": row["line"].removeprefix("PECOS ")} for row in ends])
        .mark_text(align="right", dx=-2, dy=-11, fontSize=10)
        .encode(text="text:N", color=colour),
    ).properties(width=WIDTH, height=HEIGHT)


def _joined(peers: list[dict[str, Any]]) -> list[str]:
    """Return the models of contestants that have several, which their lines are told apart by."""
    models: dict[str, set[str]] = {}
    for row in peers:
        models.setdefault(row["contestant"], set()).add(row["line"])
    return sorted(line for lines in models.values() if len(lines) > 1 for line in lines)
