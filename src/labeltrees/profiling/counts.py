"""What searches did, counted: the nodes they opened, and how often each thing was done that takes time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from labeltrees._core import Float64s, Int32s, Int64s


@dataclass(frozen=True)
class Visits:
    """The nodes that searches opened, in order.

    Parameters
    ----------
    ends : int64 (n + 1,)
        Query i opened those from ``ends[i]`` to ``ends[i + 1]``.
    nodes : int32
    depths : int32
        Of the nodes; the root has depth 0.
    scores : float64
        Products along the nodes' paths, in [0, 1].
    trees : int32
        Which of the model's trees each node is of.
    on_path : bool
        Whether the node was opened to score a label that another tree had found.
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
    """How often each search did what takes time.

    Parameters
    ----------
    each : dict from str to int64 (n,)
        By the name of what is counted; "queries" is 1 throughout.
    visits : Visits
    """

    each: dict[str, Int64s]
    visits: Visits

    @classmethod
    def of(cls, names: tuple[str, ...], flat: Int64s, visits: Visits) -> SearchCounts:
        """Return the counts of rows that lie end to end, a column a name."""
        columns = flat.reshape(-1, len(names))
        each = {"queries": np.ones(len(columns), np.int64)}
        return cls({**each, **{name: columns[:, place].copy() for place, name in enumerate(names)}}, visits)
