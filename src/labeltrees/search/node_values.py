"""Numbers that a search is given for the nodes of its trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees._validation import refuse

if TYPE_CHECKING:
    from labeltrees._core import Float32s


class PerNode:
    """One finite number of [low, high] for each node, checked once, so that many searches may use them.

    Parameters
    ----------
    name : str
        Of the argument that they are.
    values : array (n_nodes,)
    n_nodes : int
        Of all trees, which stand one after another.
    low, high : float
    """

    def __init__(self, name: str, values: Any, n_nodes: int, low: float, high: float = np.inf) -> None:
        array = np.ascontiguousarray(values, np.float32)
        if array.shape != (n_nodes,) or not (np.isfinite(array) & (array >= low) & (array <= high)).all():
            allowed = f"at least {low:g}" if high == np.inf else f"{low:g} to {high:g}"
            refuse(name, f"{n_nodes} finite numbers of {allowed}", values)
        self.values: Float32s = array

    @classmethod
    def read(cls, name: str, given: Any, n_nodes: int, low: float, high: float = np.inf) -> Float32s | None:
        """Return the array for the native search: of a PerNode, or of anything that can be one."""
        if given is None:
            return None
        numbers = given if isinstance(given, cls) else cls(name, given, n_nodes, low, high)
        if len(numbers.values) != n_nodes:
            refuse(name, f"{n_nodes} numbers", len(numbers.values))
        return numbers.values
