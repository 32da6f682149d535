"""The split of one set of labels: the paper's objective, and its best assignment."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s
from labeltrees._validation import check_choice, check_integer, check_number, check_seed, refuse
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

    Maximises the paper's objective alternately over the two centres and the assignment. It makes two starts, each with
    two random labels as centres, and follows each of them until the objective rises by less than `tolerance`,
    relatively. The result is the assignment with the highest objective of all iterations of both starts.

    Two cases start from sides that were found with less work, in the same way: sets of 4,096 labels and more from those
    of a sample; up to tradeoff 1 long sparse rows (256 values and more on average, most of them small) from those of
    their largest values. Then one start is followed over all labels and all values.

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
        it is rounded to the nearer side after every iteration, which can lower the objective and then ends the start.
    random_state : int
    path : {"weighted", "direct"}
    max_iterations, tolerance : int, float
        When to end a start.

    Returns
    -------
    assignment : array of float64 (n,)
        +1 and -1 by side; with `relaxed`, at most one entry lies between.
    objective_history : array of float64 (iterations,)
        The objective after each iteration of the better start. Its maximum is the objective of `assignment`.

    Examples
    --------
    >>> import numpy as np
    >>> assignment, _ = split_labels(np.eye(4)[[0, 1, 0, 1]], [1, 1, 1, 1], tradeoff=0)
    >>> bool(assignment[0] == assignment[2] != assignment[1] == assignment[3])
    True
    >>> split_labels(np.eye(4), [4, 2, 1, 1], tradeoff=2)[0]
    array([ 1., -1., -1., -1.])
    """
    trace = trace_split(
        embeddings,
        weights,
        tradeoff,
        relaxed,
        random_state,
        path=path,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    return trace.assignment, trace.histories[trace.best]


class SplitTrace(NamedTuple):
    """A split and all its starts.

    Attributes
    ----------
    assignment : array of float64 (n,)
    starts : list of pairs of int
        The labels whose embeddings were the first centres, + and -; (-1, -1) for sides found with less work, or none.
    histories : list of arrays of float64
        The objective after each iteration, for each start; first that of the sides found with less work.
    best : int
        The start that found the assignment.
    """

    assignment: Float64s
    starts: list[tuple[int, int]]
    histories: list[Float64s]
    best: int


def trace_split(
    embeddings: Any,
    weights: Any,
    tradeoff: float,
    relaxed: bool = False,
    random_state: int = 0,
    *,
    path: str = "weighted",
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> SplitTrace:
    """Split labels as `split_labels` does, and return all that was tried."""
    rows = embedding_rows(embeddings)
    if rows.n_labels < 2:
        refuse("embeddings", "a matrix with at least 2 rows", f"{rows.n_labels} row")
    checked = check_weights("weights", weights, rows.n_labels)
    checked = checked / max(checked.max(), np.finfo(float).tiny)  # so that their squares stay finite
    check_tradeoff("tradeoff", tradeoff)
    similarity, frequency = coefficients(tradeoff, check_choice("path", path, PATHS))
    labels = np.arange(rows.n_labels, dtype=np.int32)
    share, starts, histories, best = _core.split_labels(
        labels,
        checked,
        *rows,
        similarity,
        frequency,
        bool(relaxed),
        check_integer("max_iterations", max_iterations, 1),
        check_number("tolerance", tolerance, -1.0),
        check_seed(random_state),
    )
    return SplitTrace(2 * share - 1, starts, histories, best)
