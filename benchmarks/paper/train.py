"""Train a model in the paper's setting, measure it on test points, and record it at once."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import labeltrees as lt
from benchmarks.paper import records
from benchmarks.paper.datasets import SPLIT_BY_SEED, load_set, parse_name, tradeoffs_of, variants_of
from benchmarks.paper.records import PARTS, READING, VALIDATION, Record, Run, runs_of
from labeltrees.search.request import SearchRequest

# Sums are kept for this many random groups of test points. The bootstrap draws groups instead of points, so that a
# record stays small; groups are the same for all runs of a dataset, so that differences are paired.
GROUPS = 100
VALIDATION_SHARE = 0.2
SMALL_SHARE = (
    0.05  # as many as test points, where many splits are averaged; trees then have as many levels as in the test
)
MEASURES = ("hits1", "hits3", "hits5", "depth1", "depth3")
TRACED = 1000  # test points whose searches are traced, for the number of leaves opened
_fitted: dict[
    tuple[Run, int], tuple[lt.LabelTreeClassifier, float]
] = {}  # the last model, for searches with fewer paths


def split_off_validation(train: lt.Dataset, share: float = VALIDATION_SHARE) -> tuple[lt.Dataset, lt.Dataset]:
    """Return training points and validation points, the same for every seed."""
    order = np.random.default_rng(0).permutation(train.n_points)
    n = int(train.n_points * share)
    kept, held_out = np.sort(order[n:]), np.sort(order[:n])
    weight = train.sample_weight
    parts = [
        lt.Dataset(train.X[rows], train.Y[rows], sample_weight=None if weight is None else weight[rows])
        for rows in (kept, held_out)
    ]
    return parts[0], parts[1]


def measure(run: Run, train: lt.Dataset, test: lt.Dataset, n_jobs: int) -> Record:
    """Train the model of a run, unless the last run had the same, and return its record."""
    if run.part == VALIDATION:
        share = SMALL_SHARE if run.dataset in SPLIT_BY_SEED else VALIDATION_SHARE
        train, test = split_off_validation(train, share)
    beam = parse_name(run.dataset).beam
    if (model_of(run), n_jobs) not in _fitted:
        _fitted.clear()
        _fitted[model_of(run), n_jobs] = _fit(run, train, n_jobs)
    model, seconds = _fitted[model_of(run), n_jobs]
    labels, _ = model.predict_topk(test.X, 5, beam=beam)
    tree = model.tree_
    weight = np.ones(test.n_points) if test.sample_weight is None else test.sample_weight
    groups = groups_of(test.n_points)
    values = point_values(test.Y, labels, tree.label_depth, tree.height)
    return {
        **run._asdict(),
        "reading": READING,
        **({"split": run.seed} if run.dataset in SPLIT_BY_SEED else {}),
        "n_points": test.n_points,
        "data": fingerprint(train, test),
        "height": int(tree.height),
        **_leaves(model, test.X[:TRACED], beam),
        "seconds": round(seconds, 2),
        "recall5": _recall(train, test, labels),
        "weights": _rounded(np.bincount(groups, weights=weight)),
        **{name: _rounded(np.bincount(groups, weights=weight * values[name])) for name in MEASURES},
    }


def model_of(run: Run) -> Run:
    """Return the run that trains the same model, and searches it with 10 paths."""
    name = parse_name(run.dataset)
    return run._replace(dataset=name.data if name.weights_of == "root" else f"{name.data}, weights per node")


def _fit(run: Run, train: lt.Dataset, n_jobs: int) -> tuple[lt.LabelTreeClassifier, float]:
    """Return the model of a run, and the processor seconds of its training."""
    builder = lt.TreeBuilder(cover=run.cover, path=run.path, weights_of=parse_name(run.dataset).weights_of)
    model = lt.LabelTreeClassifier.parabel(tradeoff=run.tradeoff, tree=builder, random_state=run.seed, n_jobs=n_jobs)
    started = time.process_time()
    model.fit(train.X, train.Y, sample_weight=train.sample_weight)
    return model, time.process_time() - started


def _leaves(model: lt.LabelTreeClassifier, X: sparse.csr_array, beam: int) -> dict[str, float]:
    """Return how many nodes have labels as children, and how many of them a search opens on average."""
    tree = model.tree_
    is_leaf = np.zeros(tree.n_nodes, dtype=bool)
    is_leaf[np.repeat(np.arange(tree.n_nodes), np.diff(tree.child_ptr))[tree.children < 0]] = True
    request = model.complete_request(SearchRequest(5, beam=beam))
    opened = model.searcher_.trace(X, request).nodes
    return {"leaves": int(is_leaf.sum()), "leaves_opened": round(float(is_leaf[opened].sum() / X.shape[0]), 3)}


def point_values(
    Y: lt.Dataset, labels: NDArray[np.int64], label_depth: NDArray[np.int32], height: int
) -> dict[str, NDArray[np.float64]]:
    """Return hits among the first 1, 3 and 5 labels and the depth of the deepest of 1 and 3, for every point.

    Depths count the edge from a leaf node to its label. A point without a returned label gets the tree's height: the
    search has gone through the whole tree.
    """
    found = labels >= 0
    true = np.asarray(Y[np.arange(len(labels))[:, None].repeat(labels.shape[1], 1).ravel(), labels.ravel()]).ravel()
    hits = (true.reshape(labels.shape) > 0) & found
    depth = np.where(found, label_depth[labels], np.where(found.any(axis=1, keepdims=True), 0, height))
    return {
        **{f"hits{k}": hits[:, :k].sum(axis=1).astype(np.float64) for k in (1, 3, 5)},
        **{f"depth{k}": depth[:, :k].max(axis=1).astype(np.float64) for k in (1, 3)},
    }


def fingerprint(*sets: lt.Dataset) -> str:
    """Return a hash of the points, labels and weights of some sets."""
    found = hashlib.blake2b(digest_size=8)
    for data in sets:
        X, Y = data.X, data.Y
        for array in (X.indptr, X.indices, X.data, Y.indptr, Y.indices, data.sample_weight):
            found.update(b"none" if array is None else np.ascontiguousarray(array).data)
    return found.hexdigest()


def groups_of(n_points: int) -> NDArray[np.int64]:
    """Return the group of every point: a fixed random assignment to groups of nearly equal size."""
    return np.random.default_rng(n_points).permutation(n_points) % min(GROUPS, n_points)


def _recall(train: lt.Dataset, test: lt.Dataset, labels: NDArray[np.int64]) -> dict[str, list[float]]:
    """Return recall at 5 in percent and the number of labels, for head, torso and tail labels."""
    groups = lt.metrics.by_frequency(test.Y, labels, 5, Y_train=train.Y)
    return {g.name: [round(100 * g.recall.value, 3), g.n_labels] for g in groups if g.n_labels > 0}


def _rounded(sums: NDArray[np.float64]) -> list[float]:
    """Return sums as short JSON numbers: whole where all of them are."""
    whole = np.rint(sums)
    return whole.astype(int).tolist() if np.array_equal(whole, sums) else np.round(sums, 4).tolist()


def missing_runs(
    path: Path,
    sets: Iterable[str],
    seeds: Iterable[int],
    tradeoffs: list[float] | None = None,
    variants: list[str] | None = None,
    parts: Iterable[str] = PARTS,
) -> list[Run]:
    """Return the runs without a record, one seed of all sets after the other."""
    done = {key_of(record) for record in current(records.read(path))}
    runs = []
    for seed in seeds:
        for name in sets:
            grid = [t for t in tradeoffs_of(name) if tradeoffs is None or any(abs(t - w) < 0.0009 for w in tradeoffs)]
            curves = [v for v in variants_of(name) if variants is None or v in variants]
            runs += runs_of(name, grid, [seed], curves, parts)
    return [run for run in runs if run not in done]


def train_missing(path: Path, runs: list[Run], n_jobs: int, until: float | None = None) -> bool:
    """Train the runs in order; stop before a run that would start after the time `until`. Return whether all are done.

    Runs of one model are moved together. Progress goes to the standard error, because the standard output is the page
    of results.
    """
    started, first = time.time(), dict[Run, int]()
    runs = sorted(runs, key=lambda run: first.setdefault(model_of(run), len(first)))
    for number, run in enumerate(runs):
        if until is not None and time.time() > until:
            print(f"stopped by the time limit: {len(runs) - number} of {len(runs)} runs are missing", file=sys.stderr)
            return False
        records.append(path, measure(run, *load_set(run.dataset, run.seed), n_jobs))
        left = (time.time() - started) / (number + 1) * (len(runs) - number - 1)
        print(f"{number + 1} of {len(runs)}, about {left / 60:.0f} min left: {run}", file=sys.stderr, flush=True)
    return True


def current(found: list[records.Record]) -> list[records.Record]:
    """Return the records of today's reading of the paper."""
    return [record for record in found if record["reading"] == READING]


def key_of(record: records.Record) -> Run:
    """Return the run of a record."""
    return Run(*(record[name] for name in Run._fields))
