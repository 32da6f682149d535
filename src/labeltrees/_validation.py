"""Checks of arguments. All messages have the same form: name, allowed values, given value."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from labeltrees.errors import InputError, Phrase

Fanout = int | Literal["auto"]


def refuse(name: str, allowed: str, came: object, also: Phrase | None = None) -> NoReturn:
    """Raise `InputError`: argument `name` must be `allowed` but is `came`. `also` is allowed in Python only."""
    raise InputError.of_value(name, allowed, came, also)


def check_number(name: str, value: Any, low: float, high: float = np.inf, *, low_open: bool = False) -> float:
    """Return `value` as a float in [low, high], or in (low, high] if `low_open`."""
    allowed = f"a number in {'(' if low_open else '['}{low:g}, {high:g}]"
    if high == np.inf:
        allowed = f"a number {'above' if low_open else 'of at least'} {low:g}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        refuse(name, allowed, value)
    try:
        number = float(value)
    except OverflowError:  # an integer too large for a float
        refuse(name, allowed, value)
    if not (low < number if low_open else low <= number) or not number <= high or not np.isfinite(number):
        refuse(name, allowed, value)
    return number


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]."""
    # Mention the limit of an integer type only when it is exceeded.
    allowed = f"an integer of at least {low}" if high is None or high >= 2**31 - 1 else f"an integer in [{low}, {high}]"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        refuse(name, allowed, value)
    number = int(value)
    if high is not None and number > high >= 2**31 - 1:
        refuse(
            name, f"an integer of at least {low} and at most {high:,}" if high < 2**53 else "a smaller integer", value
        )
    if number < low or (high is not None and number > high):
        refuse(name, allowed, value)
    return number


def check_array(name: str, value: Any, allowed: str) -> NDArray[Any]:
    """Return `value` as an array; a list of lists of unequal lengths, for example, is none."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last if a list changes while it is read
        refuse(name, allowed, value)


def refuse_masked(name: str, value: Any) -> None:
    """Refuse a masked array with masked values: NumPy would use the values under the mask."""
    if np.ma.is_masked(value):
        refuse(name, "an array without masked values; fill them, such as with filled(0)", "a masked array")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        refuse(name, "one of " + ", ".join(repr(choice) for choice in choices), value)
    return value


def check_fanout(name: str, value: Any, high: int | None = None) -> Fanout:
    """Return `value` as the maximum number of children of a node: an int in [2, high], or "auto"."""
    if isinstance(value, str):
        if value != "auto":
            refuse(name, "an integer of at least 2 or 'auto'", value)
        return "auto"
    return check_integer(name, value, 2, high)


def check_seed(random_state: Any) -> int:
    """Return `random_state` as an integer seed below 2**63."""
    return check_integer("random_state", random_state, 0, 2**63 - 1)


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads for `n_jobs` as in scikit-learn: None is 1 unless a joblib context sets more."""
    if n_jobs is not None:
        is_integer = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
        if not is_integer or n_jobs == 0 or not -(2**31) <= n_jobs < 2**31:
            refuse("n_jobs", "a non-zero integer", n_jobs, Phrase.OR_NONE)
    return int(effective_n_jobs(n_jobs))
