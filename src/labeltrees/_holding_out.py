"""Drawing validation points: points held out from training."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees._matrices import Int64s


def draw_held_out(n_points: int, n_wanted: int, rng: np.random.Generator, groups: Any = None) -> tuple[Int64s, int]:
    """Return all points in random order, and a number n: hold out the first n.

    With `groups`, a group is held out completely or not at all. Groups are added while they fit into `n_wanted`; at
    least one is held out. If all points are in one group, it is ignored.

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
    if n_groups == 1:  # holding it out would leave no training points
        return rng.permutation(n_points), n_wanted
    place = rng.permutation(n_groups)[number]
    ends = np.cumsum(np.bincount(place))
    n_fitting = max(int(np.searchsorted(ends, n_wanted, side="right")), 1)
    return np.argsort(place, kind="stable"), int(ends[n_fitting - 1])
