"""Values that a search takes for the nodes of its trees."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees._validation import refuse

if TYPE_CHECKING:
    from labeltrees._core import Float32s


class NodeValues:
    """One discount per node, finite and at least 0, checked once so that many searches can use them.

    A discount is on the log scale: how much the score of a node is lowered before it is compared.

    Parameters
    ----------
    values : array (n_nodes,)
        Of all trees, one tree after another.

    Examples
    --------
    >>> NodeValues([0, 0.5]).values
    array([0. , 0.5], dtype=float32)
    """

    def __init__(self, values: Any) -> None:
        array = np.ascontiguousarray(values, np.float32)
        if array.ndim != 1 or not (np.isfinite(array) & (array >= 0)).all():
            refuse("discounts", "one finite number of at least 0 per node", values)
        self.values: Float32s = array

    @cached_property
    def factors(self) -> Float32s:
        """The same for scores that are products: what the score of each node is multiplied by."""
        return np.asarray(np.exp(-self.values))

    def check_length(self, n_nodes: int) -> None:
        """Refuse discounts for another number of nodes."""
        if len(self.values) != n_nodes:
            refuse("discounts", f"of {n_nodes} nodes", f"{len(self.values)} numbers")
