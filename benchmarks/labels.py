"""Time of PIFA embeddings, compared with SciPy's matrix product, and of cover frequencies.

    python -m benchmarks.labels [--sets debian-depends arxiv-authors] [--repeats 5] [--jobs 2]

SciPy's product leaves columns unsorted and rows not normalised; "SciPy, finished" also sorts and normalises them. Runs
take turns; a time is the best of the repeats. On a busy machine processor seconds are the better guide.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.measures import best_times
from benchmarks.shared_data import load
from benchmarks.tables import print_head


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
    best = best_times(list(work.values()), repeats)
    difference = abs(lt.pifa(X, Y, n_jobs=n_jobs) - scipy_finished(X, Y)).max()
    print(f"\n{name}: {train}; {Y.nnz:,} label occurrences; largest difference from SciPy {difference:.1e}\n")
    print_head("computation | seconds | processor seconds")
    for name_of_work, seconds in zip(work, best, strict=True):
        print(f"| {name_of_work} | {seconds.wall:.3f} | {seconds.processor:.3f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["debian-depends", "arxiv-authors"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for dataset in options.sets:
        compare(dataset, options.repeats, options.jobs)
