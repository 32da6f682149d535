"""Times of searches, measured in turns, so that disturbances of the machine affect all settings alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees.profiling.call_times import Clock, single_call_microseconds


def measure_in_turns(
    tasks: Sequence[Callable[[], Float64s]], repeats: int, advance: Callable[[int], object] | None = None
) -> list[Float64s]:
    """Run every task once per round and return, for each task, the median of its results over the rounds.

    Each round starts with another task, so that none is always first.

    Parameters
    ----------
    tasks : functions that return an array, always of the same shape
    repeats : int
        Rounds.
    advance : function, optional
        Called with the number of rounds done.

    Examples
    --------
    >>> import itertools
    >>> counts = itertools.count()
    >>> measure_in_turns([lambda: np.array([next(counts)]), lambda: np.array([10.0])], repeats=3)
    [array([1.]), array([10.])]
    """
    results: list[list[Float64s]] = [[] for _ in tasks]
    for number in range(repeats):
        for place in range(len(tasks)):
            turn = (place + number) % len(tasks)
            results[turn].append(tasks[turn]())
        if advance is not None:
            advance(number + 1)
    return [np.asarray(np.median(arrays, axis=0)) for arrays in results]


def measure_times(
    models: Sequence[Any],
    points: Any,
    ks: Sequence[int],
    *,
    repeats: int,
    max_points: int,
    random_state: int,
    n_jobs: int | None,
    advance: Callable[[int], object] | None = None,
    clock: Clock = time.perf_counter_ns,
) -> list[dict[str, float]]:
    """Return the times of each model in microseconds, all models measured in turns.

    Parameters
    ----------
    models : fitted models
    points : csr matrix, dense array or array of texts
    ks : ints
        A single call is timed for each k, a batch for the largest.
    repeats : int
        Rounds; the median over the rounds counts for every call.
    max_points : int
        The largest number of points to time in single calls.

    Returns
    -------
    list of dict
        ``top{k}_p50_us`` and ``top{k}_p99_us`` of single calls, and ``batch_us`` per point of a batch.
    """
    names: list[str] = []
    tasks: list[Callable[[], Float64s]] = []
    for model in models:
        for k in ks:
            names.append(f"top{k}")
            tasks.append(_single_calls(model.predictor(k), points, max_points, random_state, clock))
        names.append("batch")
        tasks.append(_batch(model, points, max(ks), n_jobs, clock))
    medians = measure_in_turns(tasks, repeats, advance)
    per_model = len(ks) + 1
    times = []
    for number in range(len(models)):
        mine = slice(number * per_model, (number + 1) * per_model)
        times.append(_percentiles(dict(zip(names[mine], medians[mine], strict=True))))
    return times


def _percentiles(medians: dict[str, Float64s]) -> dict[str, float]:
    times = {}
    for name, microseconds in medians.items():
        if name == "batch":
            times["batch_us"] = float(microseconds[0])
        else:
            times[f"{name}_p50_us"] = float(np.percentile(microseconds, 50))
            times[f"{name}_p99_us"] = float(np.percentile(microseconds, 99))
    return times


def _single_calls(
    predictor: Any, points: Any, max_points: int, random_state: int, clock: Clock
) -> Callable[[], Float64s]:
    return lambda: single_call_microseconds(
        predictor, points, max_points=max_points, random_state=random_state, clock=clock
    )


def _batch(model: Any, points: Any, k: int, n_jobs: int | None, clock: Clock) -> Callable[[], Float64s]:
    def run() -> Float64s:
        started = clock()
        model.predict_topk(points, k, n_jobs=n_jobs)
        return np.array([(clock() - started) / 1000 / max(points.shape[0], 1)])

    return run
