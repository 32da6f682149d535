"""The split of one set of labels: the paper's objective, and its best assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s
from labeltrees._validation import check_choice, check_number, check_seed, refuse
from labeltrees.labels.weights import PATHS, check_tradeoff
from labeltrees.tree.arrays import check_weights
from labeltrees.tree.embedding_rows import embedding_rows

MAX_ITERATIONS = 30
TOLERANCE = 1e-4


def coefficients(tradeoff: float, path: str = "weighted") -> tuple[float, float]:
    """Return the coefficients of similarity and frequency in the objective at a checked `tradeoff`."""
    t = float(tradeoff)
    if path == "direct":
        return 2 - t, t
    return 2 - t, max(t - 1, 0.0)


def split_labels(
    embeddings: Any,
    weights: Any,
    tradeoff: float,
    relaxed: bool = False,
    random_state: int = 0,
    *,
    path: str = "weighted",
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> tuple[Float64s, Float64s]:
    """Split a set of labels into two sides of equal weight, similar labels together, frequent labels apart from rare.

    Maximises the paper's objective alternately over the two centres and the assignment, starting with two random
    labels as centres. It stops when the objective rises by less than `tolerance`, relatively.

    Parameters
    ----------
    embeddings : sparse or dense matrix (n, d)
        One row per label, usually of unit length. Rows are not scaled.
    weights : array (n,)
        The labels' f(tradeoff); normalised here.
    tradeoff : float in [0, 2]
        0 similarity only, 2 frequency only.
    relaxed : bool
        Let the one label that crosses the middle lie between the sides, so that the objective never falls; by default
        it is rounded to the nearer side after every iteration, and the best assignment seen is returned.
    random_state : int
    path : {"weighted", "direct"}
    max_iterations, tolerance : int, float
        When to stop.

    Returns
    -------
    assignment : array of float64 (n,)
        +1 and -1 by side; with `relaxed`, at most one entry lies between.
    objective_history : array of float64 (iterations,)
        The objective after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> assignment, _ = split_labels(np.eye(4)[[0, 1, 0, 1]], [1, 1, 1, 1], tradeoff=0)
    >>> bool(assignment[0] == assignment[2] != assignment[1] == assignment[3])
    True
    >>> split_labels(np.eye(4), [4, 2, 1, 1], tradeoff=2)[0]
    array([ 1., -1., -1., -1.])
    """
    rows = embedding_rows(embeddings)
    if rows.n_labels < 2:
        refuse("embeddings", "a matrix with at least 2 rows", f"{rows.n_labels} row")
    checked = check_weights("weights", weights, rows.n_labels)
    checked = checked / max(checked.max(), np.finfo(float).tiny)  # so that their squares stay finite
    check_tradeoff("tradeoff", tradeoff)
    similarity, frequency = coefficients(tradeoff, check_choice("path", path, PATHS))
    labels = np.arange(rows.n_labels, dtype=np.int32)
    share, history = _core.split_labels(
        labels,
        checked,
        *rows,
        similarity,
        frequency,
        bool(relaxed),
        max_iterations,
        check_number("tolerance", tolerance, -1.0),
        check_seed(random_state),
    )
    return 2 * share - 1, history
