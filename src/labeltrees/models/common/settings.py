"""The parameters that both classifiers share, with their checks."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from labeltrees._settings import integer, number, optional, setting
from labeltrees._validation import check_integer, check_n_jobs, refuse
from labeltrees.errors import Phrase


def _check_random_state(name: str, value: Any) -> None:
    if value is None or isinstance(value, np.random.RandomState):
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        refuse(name, "an integer of at least 0", value, Phrase.OR_RANDOM_STATE)
    check_integer(name, value, 0, 2**62)


def _check_verbose(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        check_integer(name, value, 0)


@dataclass(eq=False, kw_only=True)
class ClassifierSettings:
    """Parameters for prediction, and for running `fit`."""

    k: int = setting(5, integer(1), "Number of labels that predict returns per point.")
    threshold: float | None = setting(
        None,
        optional(number(0, 1, low_open=True)),
        "predict returns all labels with at least this score (after calibration: probability) instead of the k best.",
    )
    random_state: Any = setting(0, _check_random_state, "Seed; the same seed gives the same model.")
    n_jobs: int | None = setting(None, lambda name, value: check_n_jobs(value), "Number of threads; -1 for all cores.")
    verbose: int = setting(0, _check_verbose, "1 shows progress.")


def seed_of(random_state: Any) -> int:
    """Return the seed for an int, None or a RandomState, as scikit-learn's estimators accept them."""
    _check_random_state("random_state", random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
