"""What all charts share: the drawing library, their style and their size."""

from __future__ import annotations

import os
from typing import Any

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
