"""Split data into training and validation points, unless validation data is given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._validation import check_number, refuse
from labeltrees.errors import InputError
from labeltrees.tuning.tuning_data import TuningData, as_tuning_data

SHARE = 0.2
MAX_VALIDATION_POINTS = 100_000
AT_RANDOM, NEWEST = "at random", "because they are the newest"


class Parts(NamedTuple):
    """Training data, validation data, and how the validation points were held out; "" if they were given."""

    train: TuningData
    validation: TuningData
    held_out: str


def split_data(data: TuningData, validation: Any, estimator: Any, seed: int) -> Parts:
    """Return training and validation data; no validation point is a training point.

    Parameters
    ----------
    data : TuningData
    validation : float, or Dataset, or pair (X, Y)
        The share of the points to hold out, at most 100,000 points, or separate data. The newest points are held out
        if points have times: a model is asked about the future. Otherwise they are chosen at random.
    estimator : model
    seed : int
    """
    if isinstance(validation, bool) or not isinstance(validation, int | float):
        if validation is None:
            refuse("validation", "a share of train, a Dataset or a pair (X, Y)", validation)
        return Parts(data, as_tuning_data(validation, "validation", estimator), "")
    share = check_number("validation", validation, 0, 1, low_open=True)
    rows, held_out = hold_out(data.n_points, share, seed, data.times)
    return Parts(data.take(rows), data.take(held_out), AT_RANDOM if data.times is None else NEWEST)


def hold_out(n_points: int, share: float, seed: int, times: Any = None) -> tuple[Any, Any]:
    """Return the rows to train on and the rows held out, both ascending: the newest if there are times."""
    n_held_out = min(round(share * n_points), MAX_VALIDATION_POINTS)
    if not 1 <= n_held_out < n_points:
        message = f"validation={share:g} holds out {n_held_out} of {n_points} points: choose another share"
        raise InputError(message)
    if times is not None:
        order = np.argsort(times, kind="stable")[::-1]
    else:
        order = np.random.default_rng(seed).permutation(n_points)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
