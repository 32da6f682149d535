"""The Pareto frontier: settings that no other setting beats in both cost and quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from labeltrees._validation import refuse
from labeltrees.tuning.quality import COLUMNS, WEIGHTED, split_metric

# Columns where more is better; all other numbers are costs.
_QUALITIES = (*COLUMNS, *(f"weighted_{name}" for name in WEIGHTED), "psp")
_NOT_MEASURED = {"setting", "tradeoff", "fanout", "cover", "path"}


def frontier(table: Sequence[dict[str, Any]], x: str, y: str) -> list[dict[str, Any]]:
    """Return the Pareto-optimal records: no other has at most their `x` and at least their `y`, and differs in one.

    Parameters
    ----------
    table : records
    x, y : str
        Keys of the cost and of the quality. Records with None or NaN there are left out.

    Returns
    -------
    list of records
        By ascending x; equal records keep their order.

    Examples
    --------
    >>> table = [{"us": 3, "p1": 0.5}, {"us": 2, "p1": 0.4}, {"us": 4, "p1": 0.45}]
    >>> [record["us"] for record in frontier(table, "us", "p1")]
    [2, 3]
    """
    known = [record for record in table if _is_number(record.get(x)) and _is_number(record.get(y))]
    kept: list[dict[str, Any]] = []
    best = -math.inf  # the largest y so far
    for record in sorted(known, key=lambda record: (record[x], -record[y])):
        ties = bool(kept) and record[x] == kept[-1][x] and record[y] == kept[-1][y]
        if record[y] > best or ties:
            kept.append(record)
            best = max(best, record[y])
    return kept


def columns_of(table: Sequence[dict[str, Any]], x: str, y: str, largest_k: int) -> tuple[str, str]:
    """Return the columns that `x` and `y` name.

    "time" is the median time of a single call for the k of `y` or, if that was not measured, for the largest k. "depth"
    is the expected depth at the k of `y`.
    """
    known = set(table[0]) - _NOT_MEASURED if table else set()
    qualities = sorted(name for name in known if is_quality(name))
    if y not in qualities:
        refuse("y", "one of " + ", ".join(qualities), y)
    _, k = split_metric(y)
    if x == "time":
        x = time_column(table, k, largest_k)
    elif x == "depth":
        x = f"depth{k}"
    if x not in known or is_quality(x):
        costs = sorted(name for name in known if not is_quality(name))
        refuse("x", "time, depth or one of " + ", ".join(costs), x)
    return x, y


def time_column(table: Sequence[dict[str, Any]], k: int, largest_k: int, percentile: int = 50) -> str:
    """Return the column with the time of single calls for k labels or, if not measured, for the largest k."""
    column = f"top{k}_p{percentile}_us"
    return column if table and column in table[0] else f"top{largest_k}_p{percentile}_us"


def is_quality(column: str) -> bool:
    """Whether more is better in a column."""
    return column.rstrip("0123456789") in _QUALITIES and column not in _QUALITIES


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)
