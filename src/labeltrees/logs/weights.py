"""Weights of points, scaled so that they do not change the balance between loss and regularization."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

TRAFFIC = "events"  # the weights of test points unless others are asked for


def point_weights(points: pl.DataFrame, kind: str | None) -> NDArray[np.float64] | None:
    """Return weights with mean 1 by the events or the engagement of each point; None for equal weights."""
    if kind is None or points.height == 0:
        return None
    values = points[kind.removeprefix("sqrt_")].to_numpy().astype(np.float64)
    if kind.startswith("sqrt_"):
        values = np.sqrt(values)
    scaled: NDArray[np.float64] = values / values.mean()
    return scaled
