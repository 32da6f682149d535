"""The charts: precision against microseconds, one colour per contestant."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

from benchmarks.frontier.goal import Point, on_frontier
from benchmarks.frontier.grid import OURS, OURS_TEXT
from benchmarks.png import save_png
from labeltrees.report.charts import COLOURS, altair, styled

RESULTS = Path(__file__).resolve().parent.parent / "results"
PANELS = {"batch": "batch, one thread", "single": "single calls, median"}
CONTESTANTS = [OURS, OURS_TEXT, "PECOS", "omikuji", "napkinXC", "LibMultiLabel", "fastText"]
COLOUR_OF = dict(zip(CONTESTANTS, (COLOURS[0], COLOURS[4], *COLOURS[1:4], *COLOURS[5:7]), strict=True))
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-right", "triangle-down")
SHAPE_OF = dict(zip(CONTESTANTS, SHAPES, strict=True))
WIDTH, HEIGHT = 430, 330
# A contestant is shown if its best precision is at most FAR below the best of all; the axis starts BELOW under it.
FAR, BELOW = 12.0, 3.0


def draw(set_name: str, points: list[Point]) -> None:
    """Save one chart for P@1 and one for P@5."""
    for y in ("p1", "p5"):
        save_png(picture(set_name, points, y), RESULTS / f"frontier-{set_name}-{y}.png")


def picture(set_name: str, points: list[Point], y: str) -> Any:
    """Return a chart with one panel for batches and one for single calls."""
    alt = altair()
    low = lowest(points, y)
    shown = [point for point in points if point[y] >= low]
    notes = [
        "Up and to the left is better. Lines join the beams of each peer's model, and the frontier of ours. Rings mark "
        "the frontier of all contestants."
    ]
    if len(shown) < len(points):
        gone = len(points) - len(shown)
        notes.append(f"{gone} points below {low:.0f} % are not shown{far_below(points, shown, y)}.")
    title = {"text": f"{set_name}: P@{y[1:]} against time for the five best labels", "subtitle": notes}
    chart = alt.hconcat(*(panel(shown, x, y) for x in PANELS), title=title, spacing=30)
    return styled(chart).configure_legend(orient="bottom", labelFontSize=12, symbolSize=90, title=None)


def lowest(points: list[Point], y: str) -> float:
    """Return the lowest precision that is shown."""
    bests = [max(p[y] for p in points if p["contestant"] == name) for name in {p["contestant"] for p in points}]
    return max(min(p[y] for p in points), min(best for best in bests if best >= max(bests) - FAR) - BELOW)


def far_below(points: list[Point], shown: list[Point], y: str) -> str:
    """Return the contestants without a point in the chart, with their best point."""
    there = {point["contestant"] for point in shown}
    gone = [name for name in CONTESTANTS if name not in there and any(p["contestant"] == name for p in points)]
    bests = [max((p for p in points if p["contestant"] == name), key=lambda p: p[y]) for name in gone]
    return "".join(f", including all of {p['contestant']} ({p[y]:.1f} %, {p['single']:.0f} us per call)" for p in bests)


def panel(points: list[Point], x: str, y: str) -> Any:
    """Return one panel."""
    alt = altair()
    names = [name for name in CONTESTANTS if any(p["contestant"] == name for p in points)]
    legend = alt.Legend(columns=len(names), symbolOpacity=1)
    colours = alt.Scale(domain=names, range=[COLOUR_OF[name] for name in names])
    shapes = alt.Scale(domain=names, range=[SHAPE_OF[name] for name in names])
    colour = alt.Color("contestant:N", scale=colours, legend=legend)
    shape = alt.Shape("contestant:N", scale=shapes, legend=legend)
    horizontal = alt.X(
        "x:Q",
        title=f"microseconds per query ({PANELS[x]})",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(values=[a * 10**b for b in range(-1, 5) for a in (1, 2, 5)], format="~g", labelOverlap=True),
    )
    vertical = alt.Y("y:Q", title=f"P@{y[1:]} (%)", scale=alt.Scale(zero=False, padding=12))

    def base(wanted: list[Point]) -> Any:
        rows = [{"x": p[x], "y": p[y], "order": i, **_texts(p)} for i, p in enumerate(wanted)]
        return alt.Chart(alt.Data(values=rows)).encode(x=horizontal, y=vertical)

    peers = [point for point in points if not point["ours"]]
    joined = peers + [
        {**point, "model": name}  # one line for all models
        for name in (OURS, OURS_TEXT)
        for point in on_frontier([p for p in points if p["contestant"] == name], x, y)
    ]
    best = on_frontier(points, x, y)
    return alt.layer(
        base(best).mark_line(color="black", strokeDash=[2, 3], strokeWidth=1).encode(order="order:Q"),
        base([point for point in points if point["ours"]])
        .mark_point(size=16, opacity=0.3, filled=True)
        .encode(color=colour, shape=shape),
        base(joined).mark_line(strokeWidth=1.8).encode(color=colour, detail="line:N", order="order:Q"),
        base(joined).mark_point(size=46, opacity=1, filled=True).encode(color=colour, shape=shape),
        base(best).mark_point(size=130, color="black", strokeWidth=1, opacity=1),
        *(
            base(ends)
            .mark_text(align="right", dx=-7, dy=9 * (1 - place), fontSize=10)  # stacked, to avoid overlap
            .encode(text="text:N", color=alt.Color("contestant:N", scale=colours, legend=None))
            for place, ends in enumerate(_line_starts(peers, x))
        ),
    ).properties(width=WIDTH, height=HEIGHT)


def _texts(point: Point) -> dict[str, Any]:
    model, contestant = point["model"], point["contestant"]
    return {"contestant": contestant, "line": model, "text": model.removeprefix(f"{contestant} ")}


def _line_starts(peers: list[Point], x: str) -> list[list[Point]]:
    """Return the leftmost points, where the names of lines are written, for contestants with more than one line.

    The first list has the first line of each contestant, the second list the second line, and so on.
    """
    lines: dict[str, dict[str, list[Point]]] = {}
    for point in peers:
        lines.setdefault(point["contestant"], {}).setdefault(point["model"], []).append(point)
    several = [models for models in lines.values() if len(models) > 1]
    starts = [[min(of_model, key=lambda p: p[x]) for of_model in models.values()] for models in several]
    return [[point for point in of_place if point is not None] for of_place in zip_longest(*starts)]
