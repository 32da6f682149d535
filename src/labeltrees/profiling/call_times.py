"""How long one answer takes: the time of single calls, which is what serving sees."""

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
    most_points: int = 2000,
    random_state: int = 0,
    clock: Clock = time.perf_counter_ns,
) -> Float64s:
    """Return the microseconds of one call of a predictor for each of some points.

    Every point is asked twice and the second time counts, so that a model that is mapped from disk has been read.

    Parameters
    ----------
    predictor : Predictor
        Called with the features and values of one point, with its dense row, or with its text.
    X : csr matrix or dense array (n, d), or array of texts (n,)
    most_points : int
        Points asked at the most, drawn at random.
    random_state : int
    clock : function
        Returns nanoseconds.

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
    """Return the arguments with which a predictor is asked for one point."""
    if is_sparse(X):
        start, end = X.indptr[row], X.indptr[row + 1]
        return X.indices[start:end], X.data[start:end]
    return (X[row],)
