"""PIFA by ranges of labels: every task sums the points of its own labels, in the order of their numbers."""

from __future__ import annotations

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees._validation import check_n_jobs
from labeltrees.data.parts.parts_dataset import open_parts
from labeltrees.labels.embedding import sum_points
from labeltrees.models.linear.in_parts.reading import by_column, distinct_rows, gather_rows
from labeltrees.models.linear.in_parts.scan import Survey
from labeltrees.tasks import Outcome, Results, Task

RANGES = 16  # aim at this many or more, to keep the workers of a small cluster equally busy
LEAST_VALUES = 1_000_000  # of a range: about 0.05 s
BYTES_PER_VALUE = 28  # of the points of a range: the rows (8), the block of the part (8), and sums and results (12)


def embed_labels(
    results: Results, *, data: str, scans: list[str], first: int, last: int, scale: bool, n_jobs: int | None = None
) -> Outcome:
    """Return the embeddings of the labels [first, last)."""
    dataset = open_parts(data)
    labels, rows = [], []
    for scan in scans:
        result = results[scan]
        begin, end = np.searchsorted(result["labels"], [first, last])
        starts = result["starts"][begin : end + 1]
        labels.append(np.repeat(result["labels"][begin:end], np.diff(starts)) - first)
        rows.append(np.array(result["rows"][starts[0] : starts[-1]]) if end > begin else np.zeros(0, np.int32))
    distinct, places = distinct_rows(rows, [part.n_points for part in dataset.parts])
    n_points = sum(map(len, distinct))
    label_ptr, points = by_column(np.concatenate(labels), np.concatenate(places), (n_points, last - first))
    matrix = sum_points(gather_rows(dataset, distinct, scale=scale), label_ptr, points, check_n_jobs(n_jobs))
    return {
        "indptr": matrix.indptr.astype(np.int64),
        "columns": matrix.indices.astype(np.int32, copy=False),
        "values": matrix.data,
    }, {}


def embedding_tasks(data: str, scans: list[Task], found: Survey, max_bytes: int, n_jobs: int | None) -> list[Task]:
    """Return tasks for ranges of labels, none of which needs more than `max_bytes` unless it is a single label."""
    names = [task.name for task in scans]
    in_memory = max_bytes // BYTES_PER_VALUE
    for_all_workers = max(int(found.label_values.sum()) // RANGES, LEAST_VALUES)
    return [
        Task(
            embed_labels,
            {"scans": names, "first": first, "last": last, "scale": found.scale},
            {"data": data, "n_jobs": n_jobs},
        )
        for first, last in label_ranges(found.label_values, max(min(in_memory, for_all_workers), 1))
    ]


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
