"""Splits: the embeddings, weights and settings that they depend on, and the split of one set of labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees import _core
from labeltrees._matrices import Float32s, Float64s, Int32s, Int64s, SparseRows, check_X, sparse_rows
from labeltrees._validation import check_choice, check_integer, check_number, check_seed, refuse
from labeltrees.labels.frequency import PATHS, check_tradeoff, label_weights, weight_terms
from labeltrees.tree.arrays import check_weights
from labeltrees.tree.settings import TOLERANCE, TreeSettings

MAX_ITERATIONS = 30

# Embeddings.


class EmbeddingRows(NamedTuple):
    """One row per label: the arguments of the native functions, in their order. `columns` is empty for dense rows."""

    indptr: Int64s
    columns: Int32s
    values: Float32s
    n_columns: int

    @property
    def n_labels(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def unit(self) -> EmbeddingRows:
        """Return the rows scaled to unit length, except rows of zeros; `self` if all have unit length already."""
        lengths = _core.row_lengths(self.indptr, self.values)
        lengths[lengths == 0] = 1.0
        if np.abs(lengths - 1).max(initial=0) < 1e-5:
            return self
        scale = np.repeat(lengths, np.diff(self.indptr))
        return self._replace(values=np.divide(self.values, scale, dtype=np.float32))

    def largest(self, most: int) -> EmbeddingRows:
        """Return sparse rows with at most `most` values each, the largest, scaled to unit length.

        Of equal values those with the smaller columns stay. Dense rows are returned unchanged.
        """
        if len(self.columns) == 0:
            return self
        indptr, columns, values = _core.largest_values(self.indptr, self.columns, self.values, most)
        return EmbeddingRows(indptr, columns, values, self.n_columns).unit()


def embedding_rows(embeddings: Any, n_labels: int | None = None) -> EmbeddingRows:
    """Check `embeddings` (n_labels, d), sparse or dense, and return them as rows."""
    checked = check_X(embeddings, "embeddings").rows
    rows = _sparse_rows(checked) if isinstance(checked, SparseRows) else _dense_rows(checked)
    if n_labels is not None and rows.n_labels != n_labels:
        refuse("embeddings", f"a matrix with one row for each of the {n_labels} labels", f"{rows.n_labels} rows")
    return rows


def own_rows(embeddings: Any) -> EmbeddingRows:
    """Return embeddings from `pifa` as rows that share their memory; they are not checked."""
    return _sparse_rows(sparse_rows(embeddings)) if sp.issparse(embeddings) else _dense_rows(embeddings)


def _sparse_rows(matrix: SparseRows) -> EmbeddingRows:
    # An empty array of columns would mean dense rows.
    columns = matrix.indices if len(matrix.indices) > 0 else np.zeros(1, dtype=np.int32)
    return EmbeddingRows(matrix.indptr, columns, matrix.values, matrix.n_columns)


def _dense_rows(matrix: Float32s) -> EmbeddingRows:
    n_rows, n_columns = matrix.shape
    indptr = np.arange(n_rows + 1, dtype=np.int64) * n_columns
    return EmbeddingRows(indptr, np.empty(0, dtype=np.int32), matrix.reshape(-1), n_columns)


def no_embeddings(n_labels: int) -> EmbeddingRows:
    """Return empty rows for `n_labels` labels."""
    return EmbeddingRows(
        np.zeros(n_labels + 1, dtype=np.int64), np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.float32), 1
    )


# Settings of a split.


class NodeWeights(NamedTuple):
    """How each node computes the weights of its labels: frequencies (L,), cover frequencies (L,), and `WeightTerms`."""

    frequencies: Float64s
    covers: Float64s
    frequency: float
    power: float
    cover: float
    uniform: float


class SplitSettings(NamedTuple):
    """Settings of splits; ``read_split`` and ``read_settings`` in ``core/tree/bindings.cpp`` read the same fields.

    Parameters
    ----------
    similarity, frequency : float
        The coefficients of the objective (`coefficients`).
    tolerance : float
    max_iterations : int
        Maximum number of iterations of each start.
    relaxed : bool
        Whether one label may lie between the sides.
    leaf_size : int
    node_weights : NodeWeights, optional
        How the weights are computed in each node below the root; by default they stay the same.
    """

    similarity: float
    frequency: float
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS
    relaxed: bool = False
    leaf_size: int = 1
    node_weights: NodeWeights | None = None


def coefficients(tradeoff: float, path: str = "weighted") -> tuple[float, float]:
    """Return the coefficients of similarity and frequency in the objective at a checked `tradeoff`."""
    t = float(tradeoff)
    if path == "direct":
        return 2 - t, t
    return 2 - t, max(t - 1, 0.0)


class SplitRules(NamedTuple):
    """The inputs of the splits of a tree, except embeddings and seeds.

    Parameters
    ----------
    settings : SplitSettings
    labels : int32 (n,)
        The labels of the tree, ascending.
    weights : float64 (L,)
        f(tradeoff) of all labels.
    root_weights : float64 (n,)
        The weights of `labels` at the root.
    """

    settings: SplitSettings
    labels: Int32s
    weights: Float64s
    root_weights: Float64s


def split_rules(frequencies: Float64s, covers: Any, settings: TreeSettings) -> SplitRules:
    """Return the rules for labels with checked `frequencies` (L,)."""
    covers = frequencies if covers is None else np.ascontiguousarray(covers, dtype=np.float64)
    how = (settings.tradeoff, settings.smoothing, settings.path)
    weights = label_weights(frequencies, covers, *how)
    labels = np.flatnonzero(frequencies > 0).astype(np.int32)
    root_weights, node_weights = weights[labels], None
    if settings.weights_of == "node":
        root_weights = label_weights(frequencies[labels], covers[labels], *how)  # of the labels that are placed
        node_weights = NodeWeights(frequencies, covers, *weight_terms(*how))
    split = SplitSettings(
        *coefficients(settings.tradeoff, settings.path),
        tolerance=float(settings.tolerance),
        leaf_size=int(settings.leaf_size),
        node_weights=node_weights,
    )
    return SplitRules(split, labels, weights, root_weights)


# The split of one set.


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
    full: bool = False,
) -> Any:
    """Split a set of labels into two sides of equal weight, similar labels together, frequent labels apart from rare.

    Maximises the paper's objective alternately over the two centres and the assignment. It makes two starts, each with
    two random labels as centres, and follows each of them until the objective rises by less than `tolerance`,
    relatively. The result is the assignment with the highest objective of all iterations of both starts.

    To save time, a part of the data is first split in this way in two cases: a sample of the labels, for sets of at
    least 4,096 labels; and the largest values of the rows, up to tradeoff 1 and for long sparse rows (at least 256
    values on average, most of them small). One start then continues from these sides with all labels and all values.

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
    full : bool
        Return a `SplitTrace` instead, with the centres and all starts.

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
    return trace if full else (trace.assignment, trace.histories[trace.best])


class SplitTrace(NamedTuple):
    """A split and all its starts.

    Attributes
    ----------
    assignment : array of float64 (n,)
    starts : list of pairs of int
        The labels whose embeddings were the first centres, + and -; (-1, -1) if labels were not the first centres.
    histories : list of arrays of float64
        The objective after each iteration, for each start. If a part of the data was split first, the first value is
        the objective of those sides.
    best : int
        The start that found the assignment.
    centres : array of float64 (2, d)
        m+ and m- of the assignment, of unit length (or zero).
    """

    assignment: Float64s
    starts: list[tuple[int, int]]
    histories: list[Float64s]
    best: int
    centres: Float64s


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
    """Split labels as `split_labels` does, and return all starts."""
    rows = embedding_rows(embeddings)
    if rows.n_labels < 2:
        refuse("embeddings", "a matrix with at least 2 rows", f"{rows.n_labels} row")
    checked = check_weights("weights", weights, rows.n_labels)
    checked = checked / max(checked.max(), np.finfo(float).tiny)  # so that their squares stay finite
    check_tradeoff("tradeoff", tradeoff)
    settings = SplitSettings(
        *coefficients(tradeoff, check_choice("path", path, PATHS)),
        tolerance=check_number("tolerance", tolerance, -1.0),
        max_iterations=check_integer("max_iterations", max_iterations, 1),
        relaxed=bool(relaxed),
    )
    labels = np.arange(rows.n_labels, dtype=np.int32)
    share, starts, histories, best = _core.split_labels(labels, checked, *rows, settings, check_seed(random_state))
    return SplitTrace(2 * share - 1, starts, histories, best, _centres(embeddings, checked, share))


def _centres(embeddings: Any, weights: Float64s, share: Float64s) -> Float64s:
    sums = [np.asarray(embeddings.T @ (weights * side)).ravel() for side in (share, 1 - share)]
    lengths = [float(np.linalg.norm(one)) for one in sums]
    return np.array([one / (length or 1.0) for one, length in zip(sums, lengths, strict=True)])
