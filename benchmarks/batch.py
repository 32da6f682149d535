"""Many queries at once: threads, single calls, and what could be gained if searches shared what they read.

    python -m benchmarks.batch [--sets eurlex4k debian-depends delicious arxiv-authors] [--points 20000] [--repeats 9]

Mean microseconds a query, best of the repeats, all taking turns; the default model, top 5. Small test sets are asked
several times over, so that a batch takes longer than to start it.

- call: one call of a `Predictor` a query; one: `predict_topk` on one thread; two: on two, and the throughput of that.
- shuffled: queries in random order. by path: in the order of the first nodes they open, so that each search finds in
  the cache what the one before it has read. again: every query 100 times in a row, so that all it reads is in the cache
  of its core: no way of sharing chunk visits between queries can do better.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import labeltrees as lt
from benchmarks.shared_data import load

TIMES_AGAIN = 100


def by_path(model: lt.LabelTreeClassifier, X: Any) -> Any:
    """Return the order of points in which neighbours open the same nodes."""
    trace = model.searcher_.trace(X, 1)
    opened = np.zeros((X.shape[0], 2), dtype=np.int64)
    for place in (1, 2):
        has = np.flatnonzero(np.diff(trace.ends) > place)
        opened[has, place - 1] = trace.nodes[trace.ends[has] + place]
    return np.lexsort((opened[:, 1], opened[:, 0]))


def time_of(work: Callable[[], object], n: int) -> float:
    """Return the microseconds of one of the n queries that `work` answers."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / n * 1e6


def measure(model: lt.LabelTreeClassifier, X: Any, beam: int | None, repeats: int) -> dict[str, float]:
    """Return the microseconds of each way to ask."""
    n = X.shape[0]
    rows = [(X.indices[a:b], X.data[a:b]) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    predictor = model.predictor(5, beam=beam)
    shuffled = X[np.random.default_rng(0).permutation(n)]
    sorted_rows = X[by_path(model, X)]
    some = X[np.repeat(np.arange(0, n, max(n // 100, 1)), TIMES_AGAIN)]

    def calls() -> None:
        for row in rows:
            predictor(*row)

    def batch(points: Any, n_jobs: int = 1) -> Callable[[], object]:
        return lambda: model.predict_topk(points, 5, beam=beam, n_jobs=n_jobs)

    ways: dict[str, tuple[Callable[[], object], int]] = {
        "call": (calls, n),
        "one": (batch(X), n),
        "two": (batch(X, 2), n),
        "shuffled": (batch(shuffled), n),
        "by path": (batch(sorted_rows), n),
        "again": (batch(some), some.shape[0]),
    }
    best = dict.fromkeys(ways, np.inf)
    for _ in range(repeats):
        for name, (work, size) in ways.items():
            best[name] = min(best[name], time_of(work, size))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends", "delicious", "arxiv-authors"])
    parser.add_argument("--points", type=int, default=20000)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    print("| data | search | call | one | two | throughput of two | shuffled | by path | again |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.sets:
        train, test = load(name)
        model = lt.LabelTreeClassifier(n_jobs=2).fit(train.X, train.Y)
        times = -(-options.points // test.n_points)
        X = sparse.vstack([test.X] * times, format="csr")[: options.points].astype(np.float32)
        X.indices = X.indices.astype(np.int32)
        for search, beam in (("exact", None), ("beam 10", 10)):
            best = measure(model, X, beam, options.repeats)
            cells = [f"{best[way]:.2f}" for way in ("call", "one", "two")]
            cells.append(f"{best['one'] / best['two']:.2f}x")
            cells += [f"{best[way]:.2f}" for way in ("shuffled", "by path", "again")]
            print(f"| {name} | {search} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
