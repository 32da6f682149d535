"""Counts of what searches did: the nodes they opened, and how often they ran each operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from labeltrees._core import Float64s, Int32s, Int64s


@dataclass(frozen=True)
class Visits:
    """The nodes that searches opened, in search order.

    Parameters
    ----------
    ends : int64 (n + 1,)
        Query i opened the nodes from ``ends[i]`` up to ``ends[i + 1]``.
    nodes : int32
    depths : int32
        The depths of the nodes; the root has depth 0.
    scores : float64
        The scores of the nodes, in [0, 1]: products along their paths.
    trees : int32
        The tree that each node belongs to.
    on_path : bool
        Whether the node was opened to score a label that another tree found.
    """

    ends: Int64s
    nodes: Int32s
    depths: Int32s
    scores: Float64s
    trees: Int32s
    on_path: NDArray[np.bool_]

    @property
    def queries(self) -> Int64s:
        """The query of each visit."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))


@dataclass(frozen=True)
class SearchCounts:
    """How often each search ran each operation.

    Parameters
    ----------
    each : dict from str to int64 (n,)
        The counts of each operation, by name; "queries" is always 1.
    visits : Visits
    """

    each: dict[str, Int64s]
    visits: Visits

    @classmethod
    def of(cls, names: tuple[str, ...], flat: Int64s, visits: Visits) -> SearchCounts:
        """Return the counts from a flat array (n * number of names,) with one row per query."""
        columns = flat.reshape(-1, len(names))
        each = {"queries": np.ones(len(columns), np.int64)}
        return cls({**each, **{name: columns[:, place].copy() for place, name in enumerate(names)}}, visits)
