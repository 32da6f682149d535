"""Costs of points and labels: how much an error on each point or label counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._matrices import check_sample_weight
from labeltrees._names import did_you_mean
from labeltrees._validation import check_number, refuse
from labeltrees.data.label_sets import NUMBERS
from labeltrees.errors import InputError
from labeltrees.models.common.label_names import LabelNames

# The solver uses float32. Costs are multiplied by each other and by C, so each must stay well inside its range.
SMALLEST, LARGEST = 1e-20, 1e12
LARGEST_VALUE = 1e15  # of X, costs and weights; products of larger values overflow float32


def point_costs(sample_weight: Any, n_points: int) -> NDArray[np.float64] | None:
    """Return one cost per point, or None if all are equal.

    Examples
    --------
    >>> point_costs([1, 2], 2)
    array([1., 2.])
    """
    weights = check_sample_weight(sample_weight, n_points)
    if weights is not None:
        check_weight_range(weights)
    return weights


def check_weight_range(weights: NDArray[np.float64]) -> None:
    """Raise `InputError` for weights that are outside the range of the solver."""
    _check_range("sample_weight", weights[weights > 0], "0 or ")


def check_relevance(Y: Any) -> None:
    """Raise `InputError` for relevance values that are outside the range of the solver."""
    _check_range("Y", Y.data, "0 or ")


def refuse_large(name: str, values: NDArray[Any]) -> None:
    """Raise `InputError` for values whose products would overflow float32."""
    largest = float(max(-values.min(), values.max())) if values.size > 0 else 0.0
    if largest > LARGEST_VALUE:
        refuse(name, f"of values up to {LARGEST_VALUE:g}", largest)


def check_class_weight(name: str, value: Any) -> None:
    """Raise `InputError` if `value` is not a valid `class_weight`."""
    is_text = isinstance(value, str | bytes)
    is_array = hasattr(value, "__array__") and value.ndim > 0
    if value is None or is_array or (isinstance(value, Mapping | Sequence) and not is_text):
        return  # the entries are checked against the labels of Y
    if not is_text or value != "balanced":
        refuse(name, "None, 'balanced', a mapping from labels to numbers, or one number per label", value)


def label_costs(class_weight: Any, n_labels: int, names: LabelNames | None = None) -> NDArray[np.float32] | None:
    """Return one cost per label, or None if all are equal ("balanced" is computed per node while training).

    Examples
    --------
    >>> label_costs({1: 3.0}, 3)
    array([1., 3., 1.], dtype=float32)
    """
    if class_weight is None or isinstance(class_weight, str):
        return None
    if isinstance(class_weight, Mapping):
        return values_by_label("class_weight", class_weight, n_labels, names, low=SMALLEST)
    try:
        given = np.asarray(class_weight)
    except ValueError:  # rows of unequal length
        given = np.empty(0, dtype=object)
    if given.shape != (n_labels,) or given.dtype.kind not in "iuf":
        refuse("class_weight", f"{n_labels} numbers, one per label", class_weight)
    given = given.astype(np.float64)
    _check_range("class_weight", given)
    return given.astype(np.float32)


def values_by_label(
    name: str, values: Mapping[Any, Any], n_labels: int, names: LabelNames | None, *, low: float
) -> NDArray[np.float32]:
    """Return a mapping from labels to numbers of at least `low` as an array (L,); missing labels get 1.

    Examples
    --------
    >>> values_by_label("label_weight", {1: 0}, 3, None, low=0)
    array([1., 0., 1.], dtype=float32)
    """
    found = np.ones(n_labels, dtype=np.float32)
    labels, numbers = ids_and_values(name, values, n_labels, names, low=low)
    found[labels] = numbers
    return found


def ids_and_values(
    name: str, values: Mapping[Any, Any], n_labels: int, names: LabelNames | None, *, low: float
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the label ids and the numbers of a mapping from labels to numbers of at least `low`."""
    ids = [_label_id(name, label, n_labels, names) for label in values]
    numbers = [check_number(f"{name}[{label!r}]", value, low, LARGEST) for label, value in values.items()]
    return np.array(ids, np.int32), np.array(numbers, np.float32)


def check_finite(trained: Any) -> None:
    """Raise `InputError` if trained weights are infinite or NaN, because costs left the range of float32."""
    if not (np.isfinite(trained.bias).all() and np.isfinite(trained.values).all()):
        message = "training left the range of float32: C, sample_weight, class_weight, Y or X is too large or too small"
        raise InputError(message)


def _label_id(name: str, label: Any, n_labels: int, names: LabelNames | None) -> int:
    if names is not None:
        key = str(label) if names.kind == NUMBERS and isinstance(label, int | np.integer) else label
        if key in names.position:
            return names.position[key]
        raise InputError.of_value(
            name, "a mapping with labels of Y as keys", label, hint=did_you_mean(label, names.array)
        )
    elif isinstance(label, int | np.integer) and not isinstance(label, bool) and 0 <= label < n_labels:
        return int(label)
    refuse(name, "a mapping with labels of Y as keys", label)


def _check_range(name: str, values: NDArray[Any], or_else: str = "") -> None:
    if len(values) > 0 and not (values.min() >= SMALLEST and values.max() <= LARGEST):
        wrong = values[~((values >= SMALLEST) & (values <= LARGEST))][0]
        message = f"{name} must be {or_else}within [{SMALLEST:g}, {LARGEST:g}], got {wrong:g}"
        raise InputError(message)
