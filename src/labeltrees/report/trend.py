"""A smooth trend through measurements, instead of a line from point to point that follows the noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees._matrices import Float64s

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
