"""The points of a fit, in blocks: one block in memory, or one for each part of a dataset on disk.

The result of a fit does not depend on the blocks: sums run over the points in the order of their numbers.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._matrices import CheckedX, CheckedY, Float32s, Float64s, Int32s, Int64s, SparseRows, is_sparse
from labeltrees.data.parts.parts_dataset import PartsDataset
from labeltrees.errors import InputError
from labeltrees.models.common.error_costs import check_relevance, check_weight_range, refuse_large
from labeltrees.models.linear.features import needs_scaling, row_lengths, scaled_rows
from labeltrees.tasks import Outcome, Results, Runner, Task


class Block(NamedTuple):
    """Some points: features as CSR or dense, labels, and weights (None: all 1)."""

    X: Any
    Y: CheckedY
    weights: Float64s | None


class Gathered(NamedTuple):
    """Rows of X.

    Parameters
    ----------
    rows : SparseRows, or float32 (n, d)
    places : list of arrays
        For each block, the positions in `rows` of the rows that were asked for.
    numbers : int64 (n,)
        The number of each row's point among all points.
    weights : float32 (n,), optional
        Weights of these points.
    """

    rows: SparseRows | Float32s
    places: list[Any]
    numbers: Int64s
    weights: Float32s | None


class Blocks(ABC):
    """Points in blocks.

    Attributes
    ----------
    key : str
        Identifies the points among the inputs of tasks.
    in_memory : bool
        Whether all points are one block in the memory of this process: then a stage has one task.
    n_blocks, n_points, n_features, n_labels : int
    n_values : int
        Number of values in X.
    first_points : list of int
        The number of each block's first point among all points.
    """

    key: str
    in_memory: bool
    n_blocks: int
    n_points: int
    n_features: int
    n_labels: int
    n_values: int
    first_points: list[int]

    @abstractmethod
    def block(self, number: int) -> Block:
        """Return a block."""

    @abstractmethod
    def gather(
        self, wanted: list[Int32s], *, scale: bool, spill_above: int | None = None, folder: Path | None = None
    ) -> Gathered:
        """Return the rows of X with the numbers ``wanted[i]`` in each block i; a number may occur several times.

        Parameters
        ----------
        scale : bool
            Whether to scale them to unit length.
        spill_above : int, optional
            Rows that take more bytes than this are mapped from a file in `folder`, whose pages the system can drop.
        """


class OneBlock(Blocks):
    """Points in memory; already scaled if the model scales points."""

    key, in_memory, n_blocks = "points", True, 1

    def __init__(self, X: CheckedX, Y: CheckedY, weights: Float64s | None = None) -> None:
        self.X, self.Y, self.weights = X, Y, weights
        self.n_points, self.n_features, self.n_labels = X.n_points, X.n_features, Y.n_labels
        self.n_values = int(X.matrix.nnz if is_sparse(X.matrix) else X.matrix.size)
        self.first_points = [0]

    def block(self, number: int) -> Block:
        """Return all points."""
        return Block(self.X.matrix, self.Y, self.weights)

    def gather(
        self, wanted: list[Int32s], *, scale: bool, spill_above: int | None = None, folder: Path | None = None
    ) -> Gathered:
        """Return all rows: they are in memory anyway."""
        weights = None if self.weights is None else self.weights.astype(np.float32)
        return Gathered(self.X.rows, wanted, np.arange(self.n_points), weights)


class PartBlocks(Blocks):
    """The parts of a dataset on disk; other processes open the same folder."""

    in_memory = False

    def __init__(self, data: PartsDataset) -> None:
        self.data, self.key, self.n_blocks = data, data.manifest.fingerprint(), len(data.parts)
        self.n_points, self.n_features, self.n_labels = data.n_points, data.n_features, data.n_labels
        self.n_values = sum(part.n_values for part in data.manifest.parts)
        self.first_points = [part.first_point for part in data.parts]

    def __reduce__(self) -> Any:
        return PartBlocks, (self.data,)

    def block(self, number: int) -> Block:
        """Return a part, mapped from its files."""
        part = self.data.parts[number]
        X, Y = part.matrices()
        return Block(X, CheckedY(Y), part.arrays().get("weights"))

    def gather(
        self, wanted: list[Int32s], *, scale: bool, spill_above: int | None = None, folder: Path | None = None
    ) -> Gathered:
        """Return the distinct rows, in the order of their numbers."""
        parts = self.data.parts
        distinct, places = distinct_rows(wanted, [part.n_points for part in parts])
        rows = gather_rows(self.data, distinct, scale=scale, spill_above=spill_above, folder=folder)
        numbers = [part.first_point + own for part, own in zip(parts, distinct, strict=True)]
        weights = None
        if "weights" in self.data.manifest.parts[0].arrays:
            weights = np.concatenate([part.weights()[own] for part, own in zip(parts, distinct, strict=True)])
        return Gathered(rows, places, np.concatenate(numbers), None if weights is None else weights.astype(np.float32))


def gather_rows(
    data: PartsDataset, wanted: list[Int32s], *, scale: bool, spill_above: int | None = None, folder: Path | None = None
) -> SparseRows:
    """Return the rows ``wanted[i]``, ascending, of every part i, concatenated."""
    lengths = []
    for part, rows in zip(data.parts, wanted, strict=True):
        indptr = part.arrays("X_indptr")["X_indptr"]
        lengths.append((indptr[rows + 1] - indptr[rows]).astype(np.int64))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    n_values = int(indptr[-1])
    is_large = spill_above is not None and n_values * 8 > spill_above
    indices: Any = _allocate(n_values, np.int32, folder if is_large else None)
    values: Any = _allocate(n_values, np.float32, folder if is_large else None)
    at = 0
    for part, rows in zip(data.parts, wanted, strict=True):
        if len(rows) == 0:
            continue
        X = part.features()
        some = X if len(rows) == X.shape[0] else X[rows]
        end = at + some.nnz
        indices[at:end] = some.indices
        values[at:end] = scaled_rows(some, row_lengths(some)).data if scale else some.data
        at = end
    return SparseRows(indptr, indices, values, data.n_features)


def distinct_rows(rows: list[Int32s], sizes: list[int]) -> tuple[list[Int32s], list[Int64s]]:
    """Return the distinct rows of every block, ascending, and the position of every given row among all of them."""
    distinct, places = [], []
    first = 0
    for of_block, n_points in zip(rows, sizes, strict=True):
        occurs = np.zeros(n_points, dtype=bool)
        occurs[of_block] = True
        found: Any = np.flatnonzero(occurs).astype(np.int32)
        place: Any = np.cumsum(occurs, dtype=np.int64)
        places.append(place[of_block] + (first - 1))
        distinct.append(found)
        first += len(found)
    return distinct, places


def _allocate(n: int, dtype: Any, folder: Path | None) -> NDArray[Any]:
    if folder is None or n == 0:
        return np.empty(n, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:  # unnamed: deleted after its last use
        return np.memmap(file, dtype, mode="w+", shape=(n,))


class Survey(NamedTuple):
    """Counts from the first pass over the points.

    Parameters
    ----------
    scans : list of str
        By block, the name of the result with its pairs of point and label, sorted by label.
    label_pairs, label_values : int64 (n_labels,)
        For each label the number of its points, and of the values in their rows.
    scale : bool
        Whether the rows must be scaled to unit length.
    all_ones : bool
        Whether all relevance values are 1.
    n_values : int
        Number of values in X.
    """

    scans: list[str]
    label_pairs: Int64s
    label_values: Int64s
    scale: bool
    all_ones: bool
    n_values: int


def scan_block(results: Results, *, points: Blocks, block: int) -> Outcome:
    """Check a block, and return its pairs sorted by label, with counts."""
    X, Y, weights = points.block(block)
    check_relevance(Y.matrix)
    refuse_large("X", X.data if is_sparse(X) else X)
    if weights is not None:
        check_weight_range(weights)
        refuse_large("sample_weight", weights)
    indptr, rows = _core.transpose_indicator(*Y.indicator)
    counts = np.diff(indptr)
    labels = np.flatnonzero(counts)
    starts = np.append(indptr[labels], indptr[-1])
    if is_sparse(X):
        row_sizes = np.diff(X.indptr).astype(np.int64)
        label_values = np.add.reduceat(row_sizes[rows], starts[:-1]) if len(labels) else np.zeros(0, np.int64)
    else:
        label_values = counts[labels] * X.shape[1]
    arrays = {
        "labels": labels.astype(np.int32),
        "starts": starts,
        "rows": rows,
        "label_pairs": counts[labels],
        "label_values": label_values,
    }
    is_scaled = points.in_memory or not needs_scaling(row_lengths(X))
    return arrays, {"is_scaled": is_scaled, "all_ones": bool((Y.matrix.data == 1).all())}


def survey_points(points: Blocks, runner: Runner, *, normalize: bool) -> Survey:
    """Read all points once."""
    scans = [Task(scan_block, {"points": points, "block": number}) for number in range(points.n_blocks)]
    runner.run("Reading the points", scans)
    pairs, values = np.zeros(points.n_labels, np.int64), np.zeros(points.n_labels, np.int64)
    is_scaled, all_ones = True, True
    for task in scans:
        result = runner.results[task.name]
        pairs[result["labels"]] += result["label_pairs"]
        values[result["labels"]] += result["label_values"]
        is_scaled &= result.values["is_scaled"]
        all_ones &= result.values["all_ones"]
    if not pairs.any():
        message = "Y has no labels"
        raise InputError(message)
    names = [task.name for task in scans]
    return Survey(names, pairs, values, normalize and not is_scaled, all_ones, points.n_values)
