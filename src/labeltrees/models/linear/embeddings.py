"""Frequencies and embeddings of labels: the inputs for building a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import Int32s, Int64s
from labeltrees._validation import check_n_jobs
from labeltrees.labels.embedding import sum_points
from labeltrees.labels.frequency import frequencies_of_blocks
from labeltrees.models.linear.blocks import Blocks, Survey
from labeltrees.tasks import Outcome, Result, Results, Runner, Task
from labeltrees.tree.splits import EmbeddingRows, embedding_rows, own_rows

RANGES = 16  # aim at this many or more, to keep all workers of a small cluster busy
LEAST_VALUES = 1_000_000  # minimum per range: about 0.05 s
# If the rows of all labels' points have more values than this (8 GiB), each label keeps its largest values, at most
# this number divided by the number of labels. For 10 million labels that is 107 values, with which a machine of 12 GiB
# can build the tree (decision 2).
MOST_VALUES = 2**30
BYTES_PER_VALUE = 28  # of the points of a range: the rows (8), the block of the part (8), and sums and results (12)


class LabelInputs(NamedTuple):
    """Names of results: frequencies of the labels, and embeddings of ranges of labels, in order.

    `n_columns` and `n_values` are the sizes of the embeddings; `are_own` is False if the user gave them.
    """

    counts: str
    embeddings: list[str]
    n_columns: int = 0
    n_values: int = 0
    are_own: bool = True


def count_labels(results: Results, *, points: Blocks, cover: str | None, softness: float = 0.0) -> Outcome:
    """Return the frequencies of the labels, and their cover frequencies if `cover` names a way to count them."""

    def blocks() -> Any:
        for number in range(points.n_blocks):
            block = points.block(number)
            yield block.Y.indicator, block.weights

    frequencies, covers = frequencies_of_blocks(blocks, points.n_labels, cover, softness)
    return {"frequencies": frequencies} | ({} if covers is None else {"covers": covers}), {}


def embed_range(
    results: Results,
    *,
    points: Blocks,
    scans: list[str],
    first: int,
    last: int,
    scale: bool,
    most: int | None,
    n_jobs: int | None = None,
) -> Outcome:
    """Return the embeddings of the labels [first, last), with at most `most` values each.

    They are sums of the labels' points, in the order of the points.
    """
    pairs = [_pairs_of(results[scan], first, last) for scan in scans]
    gathered = points.gather([rows for _, rows in pairs], scale=scale)
    if len(pairs) == 1:  # sorted by label already
        label_ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(pairs[0][0])])
        rows = np.ascontiguousarray(gathered.places[0], np.int32)
    else:
        labels = [np.repeat(np.arange(last - first, dtype=np.int32), counts) for counts, _ in pairs]
        label_ptr, rows = _by_label(np.concatenate(labels), np.concatenate(gathered.places), last - first)
    found = own_rows(sum_points(gathered.rows, label_ptr, rows, check_n_jobs(n_jobs)))
    return _arrays(found if most is None else found.largest(most)), {}


def _pairs_of(scan: Result, first: int, last: int) -> tuple[Int64s, Int32s]:
    """Return the number of points of each label in [first, last), and these points, label by label."""
    begin, end = np.searchsorted(scan["labels"], [first, last])
    starts = scan["starts"][begin : end + 1]
    counts = np.zeros(last - first, np.int64)
    counts[scan["labels"][begin:end] - first] = np.diff(starts)
    return counts, scan["rows"][starts[0] : starts[-1]]


def _by_label(labels: Any, rows: Any, n_labels: int) -> tuple[Int64s, Int32s]:
    """Return the rows of each label, in the order given, as starts and rows (a counting sort)."""
    n_rows = int(rows.max(initial=0)) + 1
    matrix = sp.coo_array((np.ones(len(rows), np.bool_), (labels, rows)), shape=(n_labels, n_rows)).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)


def _arrays(rows: EmbeddingRows) -> dict[str, Any]:
    return {"indptr": rows.indptr, "columns": rows.columns, "values": rows.values}


def embed_labels(
    points: Blocks, found: Survey, runner: Runner, *, cover: str | None, softness: float = 0.0, given: Any = None
) -> LabelInputs:
    """Count the labels, and sum their points unless embeddings are `given`; without `cover` only count them.

    The scans of the survey are dropped after the points are summed.
    """
    counts = Task(count_labels, {"points": points, "cover": cover, "softness": softness})
    if cover is None:
        runner.run("Counting labels", [counts])
        return LabelInputs(counts.name, [])
    if given is not None:
        runner.run("Counting labels", [counts])
        rows = embedding_rows(given, points.n_labels).unit()
        name = runner.results.store("embeddings", _arrays(rows))
        return LabelInputs(counts.name, [name], rows.n_columns, len(rows.values), are_own=False)
    most = max(MOST_VALUES // points.n_labels, 1) if int(found.label_values.sum()) > MOST_VALUES else None
    shared = {"points": points, "scans": found.scans, "scale": found.scale, "most": most}
    embeddings = [
        Task(embed_range, {**shared, "first": first, "last": last}, {"n_jobs": runner.n_jobs})
        for first, last in _plan_ranges(points, found, runner)
    ]
    runner.run("Label counts and embeddings", [counts, *embeddings])
    runner.results.drop(found.scans)
    names = [task.name for task in embeddings]
    n_values = sum(len(runner.results[name]["values"]) for name in names)
    return LabelInputs(counts.name, names, points.n_features, n_values)


def _plan_ranges(points: Blocks, found: Survey, runner: Runner) -> list[tuple[int, int]]:
    """Return ranges of labels that fit into the memory of a task; a range of one label may need more."""
    if points.in_memory:
        return [(0, points.n_labels)]
    for_all_workers = max(int(found.label_values.sum()) // RANGES, LEAST_VALUES)
    return label_ranges(found.label_values, max(min(runner.task_bytes // BYTES_PER_VALUE, for_all_workers), 1))


def label_ranges(sizes: Int64s, limit: int) -> list[tuple[int, int]]:
    """Cut the labels into ranges whose sizes sum to at most `limit`; a range has at least one label.

    Examples
    --------
    >>> label_ranges(np.array([2, 2, 9, 1, 1]), 4)
    [(0, 2), (2, 3), (3, 5)]
    """
    ends = np.cumsum(sizes)
    ranges, first = [], 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + limit, side="right")), first + 1)
        ranges.append((first, last))
        first = last
    return ranges
