"""Draw the picture of the README: precision against the time of a single call, ours and every peer.

    python scripts/make_frontier_picture.py [FOLDER]

It reads the points of benchmarks/results/frontier.md, which `python -m benchmarks.frontier` writes, and makes four
files: wide and narrow (for phones), light and dark. P@1 is a share of the queries, so its 95 % interval is Wilson's.
"""

from __future__ import annotations

import math
import re
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "frontier.md"
TITLES = {"debian-depends": "Debian packages, 33,091 labels", "eurlex4k": "EURLex-4K, 3,993 labels"}
NOTES = {"eurlex4k": "not shown: fastText (needs texts), LibMultiLabel (82.2 % at 32 ms)"}
CONTESTANTS = {  # marker, colours on light and dark ground
    "ours": ("circle", "#0072b2", "#56b4e9"),
    "PECOS": ("square", "#d55e00", "#f0954a"),
    "omikuji": ("triangle", "#007a5a", "#2fc79b"),
    "napkinXC": ("diamond", "#a8518a", "#e79fc8"),
    "fastText": ("cross", "#6b6b00", "#d9d04a"),
}
INK = {"light": ("#1b1f24", "#5c6670", "#d5dae0"), "dark": ("#e4e8ec", "#9aa6b2", "#38424c")}
BELOW = 6.0  # percentage points below the best that are shown
LIKE = 0.5  # percentage points: a peer this close to the most precise peer counts as equally precise
_NUMBER = r"([\d.]+)"
_ROW = re.compile(
    rf"^\| ({'|'.join(CONTESTANTS)})\b[^|]*\| [^|]*\| {_NUMBER} / {_NUMBER} / {_NUMBER} "
    rf"\| [^|]*\| [^|]*\| {_NUMBER} \|",
    re.MULTILINE,
)


class Point(NamedTuple):
    """One search of one model: the median of single calls in microseconds, and P@1 in percent with its interval."""

    time: float
    value: float
    low: float
    high: float


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of n."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return centre - half, centre + half


def read_points(text: str, set_name: str) -> tuple[dict[str, list[Point]], int]:
    """Return the points of each contestant on its own frontier, by ascending time, and the number of queries."""
    section = re.search(rf"^## {set_name}:.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    queries = section and re.search(r"^([\d,]+) queries (?:of|with)", section[0], re.MULTILINE)
    if section is None or queries is None:
        message = f"{RESULTS}: has no points of {set_name}"
        raise SystemExit(message)
    n = int(queries[1].replace(",", ""))
    found: dict[str, list[Point]] = {name: [] for name in CONTESTANTS}
    for name, p1, _, _, time in _ROW.findall(section[0]):
        low, high = wilson(float(p1) / 100, n)
        found[name].append(Point(float(time), float(p1), 100 * low, 100 * high))
    return {name: frontier(points) for name, points in found.items() if points}, n


def frontier(points: list[Point]) -> list[Point]:
    """Return the points that no other beats in both time and precision, by ascending time."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: (point.time, -point.value)):
        if not kept or point.value > kept[-1].value:
            kept.append(point)
    return kept


class Panel:
    """One chart: its place, its axes, and its drawing."""

    def __init__(self, left: float, top: float, width: float, height: float, points: dict[str, list[Point]]) -> None:
        self.left, self.top, self.width, self.height = left, top, width, height
        best = max(point.value for of_one in points.values() for point in of_one)
        shown = {name: [p for p in of_one if p.value >= best - BELOW] or of_one[-1:] for name, of_one in points.items()}
        self.points = shown
        everything = [point for of_one in shown.values() for point in of_one]
        self.low = math.floor(min(point.low for point in everything))
        self.high = math.ceil(max(point.high for point in everything)) + 1  # room for the arrow
        self.first = math.log10(min(point.time for point in everything) * 0.75)
        self.last = math.log10(max(point.time for point in everything) * 1.25)

    def x(self, time: float) -> float:
        """Return the place of a time."""
        return self.left + (math.log10(time) - self.first) / (self.last - self.first) * self.width

    def y(self, value: float) -> float:
        """Return the place of a precision."""
        return self.top + (self.high - value) / (self.high - self.low) * self.height


def marker(kind: str, x: float, y: float, colour: str) -> str:
    """Return a marker as SVG."""
    r = 4.5
    shapes = {
        "square": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "triangle": [(0, -r * 1.25), (r * 1.2, r), (-r * 1.2, r)],
        "diamond": [(0, -r * 1.4), (r * 1.4, 0), (0, r * 1.4), (-r * 1.4, 0)],
    }
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{colour}"/>'
    if kind == "cross":
        return (
            f'<path d="M{x - r:.1f},{y - r:.1f}l{2 * r},{2 * r}m0,{-2 * r}l{-2 * r},{2 * r}" stroke="{colour}" '
            'stroke-width="3"/>'
        )
    places = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[kind])
    return f'<polygon points="{places}" fill="{colour}"/>'


def text(x: float, y: float, words: str, colour: str, size: int = 14, anchor: str = "start", more: str = "") -> str:
    """Return a text as SVG."""
    style = f'fill="{colour}" font-size="{size}" text-anchor="{anchor}"{more}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def draw_axes(panel: Panel, ink: tuple[str, str, str]) -> list[str]:
    """Return the grid, the numbers and the titles of the axes."""
    dark, dim, line = ink
    right, bottom = panel.left + panel.width, panel.top + panel.height
    parts = []
    step = 1 if panel.high - panel.low <= 7 else 2
    for value in range(panel.low, panel.high + 1, step):
        y = panel.y(value)
        parts.append(f'<line x1="{panel.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{line}"/>')
        parts.append(text(panel.left - 7, y + 5, f"{value}", dark, anchor="end"))
    for power in range(-1, 5):
        for digit in (1, 2, 5):
            time = digit * 10**power
            if panel.first <= math.log10(time) <= panel.last:
                x = panel.x(time)
                parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{panel.top}" y2="{bottom}" stroke="{line}"/>')
                parts.append(text(x, bottom + 18, f"{time:,}", dark, anchor="middle"))
    parts.append(
        text(
            panel.left + panel.width / 2,
            bottom + 37,
            "microseconds per single call, median (log scale)",
            dim,
            anchor="middle",
        )
    )
    parts.append(text(panel.left - 36, panel.top - 9, "P@1 (%)", dim))
    return parts


def draw_contestant(panel: Panel, name: str, colour: str) -> list[str]:
    """Return the line, the intervals and the markers of a contestant."""
    points = panel.points[name]
    line = " ".join(f"{panel.x(point.time):.1f},{panel.y(point.value):.1f}" for point in points)
    parts = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>']
    for point in points:
        x = panel.x(point.time)
        bar = f'x1="{x:.1f}" x2="{x:.1f}" y1="{panel.y(point.low):.1f}" y2="{panel.y(point.high):.1f}"'
        parts.append(f'<line {bar} stroke="{colour}" stroke-opacity="0.5" stroke-width="1.5"/>')
    kind = CONTESTANTS[name][0]
    return parts + [marker(kind, panel.x(point.time), panel.y(point.value), colour) for point in points]


def speed_up(panel: Panel) -> tuple[Point, Point] | None:
    """Return our fastest point that is at least as precise as every peer, and the fastest peer close to the best."""
    peers = [point for name, points in panel.points.items() if name != "ours" for point in points]
    best = max(point.value for point in peers)
    ours = next((point for point in panel.points["ours"] if point.value >= best), None)
    peer = min((point for point in peers if point.value >= best - LIKE), key=lambda point: point.time)
    return None if ours is None else (ours, peer)


def draw_speed_up(panel: Panel, ink: tuple[str, str, str]) -> list[str]:
    """Return an arrow from the best peer to ours, with the ratio of their times."""
    pair = speed_up(panel)
    if pair is None:
        return []
    ours, peer = pair
    y, start, end = panel.y(panel.high) + 24, panel.x(peer.time), panel.x(ours.time)
    words = f"{peer.time / ours.time:.0f} times as fast, at least as precise"
    arrow = f"M{start:.1f},{y:.1f}H{end + 2:.1f}m7,-5l-7,5l7,5"
    return [
        f'<path d="{arrow}" fill="none" stroke="{ink[0]}" stroke-width="1.5"/>',
        text((start + end) / 2, y - 6, words, ink[0], anchor="middle", more=' font-weight="bold"'),
    ]


def draw(sets: dict[str, tuple[dict[str, list[Point]], int]], is_wide: bool, scheme: str) -> str:
    """Return the picture as SVG."""
    ink, place = INK[scheme], 1 if scheme == "light" else 2
    width, height = (900, 436) if is_wide else (380, 830)
    parts = []
    column, row = (440, 0) if is_wide else (0, 382)
    names = [name for name in CONTESTANTS if any(name in points for points, _ in sets.values())]
    x, y = 12.0, 20
    for name in names:
        shown = "labeltrees" if name == "ours" else name
        kind, colour = CONTESTANTS[name][0], CONTESTANTS[name][place]
        if x + 28 + 8 * len(shown) > width:
            x, y = 12.0, y + 22
        parts += [marker(kind, x + 5, y - 5, colour), text(x + 16, y, shown, ink[0], 15)]
        x += 40 + 8 * len(shown)
    for number, (set_name, (points, n)) in enumerate(sets.items()):
        left, top = 46 + number * column, (78 if is_wide else 100) + number * row
        panel = Panel(left, top, 395 if is_wide else 322, 280 if is_wide else 260, points)
        parts.append(text(left - 36, top - 30, TITLES[set_name], ink[0], 16, more=' font-weight="bold"'))
        parts += draw_axes(panel, ink)
        for name in reversed(names):
            if name in panel.points:
                parts += draw_contestant(panel, name, CONTESTANTS[name][place])
        parts += draw_speed_up(panel, ink)
        for line, note in enumerate([f"bars: 95 % intervals, {n:,} queries", NOTES.get(set_name, "")]):
            parts.append(text(left - 36, top + panel.height + 57 + 16 * line, note, ink[1], 12))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'font-family="system-ui, sans-serif">\n<title>P@1 against the median time of a single call</title>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def main() -> None:
    """Write the four files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    results = RESULTS.read_text(encoding="utf-8")
    sets = {name: read_points(results, name) for name in TITLES}
    for is_wide in (True, False):
        for scheme in INK:
            name = f"frontier-{'wide' if is_wide else 'narrow'}-{scheme}.svg"
            (folder / name).write_text(draw(sets, is_wide, scheme), encoding="utf-8")
            print(folder / name)


if __name__ == "__main__":
    main()
