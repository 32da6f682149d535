"""Costs of labels: what an error on a label's points weighs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._validation import check_number, refuse
from labeltrees.tree.arrays import check_weights


def label_costs(class_weight: Any, n_labels: int, names: NDArray[np.object_] | None) -> NDArray[np.float32] | None:
    """Return one cost a label, or None where all cost the same ("balanced" is settled node by node while training).

    Examples
    --------
    >>> label_costs({1: 3.0}, 3, None)
    array([1., 3., 1.], dtype=float32)
    """
    if class_weight is None or isinstance(class_weight, str):
        return None
    if isinstance(class_weight, Mapping):
        position = {name: label for label, name in enumerate(names if names is not None else range(n_labels))}
        costs = np.ones(n_labels, dtype=np.float32)
        for label, cost in class_weight.items():
            if label not in position:
                refuse("class_weight", "about labels of Y", label)
            costs[position[label]] = check_number(f"class_weight[{label!r}]", cost, 0, low_open=True)
        return costs
    costs = check_weights("class_weight", class_weight, n_labels).astype(np.float32)
    if not (costs > 0).all():
        refuse(f"class_weight[{int(np.argmin(costs))}]", "above 0", float(costs.min()))
    return costs
