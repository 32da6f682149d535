"""A linear cost model: search time is the sum of counts times costs, fitted to times measured on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls

from labeltrees._validation import refuse

if TYPE_CHECKING:
    from labeltrees._core import Float64s


@dataclass(frozen=True)
class CostModel:
    """The cost of each operation of a search.

    The costs are valid for one model on one machine: the cost of memory access depends on how much of the model fits in
    the caches.

    Parameters
    ----------
    nanoseconds : dict from str to float
        The cost of each operation, by its name in `SearchCounts`.
    parts : dict from str to tuple of str
        The parts of a search that are reported, each with its operations.

    Examples
    --------
    >>> costs = CostModel({"queries": 200.0, "visits": 400.0}, {"prepare": ("queries",), "visits": ("visits",)})
    >>> costs.microseconds({"queries": np.array([1, 1]), "visits": np.array([2, 5])}).tolist()
    [1.0, 2.2]
    """

    nanoseconds: dict[str, float]
    parts: dict[str, tuple[str, ...]]

    def by_part(self, counts: Mapping[str, Any]) -> dict[str, Float64s]:
        """Return the microseconds (n,) of every part."""
        return {
            part: np.asarray(sum(self.nanoseconds[name] * counts[name] for name in names), np.float64) / 1000
            for part, names in self.parts.items()
        }

    def microseconds(self, counts: Mapping[str, Any]) -> Float64s:
        """Return the microseconds (n,) of searches with these counts."""
        return np.asarray(sum(self.by_part(counts).values()), np.float64)


def fit_costs(
    counts: Mapping[str, Any], microseconds: Any, parts: dict[str, tuple[str, ...]], weights: Any = None
) -> CostModel:
    """Return the non-negative costs with the smallest sum of squared relative errors.

    Errors are relative so that short searches count as much as long ones.

    Parameters
    ----------
    counts : mapping from str to array (n,)
    microseconds : array (n,)
        Measured, above 0.
    parts : dict from str to tuple of str
        The operations to fit, by part.
    weights : array (n,), optional
        The weight of each error.

    Examples
    --------
    >>> counts = {"queries": np.ones(3), "visits": np.array([1, 2, 5])}
    >>> costs = fit_costs(counts, [0.6, 1.0, 2.2], {"prepare": ("queries",), "visits": ("visits",)})
    >>> {name: round(cost, 6) for name, cost in costs.nanoseconds.items()}
    {'queries': 200.0, 'visits': 400.0}
    """
    times = np.asarray(microseconds, np.float64)
    if times.ndim != 1 or len(times) == 0 or not (np.isfinite(times) & (times > 0)).all():
        refuse("microseconds", "positive times, one per row of the counts", microseconds)
    names = [name for own in parts.values() for name in own]
    columns = np.stack([np.asarray(counts[name], np.float64) for name in names], axis=1)
    scale = np.maximum(columns.max(axis=0), 1e-12)  # similar sizes: the solver has one tolerance for all columns
    importance = np.sqrt(np.ones(len(times)) if weights is None else np.asarray(weights, np.float64))
    solution, _ = nnls(columns / scale * (importance / times)[:, np.newaxis], importance)
    return CostModel(dict(zip(names, (1000 * solution / scale).tolist(), strict=True)), dict(parts))
