"""From the classifiers of all bundles to the chunks of a tree, a few nodes at a time."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees._losses import LOSSES
from labeltrees.models.linear.in_parts.bundles import Bundle
from labeltrees.storage.chunks import TAIL, ChunkStore, LinearWeights, pack_ranked, rank_of_counts
from labeltrees.tasks import Outcome, Results, Task
from labeltrees.tree.label_tree import LabelTree


def rank_features(results: Results, *, trained: list[str], n_features: int) -> Outcome:
    """Return the rank of each feature by its number of weights in all classifiers."""
    counts = np.zeros(n_features, np.int64)
    for name in trained:
        counts += np.bincount(results[name]["features"], minlength=n_features)
    return {"rank": rank_of_counts(counts)}, {"n_weights": int(counts.sum())}


def pack_nodes(
    results: Results, *, trained: list[str], rank: str, tree: str, n_features: int, n_jobs: int | None = None
) -> Outcome:
    """Return the chunks of the nodes whose classifiers are in these results."""
    whole = results[tree]
    child_ptr, children = whole["child_ptr"], whole["children"]
    found = [results[name] for name in trained]
    edges = np.concatenate([result["edges"] for result in found])
    order = np.argsort(edges)
    lengths = np.concatenate([np.diff(result["indptr"]) for result in found])
    starts = np.cumsum(lengths) - lengths
    indptr = np.concatenate([[0], np.cumsum(lengths[order])])
    is_sorted = bool((np.diff(edges) > 0).all())
    features, values = (np.concatenate([result[name] for result in found]) for name in ("features", "values"))
    if not is_sorted:
        entries = np.repeat(starts[order] - indptr[:-1], lengths[order]) + np.arange(indptr[-1])
        features, values = features[entries], values[entries]
    bias = np.concatenate([result["bias"] for result in found])[order]
    edges = edges[order]
    nodes = np.unique(np.searchsorted(child_ptr, edges, side="right") - 1)
    n_children = child_ptr[nodes + 1] - child_ptr[nodes]
    local_ptr = np.concatenate([[0], np.cumsum(n_children)]).astype(np.int64)
    weights = LinearWeights(indptr.astype(np.int64), features, values, bias)
    ranks = np.array(results[rank]["rank"])
    chunks, offsets = pack_ranked(
        local_ptr, np.ascontiguousarray(children[edges]), weights, n_features, ranks, n_jobs=n_jobs
    )
    ends = np.sort(np.append(offsets, len(chunks) - TAIL))
    sizes = ends[np.searchsorted(ends, offsets, side="right")] - offsets
    return {"nodes": nodes.astype(np.int64), "offsets": offsets, "sizes": sizes, "chunks": chunks[:-TAIL]}, {}


def packing_tasks(
    bundles: list[Bundle], trained: list[Task], rank: Task, tree: str, n_features: int, n_jobs: int | None
) -> list[Task]:
    """Return tasks that pack whole nodes: a node whose children were trained apart is put together."""
    groups: dict[Any, list[str]] = {}
    for number, (bundle, task) in enumerate(zip(bundles, trained, strict=True)):
        groups.setdefault(number if bundle.edges is None else bundle.roots, []).append(task.name)
    inputs = {"rank": rank.name, "tree": tree, "n_features": n_features}
    return [Task(pack_nodes, {**inputs, "trained": names}, {"n_jobs": n_jobs}) for names in groups.values()]


def assemble_store(
    results: Results,
    tree: LabelTree,
    packed: list[Task],
    trained: list[Task],
    rank: Task,
    n_features: int,
    loss: str,
    *,
    in_memory: bool,
) -> ChunkStore:
    """Return the chunks of the whole tree, the most visited first; in a file without a name unless `in_memory`."""
    sizes = np.zeros(tree.n_nodes, np.int64)
    for task in packed:
        result = results[task.name]
        sizes[result["nodes"]] = result["sizes"]
    order = np.argsort(-tree.mass(), kind="stable")
    offsets = np.empty(tree.n_nodes, np.int64)
    offsets[order] = np.cumsum(sizes[order]) - sizes[order]
    n_bytes = int(sizes.sum()) + TAIL
    chunks = np.zeros(n_bytes, np.uint8) if in_memory else _file(results.folder, n_bytes)
    for task in packed:  # mapped one at a time: the pages of all would count as memory
        result = results[task.name]
        source = result["chunks"]
        for node, begin, size in zip(
            result["nodes"].tolist(), result["offsets"].tolist(), result["sizes"].tolist(), strict=True
        ):
            to = int(offsets[node])
            chunks[to : to + size] = source[begin : begin + size]
    store = ChunkStore(
        np.asarray(chunks),
        offsets,
        np.array(results[rank.name]["rank"]),
        tree.child_ptr,
        tree.children,
        tree.n_labels,
        n_features,
        checked=True,
    )
    ceilings = LOSSES[loss].ceilings
    if ceilings is None:
        return store
    n_edges = len(tree.children)
    bias, norms = np.empty(n_edges, np.float32), np.empty(n_edges, np.float64)
    for task in trained:
        weights = results[task.name]
        bias[weights["edges"]], norms[weights["edges"]] = weights["bias"], weights["norms"]
    return replace(store, ceilings=ceilings(tree, bias, norms))


def _file(folder: Path | None, n_bytes: int) -> Any:
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, np.uint8, mode="w+", shape=(n_bytes,))
