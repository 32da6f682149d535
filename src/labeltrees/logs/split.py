"""Splitting points into train and test, and their order."""

from __future__ import annotations

import numpy as np
import polars as pl

from labeltrees.errors import InputError
from labeltrees.logs.clean import TRAIN
from labeltrees.logs.settings import LogSettings


def order_points(points: pl.DataFrame, settings: LogSettings) -> tuple[pl.DataFrame, int]:
    """Return the points in order, training points first, and the number of training points.

    Each part is ordered by context, so that the result does not depend on the order of events or on threads. In a split
    by time, a point belongs to the part of its window; otherwise a random share of the contexts, with all their
    sessions, is for testing.
    """
    points = points.sort("context", "window")
    if settings.test_since is not None:
        for_test = points["window"].to_numpy() != TRAIN
    else:
        contexts = points["group"].unique().sort()
        n_test = round(settings.test_share * len(contexts))
        if settings.test_share > 0 and len(contexts) > 1:
            n_test = max(n_test, 1)
        drawn = np.random.default_rng(settings.random_state).permutation(len(contexts))[:n_test]
        for_test = points["group"].is_in(contexts[np.sort(drawn)].implode()).to_numpy()
    n_train = int(len(for_test) - for_test.sum())
    if n_train == 0:
        message = f"all {points.height:,} remaining points are for testing, none for training"
        raise InputError(message)
    if settings.test_since is not None and n_train == points.height:
        message = f"there are no test points: no remaining context has items from {settings.test_since} on"
        raise InputError(message)
    order = np.concatenate([np.flatnonzero(~for_test), np.flatnonzero(for_test)])
    return points[order].with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("point")), n_train
