"""The trend of labels as part of a linear model: what their scores are multiplied with."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees._matrices import Float32s
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.errors import InputError
from labeltrees.labels.trend import trend_of_blocks, trend_weights


def trend_of(half_life: float | None, Y: Any, times: Any) -> Float32s | None:
    """Return the trend weights of the labels; None without a half-life."""
    if half_life is None:
        return None
    _need_times(times)
    return trend_weights(Y, times, half_life).astype(np.float32)


def trend_of_parts(half_life: float | None, data: PartsDataset) -> Float32s | None:
    """Return the trend weights of the labels of a dataset in parts: those of `trend_of`, with one part at a time."""
    if half_life is None:
        return None
    _need_times(data.manifest.times)
    blocks = [(part.matrices()[1], part.point_times()) for part in data.parts]  # mapped
    return trend_of_blocks(blocks, data.n_labels, half_life).astype(np.float32)


def _need_times(times: Any) -> None:
    if times is None:
        message = (
            "trend needs the times of the points, and these have none: `labeltrees logs prepare` writes them for a log "
            "with times; in Python, pass times= or a Dataset with times"
        )
        raise InputError(message)
