"""Shared parts of all charts: drawing library, style, size, placement of names, and smooth trends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.errors import MissingExtraError

WIDTH, HEIGHT = 440, 300
# The colour-blind safe palette of Okabe and Ito, without yellow, which is too light on white.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#888888"]
DARK_COLOURS = ["#56b4e9", "#f0954a", "#2fc79b", "#e79fc8", "#8fb8d8", "#f2c14e", "#aaaaaa"]  # on a dark background
_DOTS_PER_PIXEL = 2


def altair() -> Any:
    """Return the module altair; raise `MissingExtraError` if the extra `plots` is not installed."""
    try:
        import altair as alt
        import vl_convert  # noqa: F401  writes PNG, SVG and PDF
    except ImportError as error:
        message = "charts and reports need altair and vl-convert-python: pip install labeltrees[plots]"
        raise MissingExtraError(message) from error
    return alt


def styled(chart: Any) -> Any:
    """Return a chart with the style of single charts; the report page has its own style."""
    return (
        chart.configure(font="sans-serif", background="white")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=13, gridOpacity=0.5)
        .configure_legend(labelFontSize=12, titleFontSize=13, labelLimit=240)
        .configure_title(fontSize=14, anchor="start")
        .configure_range(category=COLOURS)
    )


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart to a file; the format follows its name: .png, .svg, .pdf, .html (works offline) or .json."""
    text = os.fspath(path)
    if text.endswith(".html"):
        chart.save(text, inline=True)
    elif text.endswith(".png"):
        chart.save(text, scale_factor=_DOTS_PER_PIXEL)
    else:
        chart.save(text)


_LINE, _CHARACTER = 12, 6.2  # pixels
_GAP = 2
_SIDES = [(1, 0), (1, -1), (1, 1), (0, -1), (0, 1), (-1, -1), (-1, 0), (-1, 1)]  # directions; downwards is positive


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether two rectangles share an area."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def place_labels(
    points: Sequence[tuple[float, float]],
    radii: Sequence[float],
    texts: Sequence[str],
    first: Sequence[int],
    width: float,
    height: float,
) -> list[tuple[float, float] | None]:
    """Return the centre of each text in pixels; None for a text without a free place.

    Parameters
    ----------
    points : sequence of (float, float)
        Centres of the points in pixels, from the upper left corner.
    radii : sequence of float
        Radius of each point in pixels.
    texts : sequence of str
        The text of each point.
    first : sequence of int
        Indices of the points whose texts are placed first, in this order; the others follow.
    width, height : float
        Size of the chart in pixels.

    Examples
    --------
    >>> place_labels([(50, 50), (56, 50)], [4, 4], ["0", "1"], [], 100, 100)
    [(59.1, 38.0), (65.1, 50.0)]
    """
    taken = [Box(x - r, y - r, x + r, y + r) for (x, y), r in zip(points, radii, strict=True)]
    found: list[tuple[float, float] | None] = [None] * len(points)
    for index in dict.fromkeys([*first, *range(len(points))]):
        (x, y), half, gap = points[index], len(texts[index]) * _CHARACTER / 2, radii[index] + _GAP
        for right, down in _SIDES:
            across, along = float(x + right * (half + gap)), float(y + down * (_LINE / 2 + gap))
            box = Box(across - half, along - _LINE / 2, across + half, along + _LINE / 2)
            inside = box.left >= 0 and box.right <= width and box.top >= 0 and box.bottom <= height
            if inside and not any(box.overlaps(other) for place, other in enumerate(taken) if place != index):
                taken.append(box)
                found[index] = (across, along)
                break
    return found


_WIDTH = 0.2  # of the kernel, as a share of the range of the positions
_STEPS = 41


def smooth(positions: Float64s, values: Float64s, at: Float64s) -> Float64s:
    """Return a local linear regression with a Gaussian kernel: at each place, the line that fits the points around it.

    Examples
    --------
    >>> smooth(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), np.array([0.5, 1.5])).round(6).tolist()
    [2.0, 4.0]
    """
    width = _WIDTH * float(np.ptp(positions))
    if width == 0:
        return np.full(len(at), float(values.mean()))
    offsets = positions[None, :] - at[:, None]
    weights = np.exp(-0.5 * (offsets / width) ** 2)
    total, first, second = (np.sum(weights * offsets**power, axis=1) for power in (0, 1, 2))
    level, slope = np.sum(weights * values, axis=1), np.sum(weights * offsets * values, axis=1)
    # The intercept at offset 0 of the weighted least squares line.
    result: Float64s = (second * level - first * slope) / (total * second - first**2)
    return result


def trends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return points of one smooth curve per series: x and y, each smoothed over the tradeoff."""
    found = []
    for series in dict.fromkeys(row["series"] for row in rows):
        known = [row for row in rows if row["series"] == series and row["x"] is not None and row["y"] is not None]
        if len(known) < 2:
            continue
        tradeoffs, x, y = (np.array([row[name] for row in known], dtype=float) for name in ("tradeoff", "x", "y"))
        at = np.linspace(tradeoffs.min(), tradeoffs.max(), _STEPS)
        curve = zip(at.tolist(), smooth(tradeoffs, x, at).tolist(), smooth(tradeoffs, y, at).tolist(), strict=True)
        found += [{"series": series, "tradeoff": place, "x": left, "y": up} for place, left, up in curve]
    return found
