"""Routing points to the nodes of a tree: every part's pairs of point and label, sorted by the walk of the tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import Float32s, Int32s, Int64s
from labeltrees.data.parts.parts_dataset import open_parts
from labeltrees.tasks import Outcome, Result, Results, Task


def route_part(results: Results, *, data: str, fingerprint: str, part: int, tree: str, all_ones: bool) -> Outcome:
    """Return the pairs of a part sorted by the position of their label, and the points without a placed label."""
    Y = open_parts(data).parts[part].matrices()[1]
    position = results[tree]["position"]
    n_positions = int(position.max()) + 1
    places = position[Y.indices]
    rows = np.repeat(np.arange(Y.shape[0], dtype=np.int32), np.diff(Y.indptr))
    placed = places >= 0
    pairs: Any = (Y.data[placed], (places[placed], rows[placed]))
    by_position = sp.coo_array(pairs, shape=(n_positions, Y.shape[0])).tocsr()
    counts = np.diff(by_position.indptr)
    has_label = np.zeros(Y.shape[0], bool)
    has_label[rows[placed]] = True
    arrays = {
        "positions": np.repeat(np.arange(n_positions, dtype=np.int32), counts),
        "rows": by_position.indices.astype(np.int32),
        "without": np.flatnonzero(~has_label).astype(np.int32),
    }
    if not all_ones:
        arrays["values"] = by_position.data
    return arrays, {}


def route_tasks(data: str, fingerprint: str, n_parts: int, tree: str, all_ones: bool) -> list[Task]:
    """Return one task per part."""
    inputs = {"fingerprint": fingerprint, "tree": tree, "all_ones": all_ones}
    return [Task(route_part, {**inputs, "part": part}, {"data": data}) for part in range(n_parts)]


class RoutedPairs(NamedTuple):
    """Pairs of one part, and the other points that train the root."""

    positions: Int64s
    rows: Int32s
    values: Float32s | None
    without: Int32s


def read_pairs(result: Result, ranges: list[tuple[int, int]], with_root: bool) -> RoutedPairs:
    """Return the pairs of a routed part whose positions are in some ranges, ascending."""
    positions, rows, values = result["positions"], result["rows"], result.get("values")
    # Of the same type, in one call: otherwise all positions would be converted for every range.
    bounds = np.searchsorted(positions, np.array(ranges, positions.dtype).reshape(-1))
    cuts = [slice(begin, end) for begin, end in bounds.reshape(-1, 2).tolist()]
    return RoutedPairs(
        np.concatenate([positions[cut] for cut in cuts]).astype(np.int64),
        np.concatenate([rows[cut] for cut in cuts]),
        None if values is None else np.concatenate([values[cut] for cut in cuts]),
        np.array(result["without"]) if with_root else np.zeros(0, np.int32),
    )
