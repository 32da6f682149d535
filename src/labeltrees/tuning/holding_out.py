"""Split data into training and validation points, unless validation data is given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._validation import check_number, refuse
from labeltrees.errors import InputError
from labeltrees.tuning.tuning_data import TuningData, as_tuning_data

SHARE = 0.2
MAX_VALIDATION_POINTS = 100_000


class Parts(NamedTuple):
    """Training data, validation data, and whether the validation points were held out from the training data."""

    train: TuningData
    validation: TuningData
    held_out: bool


def split_data(data: TuningData, validation: Any, estimator: Any, seed: int) -> Parts:
    """Return training and validation data; no validation point is a training point.

    Parameters
    ----------
    data : TuningData
    validation : float, or Dataset, or pair (X, Y)
        The share of the points to hold out at random, at most 100,000 points, or separate data.
    estimator : model
    seed : int
    """
    if isinstance(validation, bool) or not isinstance(validation, int | float):
        if validation is None:
            refuse("validation", "a share of train, a Dataset or a pair (X, Y)", validation)
        return Parts(data, as_tuning_data(validation, "validation", estimator), False)
    share = check_number("validation", validation, 0, 1, low_open=True)
    rows, held_out = hold_out(data.n_points, share, seed)
    return Parts(data.take(rows), data.take(held_out), True)


def hold_out(n_points: int, share: float, seed: int) -> tuple[Any, Any]:
    """Return the rows to train on and the rows held out, both ascending."""
    n_held_out = min(round(share * n_points), MAX_VALIDATION_POINTS)
    if not 1 <= n_held_out < n_points:
        message = f"validation={share:g} holds out {n_held_out} of {n_points} points: choose another share"
        raise InputError(message)
    order = np.random.default_rng(seed).permutation(n_points)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
