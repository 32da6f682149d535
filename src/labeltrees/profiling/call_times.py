"""Latency of single calls: the time that a server sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s, is_sparse
from labeltrees._validation import check_integer, check_seed

Clock = Callable[[], int]  # nanoseconds, as `time.perf_counter_ns`


def single_call_microseconds(
    predictor: Callable[..., Any],
    X: Any,
    *,
    max_points: int = 2000,
    random_state: int = 0,
    clock: Clock = time.perf_counter_ns,
) -> Float64s:
    """Return the microseconds of one call of a predictor for each point of a sample.

    Each point is predicted twice and only the second call is timed, so that reading a mapped model is not included.

    Parameters
    ----------
    predictor : Predictor
        Called with the features and values of one point, with its dense row, or with its text.
    X : csr matrix or dense array (n, d), or array of texts (n,)
    max_points : int
        The largest number of points to time. They are drawn at random.
    random_state : int
    clock : function
        Returns the time in nanoseconds.

    Returns
    -------
    array of float64 (min(n, max_points),)

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> times = single_call_microseconds(lambda features, values: features.sum(), sp.csr_array(np.eye(3)))
    >>> times.shape, bool((times > 0).all())
    ((3,), True)
    """
    max_points = check_integer("max_points", max_points, 1)
    rng = np.random.default_rng(check_seed(random_state))
    rows = rng.permutation(X.shape[0])[:max_points]
    queries = [_query(X, row) for row in rows.tolist()]
    for query in queries:
        predictor(*query)
    times = np.empty(len(queries))
    for place, query in enumerate(queries):
        started = clock()
        predictor(*query)
        times[place] = clock() - started
    return times / 1000


def _query(X: Any, row: int) -> tuple[Any, ...]:
    """Return one point as the arguments of a predictor."""
    if is_sparse(X):
        start, end = X.indptr[row], X.indptr[row + 1]
        return X.indices[start:end], X.data[start:end]
    return (X[row],)
