"""Which points to hold out from training, so that something can be measured on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees._matrices import Int64s


def draw_held_out(n_points: int, n_wanted: int, rng: np.random.Generator, groups: Any = None) -> tuple[Int64s, int]:
    """Return all points in random order, and how many of the first to hold out.

    Points of one group stay together: a group is held out as a whole or not at all. Groups are taken as long as they
    fit into `n_wanted`, and at least one.

    Examples
    --------
    >>> order, n = draw_held_out(6, 3, np.random.default_rng(0), groups=[7, 7, 8, 8, 9, 9])
    >>> order.tolist(), n
    ([2, 3, 4, 5, 0, 1], 2)
    """
    if groups is None:
        return rng.permutation(n_points), n_wanted
    _, number = np.unique(np.asarray(groups), return_inverse=True)
    n_groups = int(number.max(initial=0)) + 1
    if n_groups == 1:  # there is nothing to keep apart
        return rng.permutation(n_points), n_wanted
    place = rng.permutation(n_groups)[number]
    ends = np.cumsum(np.bincount(place))
    n_fitting = max(int(np.searchsorted(ends, n_wanted, side="right")), 1)
    return np.argsort(place, kind="stable"), int(ends[n_fitting - 1])
