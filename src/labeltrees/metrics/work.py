"""How long one answer takes: the time of single calls, which is what serving sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees._validation import check_integer, check_seed


def single_call_microseconds(
    predictor: Callable[..., Any], X: Any, *, most_points: int = 2000, random_state: int = 0
) -> Float64s:
    """Return the microseconds of one call of a predictor for each of some points.

    Every point is asked twice and the second time counts, so that a model that is mapped from disk has been read.

    Parameters
    ----------
    predictor : Predictor
        Called with the features and values of one point.
    X : csr matrix (n, d)
    most_points : int
        Points asked at the most, drawn at random.
    random_state : int

    Returns
    -------
    array of float64 (min(n, most_points),)

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> times = single_call_microseconds(lambda features, values: features.sum(), sp.csr_array(np.eye(3)))
    >>> times.shape, bool((times > 0).all())
    ((3,), True)
    """
    most_points = check_integer("most_points", most_points, 1)
    rng = np.random.default_rng(check_seed(random_state))
    rows = rng.permutation(X.shape[0])[:most_points]
    bounds = [(X.indptr[row], X.indptr[row + 1]) for row in rows]
    queries = [(X.indices[start:end], X.data[start:end]) for start, end in bounds]
    for query in queries:
        predictor(*query)
    times = np.empty(len(queries))
    now = time.perf_counter_ns
    for place, (features, values) in enumerate(queries):
        started = now()
        predictor(features, values)
        times[place] = now() - started
    return times / 1000
