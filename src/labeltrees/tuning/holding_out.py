"""Split data into training and validation points, unless validation data is given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._holding_out import draw_held_out
from labeltrees._validation import check_number, refuse
from labeltrees.errors import InputError
from labeltrees.tuning.tuning_data import TuningData, as_tuning_data

SHARE = 0.2
MAX_VALIDATION_POINTS = 100_000
AT_RANDOM, NEWEST, IN_GROUPS = "at random", "because they are the newest", "at random in whole groups"


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
        The share of the points to hold out, at most 100,000 points, or separate data. If points have groups, whole
        groups are held out: a model is asked about new ones. Otherwise the newest points if they have times: a model is
        asked about the future. Otherwise they are chosen at random.
    estimator : model
    seed : int
    """
    if isinstance(validation, bool) or not isinstance(validation, int | float):
        if validation is None:
            refuse("validation", "a share of train, a Dataset or a pair (X, Y)", validation)
        return Parts(data, as_tuning_data(validation, "validation", estimator), "")
    share = check_number("validation", validation, 0, 1, low_open=True)
    rows, held_out = hold_out(data.n_points, share, seed, data.times, data.groups)
    how = IN_GROUPS if data.groups is not None else AT_RANDOM if data.times is None else NEWEST
    return Parts(data.take(rows), data.take(held_out), how)


def hold_out(n_points: int, share: float, seed: int, times: Any = None, groups: Any = None) -> tuple[Any, Any]:
    """Return the rows to train on and the rows held out, both ascending: whole groups, else the newest, else any."""
    n_held_out = min(round(share * n_points), MAX_VALIDATION_POINTS)
    if not 1 <= n_held_out < n_points:
        message = f"validation={share:g} holds out {n_held_out} of {n_points} points: choose another share"
        raise InputError(message)
    if times is not None and groups is None:
        order = np.argsort(times, kind="stable")[::-1]
    else:
        order, n_held_out = draw_held_out(n_points, n_held_out, np.random.default_rng(seed), groups)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
