"""The first pass over the parts: what is needed of the whole dataset before anything else can start."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import Int64s
from labeltrees.data.parts.parts_dataset import open_parts
from labeltrees.models.common.error_costs import check_relevance, check_weight_range
from labeltrees.models.linear.points import needs_scaling, row_lengths
from labeltrees.models.linear.training_data import refuse_large
from labeltrees.tasks import Outcome, Results, Task


class Survey(NamedTuple):
    """What `scan_part` has found in all parts.

    Parameters
    ----------
    label_pairs, label_values : int64 (n_labels,)
        For each label the number of its points, and of the values in their rows.
    scale : bool
        Whether the rows must be scaled to unit length.
    all_ones : bool
        Whether all relevance values are 1.
    n_pairs, n_values : int
    """

    label_pairs: Int64s
    label_values: Int64s
    scale: bool
    all_ones: bool
    n_pairs: int
    n_values: int


def scan_part(results: Results, *, data: str, fingerprint: str, part: int) -> Outcome:
    """Verify a part, and return its pairs sorted by label, with counts."""
    whole = open_parts(data)
    X, Y = whole.parts[part].matrices()
    check_relevance(Y)
    refuse_large("X", X.data)
    arrays = whole.parts[part].arrays()
    if "weights" in arrays:
        check_weight_range(arrays["weights"])
        refuse_large("sample_weight", arrays["weights"])
    by_label = Y.tocsc()
    counts = np.diff(by_label.indptr)
    labels = np.flatnonzero(counts)
    row_sizes = np.diff(X.indptr).astype(np.int64)
    starts = by_label.indptr[labels].astype(np.int64)
    label_values = np.add.reduceat(row_sizes[by_label.indices], starts) if len(labels) else np.zeros(0, np.int64)
    result: dict[str, Any] = {
        "labels": labels.astype(np.int32),
        "starts": np.append(starts, by_label.nnz),
        "rows": by_label.indices.astype(np.int32),
        "label_pairs": counts[labels].astype(np.int64),
        "label_values": label_values,
    }
    values = {
        "needs_scaling": needs_scaling(row_lengths(X)),
        "all_ones": bool((Y.data == 1).all()),
    }
    return result, values


def scan_tasks(data: str, fingerprint: str, n_parts: int) -> list[Task]:
    """Return one task per part."""
    return [Task(scan_part, {"fingerprint": fingerprint, "part": part}, {"data": data}) for part in range(n_parts)]


def survey(results: Results, scans: list[Task], n_labels: int, n_values: int, normalize: bool) -> Survey:
    """Put the results of the scans together."""
    pairs, values = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    scale, all_ones = False, True
    for task in scans:
        result = results[task.name]
        pairs[result["labels"]] += result["label_pairs"]
        values[result["labels"]] += result["label_values"]
        scale |= result.values["needs_scaling"]
        all_ones &= result.values["all_ones"]
    return Survey(pairs, values, scale and normalize, all_ones, int(pairs.sum()), n_values)
