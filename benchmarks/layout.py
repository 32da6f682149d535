"""Which choices of the chunk layout pay off: time and size of one model in several layouts.

    python -m benchmarks.layout [--sets eurlex4k debian-depends] [--models cache]

Three tables for each set, all for the default model and exact top-5 search on one thread:

1. Times. Each layout differs from the one in use as its name says. Layouts take turns; a time is the best of all
   rounds: processor time for a batch of all test points, and the median of single calls.
2. Cache lines of 64 bytes that a search touches, by section, counted from the layout. No cache is simulated: a line
   counts once per visit. The last row is the share of bytes of each section.
3. Weights of 8 bits instead of 16: precision, and the share of top-5 lists that do not change. The weights are rounded
   and packed again, so the search code is the usual one.
"""

from __future__ import annotations

import argparse
import mmap
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import labeltrees as lt
from benchmarks.chunk_lines import LINE, SECTIONS, ChunkLines
from benchmarks.eight_bits import ROUNDINGS
from benchmarks.measures import median_call, precisions
from benchmarks.stored_models import float_rows, model_folder, repack, row_arguments, searcher_like, trained, weights_of
from benchmarks.tables import print_head, slashed
from labeltrees.search import Searcher
from labeltrees.storage import ChunkStore, LinearWeights

K = 5
CALLS = 1000
SMALL_PAGES = ("pages of 4 KiB", "mapped file", "all shuffled, mapped file")


def layouts(
    store: ChunkStore, weights: LinearWeights, mass: NDArray[np.float64], folder: Path
) -> dict[str, ChunkStore]:
    """Return the layouts by name, the one in use first."""
    rng = np.random.default_rng(0)
    n, d = store.n_nodes, store.n_features
    shuffled, nodes = rng.permutation(n).astype(np.float64), -np.arange(n, dtype=np.float64)
    as_given, any_rank = np.arange(d, dtype=np.int32), rng.permutation(d).astype(np.int32)
    near_root = rank_near_root(store)
    made = {
        "in use": repack(store, weights, priority=mass).in_memory(),
        "chunks by number of node": repack(store, weights, priority=nodes).in_memory(),
        "chunks shuffled": repack(store, weights, priority=shuffled).in_memory(),
        "features as given": repack(store, weights, rank=as_given, priority=mass).in_memory(),
        "features shuffled": repack(store, weights, rank=any_rank, priority=mass).in_memory(),
        "features by rows near the root": repack(store, weights, rank=near_root, priority=mass).in_memory(),
    }
    best = made["in use"]
    made["pages of 4 KiB"] = replace(best, chunks=small_pages(best.chunks))
    np.save(folder / "chunks.npy", best.chunks)
    mapped = np.load(folder / "chunks.npy", mmap_mode="r")
    made["mapped file"] = replace(best, chunks=mapped)
    worst = repack(store, weights, rank=any_rank, priority=shuffled)
    np.save(folder / "worst.npy", worst.chunks)
    made["all shuffled, mapped file"] = replace(worst, chunks=np.load(folder / "worst.npy", mmap_mode="r"))
    return made


def small_pages(chunks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a copy in pages of 4 KiB, even if the system uses huge pages."""
    memory = mmap.mmap(-1, len(chunks) + LINE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    copy = np.frombuffer(memory, dtype=np.uint8)[LINE:]  # after a header, as in a mapped file
    copy[:] = chunks
    return copy


def rank_near_root(store: ChunkStore) -> NDArray[np.int32]:
    """Return an order of features by the number of nodes that have a row for them; the first nodes weigh most."""
    counts = np.zeros(store.n_features)
    lines = ChunkLines(store)
    for node in range(store.n_nodes):
        counts[lines.ranks(node)] += 1.0 / (1 + node)
    place = np.empty(store.n_features, dtype=np.int32)
    place[np.argsort(-counts, kind="stable")] = np.arange(store.n_features, dtype=np.int32)
    return place[store.feature_rank]


def huge_pages() -> str:
    """Return how much memory of this process is in huge pages."""
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists():
        return "unknown"
    kilobytes = [int(line.split()[1]) for line in rollup.read_text().splitlines() if line.startswith("AnonHuge")]
    return f"{sum(kilobytes) / 1e3:.0f} MB"


def time_batch(searcher: Searcher, X: Any) -> float:
    start = time.process_time()
    searcher.topk(X, K, n_jobs=1)
    return (time.process_time() - start) / X.shape[0] * 1e6


def time_single(searcher: Searcher, X: Any, first: int) -> float:
    """Return the median microseconds of calls for single queries."""
    return median_call(searcher.predictor(K), row_arguments(X[np.arange(first, first + CALLS) % X.shape[0]]))


def compare_times(name: str, stores: dict[str, ChunkStore], model: Any, X: Any, rounds: int) -> None:
    searchers = {layout: searcher_like(model.searcher_, store) for layout, store in stores.items()}
    first = searchers["in use"].topk(X, K, n_jobs=1)
    batch, single = (dict.fromkeys(searchers, np.inf) for _ in range(2))
    for turn in range(rounds):
        for layout, searcher in searchers.items():
            batch[layout] = min(batch[layout], time_batch(searcher, X))
            single[layout] = min(single[layout], time_single(searcher, X, turn * CALLS))
    print(f"\n## {name}: times\n")
    print_head("layout | batch us | relative to in use | single call p50 us | relative to in use | MB | equal lists")
    for layout, searcher in searchers.items():
        equal = np.mean(np.all(searcher.topk(X, K, n_jobs=1).labels == first.labels, axis=1))
        print(
            f"| {layout} | {batch[layout]:.2f} | {batch[layout] / batch['in use']:.2f} | {single[layout]:.2f} "
            f"| {single[layout] / single['in use']:.2f} | {len(stores[layout].chunks) / 1e6:.2f} "
            f"| {100 * equal:.2f}% |",
            flush=True,
        )


def count_lines(name: str, stores: dict[str, ChunkStore], model: Any, X: Any) -> None:
    some = X[:1000]
    trace = model.searcher_.trace(some, K)
    print(f"\n## {name}: cache lines per search, and bytes\n")
    print_head(f"layout | {' | '.join(SECTIONS)} | all")
    for layout in ("in use", "features as given", "features shuffled", "features by rows near the root"):
        lines = ChunkLines(stores[layout]).count(some, trace)
        cells = " | ".join(f"{lines[section] / some.shape[0]:.1f}" for section in SECTIONS)
        print(f"| {layout}: lines | {cells} | {sum(lines.values()) / some.shape[0]:.1f} |", flush=True)
    sizes = ChunkLines(stores["in use"]).sizes()
    total = sum(sizes.values())
    shares = " | ".join(f"{100 * sizes[section] / total:.0f}%" for section in SECTIONS)
    print(f"| in use: share of bytes | {shares} | {total / 1e6:.2f} MB |")


def round_weights(name: str, store: ChunkStore, weights: LinearWeights, model: Any, test: lt.Dataset, X: Any) -> None:
    Y = test.Y[: X.shape[0]]
    print(f"\n## {name}: 8-bit weights\n")
    print_head("weights | P@1 / 3 / 5 | change from 16 bits | equal top-5 lists | same labels in any order")
    first = None
    mass = np.asarray(model.tree_.mass(), dtype=np.float64)
    for kind, rounding in {"16 bits": None, **ROUNDINGS}.items():
        values = weights if rounding is None else replace(weights, values=rounding(store, weights))
        other = searcher_like(model.searcher_, repack(store, values, priority=mass))
        labels = other.topk(X, K, n_jobs=1).labels
        precision = np.array(precisions(Y, labels))
        if first is None:
            first = labels, precision
        change = slashed(precision - first[1], "+.3f")
        equal = np.mean(np.all(labels == first[0], axis=1))
        same = np.mean(np.all(np.sort(labels, axis=1) == np.sort(first[0], axis=1), axis=1))
        print(
            f"| {kind} | {slashed(precision)} | {change} | {100 * equal:.1f}% | {100 * same:.1f}% |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends", "delicious", "arxiv-authors"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--points", type=int, default=4000, help="maximum number of test points")
    parser.add_argument("--tables", nargs="+", default=["times", "lines", "bits"], choices=["times", "lines", "bits"])
    parser.add_argument("--models", help='folder for trained models, or "cache" for the benchmark cache')
    options = parser.parse_args()
    print(f"Default model, exact top-{K}, one thread, at most {options.points} test points, {options.rounds} rounds")
    for name in options.sets:
        model, test = trained(name, model_folder(options.models))
        X = float_rows(test.X)[: options.points]
        store = model.searcher_.stores[0]
        weights = weights_of(store)
        mass = np.asarray(model.tree_.mass(), dtype=np.float64)
        if {"times", "lines"} & set(options.tables):
            with tempfile.TemporaryDirectory() as folder:
                stores = layouts(store, weights, mass, Path(folder))
                in_memory = sum(len(store.chunks) for layout, store in stores.items() if layout not in SMALL_PAGES)
                print(f"\n{name}: {in_memory / 1e6:.0f} MB of chunks in memory, huge pages: {huge_pages()}")
                if "times" in options.tables:
                    compare_times(name, stores, model, X, options.rounds)
                if "lines" in options.tables:
                    count_lines(name, stores, model, X)
        if "bits" in options.tables:
            round_weights(name, store, weights, model, test, X)


if __name__ == "__main__":
    main()
