"""The tree of a dataset in parts, and where the labels of each node are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from labeltrees._matrices import CheckedY, Float64s, Indicator, Int32s, Int64s
from labeltrees.data.parts.parts_dataset import PartsDataset, open_parts
from labeltrees.labels.frequency_blocks import frequencies_of_blocks
from labeltrees.models.common.given_tree import place_labels
from labeltrees.storage.chunks import edges_of, tree_levels
from labeltrees.tasks import Outcome, Result, Results
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.builder import grow_tree_from
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeSettings, is_given
from labeltrees.tree.splits import embedding_rows


def count_labels(results: Results, *, data: str, fingerprint: str, cover: str, cover_softness: float) -> Outcome:
    """Return the frequencies and the cover frequencies of the labels."""
    dataset = open_parts(data)
    frequencies, covers = frequencies_of_blocks(lambda: _label_blocks(dataset), dataset.n_labels, cover, cover_softness)
    return {"frequencies": frequencies, "covers": covers}, {}


def _label_blocks(dataset: PartsDataset) -> Iterator[tuple[Indicator, Float64s | None]]:
    for part in dataset.parts:
        arrays = part.arrays()
        weights = arrays.get("weights")
        yield CheckedY(part.matrices()[1]).indicator, None if weights is None else np.asarray(weights)


def tree_of_given(
    given: Any,
    embeddings: Any,
    counts: Result,
    settings: TreeSettings,
    n_labels: int,
    seed: int,
    n_jobs: int | None,
) -> LabelTree:
    """Return the tree if the user has given it, or embeddings for it: both come through memory."""
    frequencies = np.array(counts["frequencies"])
    if is_given(given):
        return place_labels(given, n_labels, frequencies)
    return grow_tree_from(
        embedding_rows(embeddings).unit(),
        frequencies,
        np.array(counts["covers"]),
        settings,
        random_state=seed,
        n_jobs=n_jobs,
    )


class Layout(NamedTuple):
    """Labels in the order of a depth-first walk, so that those of each node, and of each edge, are one range.

    Parameters
    ----------
    position : int32 (n_labels,)
        -1 for a label that is not in the tree.
    label_at : int32 (n_placed,)
    node_start, node_end : int64 (n_nodes,)
    edge_start, edge_end : int64 (n_edges,)
    """

    position: Int32s
    label_at: Int32s
    node_start: Int64s
    node_end: Int64s
    edge_start: Int64s
    edge_end: Int64s


def lay_out(tree: LabelTree) -> Layout:
    """Return the order of a depth-first walk.

    Examples
    --------
    >>> tree = LabelTree([0, 2, 4], [~1, 1, ~2, ~0], n_labels=3)
    >>> lay_out(tree).label_at.tolist(), lay_out(tree).node_start.tolist()
    ([1, 2, 0], [0, 1])
    """
    child_ptr, children = tree.child_ptr, tree.children.astype(np.int64)
    placed = (tree.label_parent >= 0).astype(np.float64)
    n_below = tree.mass(placed).astype(np.int64)
    sizes = np.where(children >= 0, n_below[np.maximum(children, 0)], 1)
    start = np.zeros(tree.n_nodes, np.int64)
    edge_start = np.empty(len(children), np.int64)
    for nodes in tree_levels(child_ptr, children):
        edges, first = edges_of(child_ptr, nodes)
        before = np.cumsum(sizes[edges]) - sizes[edges]
        counts = np.diff(np.append(first, len(edges)))
        edge_start[edges] = before - np.repeat(before[first] - start[nodes], counts)
        below = children[edges] >= 0
        start[children[edges][below]] = edge_start[edges][below]
    is_label = children < 0
    position = np.full(tree.n_labels, -1, np.int32)
    position[~children[is_label]] = edge_start[is_label]
    label_at = np.empty(n_below[0], np.int32)
    label_at[edge_start[is_label]] = ~children[is_label]
    return Layout(position, label_at, start, start + n_below, edge_start, edge_start + sizes)


def tree_arrays(tree: LabelTree) -> dict[str, Any]:
    """Return a tree and its layout as arrays."""
    arrays: dict[str, Any] = {"child_ptr": tree.child_ptr, "children": tree.children}
    if tree.label_weights is not None:
        arrays["label_weights"] = tree.label_weights
    return arrays | lay_out(tree)._asdict()


def read_tree(result: Result, n_labels: int) -> tuple[LabelTree, Layout]:
    """Return a tree and its layout from the result of a task."""
    weights = result.get("label_weights")
    parts = TreeArrays(
        np.array(result["child_ptr"]),
        np.array(result["children"]),
        n_labels,
        label_weights=None if weights is None else np.array(weights),
    )
    return LabelTree._adopt(parts), Layout(*(result[name] for name in Layout._fields))
