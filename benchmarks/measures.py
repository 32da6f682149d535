"""Precision and times, as several benchmarks measure them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import labeltrees as lt


def precisions(Y: Any, labels: Any) -> list[float]:
    """Return precision at 1, 3 and 5 in percent."""
    return [100 * lt.metrics.precision_at_k(Y, labels, k) for k in (1, 3, 5)]


def median_call(call: Callable[..., Any], queries: Sequence[Sequence[Any]]) -> float:
    """Return the median microseconds of one call per query; a query is the list of arguments of its call."""
    took = np.empty(len(queries))
    for i, query in enumerate(queries):
        start = time.perf_counter()
        call(*query)
        took[i] = time.perf_counter() - start
    return float(np.median(took)) * 1e6


class Seconds(NamedTuple):
    """Wall-clock time, and the processor time of all threads of this process."""

    wall: float
    processor: float


def best_times(functions: Sequence[Callable[[], Any]], repeats: int) -> list[Seconds]:
    """Return the shortest wall-clock and processor time of each function; the functions take turns."""
    times = np.empty((repeats, len(functions), 2))
    for repeat in range(repeats):
        for i, function in enumerate(functions):
            start = np.array([time.perf_counter(), time.process_time()])
            function()
            times[repeat, i] = np.array([time.perf_counter(), time.process_time()]) - start
    return [Seconds(*pair) for pair in times.min(axis=0).tolist()]
