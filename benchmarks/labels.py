"""PIFA embeddings beside SciPy's product, and the cover frequencies, on the shared real data.

    python -m benchmarks.labels [--sets debian-depends arxiv-authors] [--repeats 5] [--jobs 2]

SciPy's product alone leaves columns unsorted and rows of any length; "SciPy, finished" sorts and scales them too. Runs
take turns; times are the best of the repeats. Processor seconds say more on a machine that others use too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.shared_data import load


def scipy_product(X: Any, Y: Any) -> Any:
    return Y.T.tocsr() @ X


def scipy_finished(X: Any, Y: Any) -> Any:
    product = scipy_product(X, Y)
    product.sort_indices()
    lengths = np.sqrt(product.multiply(product).sum(axis=1))
    product.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(product.indptr))
    return product


def compare(name: str, repeats: int, n_jobs: int) -> None:
    train, _ = load(name)
    X, Y = train.X, train.Y
    weights = np.random.default_rng(0).random(train.n_points)
    work: dict[str, Callable[[], Any]] = {
        "pifa, 1 thread": lambda: lt.pifa(X, Y, n_jobs=1),
        f"pifa, {n_jobs} threads": lambda: lt.pifa(X, Y, n_jobs=n_jobs),
        "SciPy's product": lambda: scipy_product(X, Y),
        "SciPy, finished": lambda: scipy_finished(X, Y),
        "cover, marginal": lambda: lt.cover_frequencies(Y),
        "cover, greedy": lambda: lt.cover_frequencies(Y, method="greedy"),
        "cover, greedy, point weights": lambda: lt.cover_frequencies(Y, weights, method="greedy"),
    }
    best = dict.fromkeys(work, (np.inf, np.inf))
    for _ in range(repeats):
        for what, run in work.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            run()
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
            best[what] = (min(best[what][0], seconds), min(best[what][1], cpu_seconds))
    difference = abs(lt.pifa(X, Y, n_jobs=n_jobs) - scipy_finished(X, Y)).max()
    print(f"\n{name}: {train}; {Y.nnz:,} label occurrences; largest difference to SciPy {difference:.1e}\n")
    print("| what | seconds | processor seconds |\n| --- | --- | --- |")
    for what, (seconds, cpu_seconds) in best.items():
        print(f"| {what} | {seconds:.3f} | {cpu_seconds:.3f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["debian-depends", "arxiv-authors"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for dataset in options.sets:
        compare(dataset, options.repeats, options.jobs)
