"""Which points are for training and which for testing, and the order they stand in."""

from __future__ import annotations

import numpy as np
import polars as pl

from labeltrees.data.logs.clean import TRAIN
from labeltrees.data.logs.settings import LogSettings
from labeltrees.errors import InputError


def order_points(points: pl.DataFrame, settings: LogSettings) -> tuple[pl.DataFrame, int]:
    """Return the points in their order, those for training first, and how many these are.

    Within each part the order is that of the contexts, so that nothing depends on the order of events or on threads.
    By time, windows say which part a point is in; else a random share of the contexts is for testing.
    """
    points = points.sort("context", "window")
    if settings.test_since is not None:
        for_test = points["window"].to_numpy() != TRAIN
    else:
        n_test = round(settings.test_share * points.height)
        if settings.test_share > 0 and points.height > 1:
            n_test = max(n_test, 1)
        for_test = np.zeros(points.height, dtype=np.bool_)
        for_test[np.random.default_rng(settings.random_state).permutation(points.height)[:n_test]] = True
    n_train = int(len(for_test) - for_test.sum())
    if n_train == 0:
        message = f"all {points.height:,} points that are left are for testing, none for training"
        raise InputError(message)
    if settings.test_since is not None and n_train == points.height:
        message = f"no point is left to test on: none of the contexts left has items from {settings.test_since} on"
        raise InputError(message)
    order = np.concatenate([np.flatnonzero(~for_test), np.flatnonzero(for_test)])
    return points[order].with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("point")), n_train
