"""Packing classifiers into the chunks of a tree: sparse chunks for sparse points, full matrices for dense points."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeltrees._losses import LOSSES
from labeltrees.models.linear.pieces import Bundle
from labeltrees.models.linear.problem import RoutedTree
from labeltrees.models.linear.trees import read_tree
from labeltrees.storage import ChunkStore, pack_dense_chunks
from labeltrees.storage.chunks import TAIL, LinearWeights, pack_ranked, rank_of_counts
from labeltrees.tasks import Outcome, Results, Runner, Task
from labeltrees.tree.label_tree import LabelTree


class PackedTree(NamedTuple):
    """The classifiers of a tree, and how many weights they have."""

    store: ChunkStore
    n_weights: int


def pack_tree(routed: RoutedTree, trained: list[tuple[Bundle, str]], runner: Runner, *, in_memory: bool) -> PackedTree:
    """Return the chunks of a tree, the most visited first; in an unnamed temporary file unless `in_memory`."""
    results, names, n_jobs = runner.results, [name for _, name in trained], runner.n_jobs
    tree, n_features = routed.grown.tree, routed.inputs.points.n_features
    if results[names[0]].get("features") is None:
        weights = results[names[0]]
        matrix = weights["values"].reshape(-1, n_features)
        store = pack_dense_chunks(tree, matrix, weights["bias"], tree.mass(), n_jobs=n_jobs)
        results.drop(names)
        return PackedTree(store, matrix.size)
    rank = Task(rank_features, {"trained": names, "n_features": n_features})
    runner.run("Ranking features", [rank])
    groups: dict[Any, list[str]] = {}  # joins nodes whose children were trained by several tasks
    for number, (bundle, name) in enumerate(trained):
        groups.setdefault(number if bundle.edges is None else bundle.roots, []).append(name)
    inputs = {"rank": rank.name, "tree": routed.grown.name, "n_labels": tree.n_labels, "n_features": n_features}
    packed = [Task(pack_nodes, {**inputs, "trained": group}, {"n_jobs": n_jobs}) for group in groups.values()]
    runner.run("Packing chunks", packed)
    store = _assemble(tree, [task.name for task in packed], rank.name, n_features, results, in_memory=in_memory)
    ceilings = LOSSES[routed.inputs.settings.loss].ceilings
    if ceilings is not None:
        bias, norms = np.empty(len(tree.children), np.float32), np.empty(len(tree.children), np.float64)
        for name in names:
            own = results[name]
            edges: Any = slice(None) if own.get("edges") is None else own["edges"]
            bias[edges], norms[edges] = own["bias"], own["norms"]
        store = replace(store, ceilings=ceilings(tree, bias, norms))
    n_weights = results[rank.name].values["n_weights"]
    results.drop([*names, rank.name, *(task.name for task in packed)])
    return PackedTree(store, n_weights)


def rank_features(results: Results, *, trained: list[str], n_features: int) -> Outcome:
    """Return the rank of each feature by its number of weights in all classifiers."""
    counts = np.zeros(n_features, np.int64)
    for name in trained:
        counts += np.bincount(results[name]["features"], minlength=n_features)
    return {"rank": rank_of_counts(counts)}, {"n_weights": int(counts.sum())}


def pack_nodes(
    results: Results,
    *,
    trained: list[str],
    rank: str,
    tree: str,
    n_labels: int,
    n_features: int,
    n_jobs: int | None = None,
) -> Outcome:
    """Return the chunks of the nodes whose classifiers are in `trained`; those of a whole tree are in final order."""
    whole = read_tree(results, tree, n_labels).tree
    found, ranks = [results[name] for name in trained], np.array(results[rank]["rank"])
    if found[0].get("edges") is None:  # the whole tree
        weights = LinearWeights(*(found[0][name] for name in ("indptr", "features", "values", "bias")))
        chunks, offsets = pack_ranked(
            whole.child_ptr, whole.children, weights, n_features, ranks, whole.mass(), n_jobs=n_jobs
        )
        return {"chunks": chunks, "offsets": offsets}, {}
    edges, bias, features, values = (
        np.concatenate([result[name] for result in found]) for name in ("edges", "bias", "features", "values")
    )
    lengths = np.concatenate([np.diff(result["indptr"]) for result in found])
    if not (np.diff(edges) > 0).all():
        order = np.argsort(edges)
        starts = np.cumsum(lengths) - lengths
        edges, lengths, bias = edges[order], lengths[order], bias[order]
        entries = np.repeat(starts[order] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(values))
        features, values = features[entries], values[entries]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    nodes = np.unique(np.searchsorted(whole.child_ptr, edges, side="right") - 1)
    local_ptr = np.concatenate([[0], np.cumsum(np.diff(whole.child_ptr)[nodes])]).astype(np.int64)
    children = np.ascontiguousarray(whole.children[edges])
    weights = LinearWeights(indptr, features, values, bias)
    chunks, offsets = pack_ranked(local_ptr, children, weights, n_features, ranks, n_jobs=n_jobs)
    return {"nodes": nodes.astype(np.int64), "offsets": offsets, "chunks": chunks}, {}


def _assemble(
    tree: LabelTree, packed: list[str], rank: str, n_features: int, results: Results, *, in_memory: bool
) -> ChunkStore:
    """Join the results of `pack_nodes` into the chunks of the whole tree."""
    if len(packed) == 1 and results.folder is None:
        chunks, offsets = results[packed[0]]["chunks"], results[packed[0]]["offsets"]
    else:
        sizes = np.zeros(tree.n_nodes, np.int64)
        for name in packed:
            sizes[results[name]["nodes"]] = _sizes(results[name])
        order = np.argsort(-tree.mass(), kind="stable")
        offsets = np.empty(tree.n_nodes, np.int64)
        offsets[order] = np.cumsum(sizes[order]) - sizes[order]
        n_bytes = int(sizes.sum()) + TAIL
        chunks = np.zeros(n_bytes, np.uint8) if in_memory else _file(results.folder, n_bytes)
        for name in packed:  # mapped one at a time: mapped pages count as memory
            own = results[name]
            source, starts = own["chunks"], own["offsets"].tolist()
            for node, begin, size in zip(own["nodes"].tolist(), starts, _sizes(own).tolist(), strict=True):
                to = int(offsets[node])
                chunks[to : to + size] = source[begin : begin + size]
    ranks = np.array(results[rank]["rank"])
    return ChunkStore(
        np.asarray(chunks), offsets, ranks, tree.child_ptr, tree.children, tree.n_labels, n_features, checked=True
    )


def _sizes(packed: Any) -> NDArray[np.int64]:
    """Return the number of bytes of each chunk."""
    offsets = packed["offsets"]
    ends = np.sort(np.append(offsets, len(packed["chunks"]) - TAIL))
    sizes: NDArray[np.int64] = ends[np.searchsorted(ends, offsets, side="right")] - offsets
    return sizes


def _file(folder: Path | None, n_bytes: int) -> Any:
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, np.uint8, mode="w+", shape=(n_bytes,))
