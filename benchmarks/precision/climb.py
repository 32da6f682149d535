"""Search along a line of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def climb(values: Sequence[float], measure: Callable[[float], float]) -> float:
    """Return the value with the highest measure, from the middle one towards higher measures until they fall.

    Examples
    --------
    >>> climb((0.1, 0.3, 1.0, 3.0, 10.0), lambda value: -abs(value - 0.2))
    0.1
    """
    middle = len(values) // 2
    found = {middle: measure(values[middle])}
    for step in (-1, 1):
        at = middle + step
        while 0 <= at < len(values):
            found[at] = measure(values[at])
            if found[at] <= found[at - step]:
                break
            at += step
        if len(found) > 2:  # the measure rose in this direction
            break
    return values[max(found, key=lambda place: found[place])]
