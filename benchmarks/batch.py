"""Many queries at once: one and two threads, single calls, and the gain that is possible from sharing cached data.

    python -m benchmarks.batch [--sets eurlex4k debian-depends delicious arxiv-authors] [--points 20000] [--repeats 9]

Mean microseconds per query for the default model and its 5 best labels. The variants take turns; the best of the
repeats counts. Small test sets are repeated, so that starting a batch does not dominate its time.

- call: one call of a `Predictor` per query. one: `predict_topk` on one thread. two: on two threads, and the speed-up.
- shuffled: queries in random order.
- by path: queries sorted by the first nodes they open, so that a search finds the chunks of the previous one in the
  processor's cache.
- again: every query 100 times in a row, so that everything it reads is cached. Sharing chunk visits between queries
  cannot be faster than this.
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
from benchmarks.stored_models import float_rows, row_arguments
from benchmarks.tables import print_head

TIMES_AGAIN = 100


def by_path(model: lt.LabelTreeClassifier, X: Any) -> Any:
    """Return an order of the points in which neighbours open the same nodes."""
    trace = model.searcher_.trace(X, 1)
    opened = np.zeros((X.shape[0], 2), dtype=np.int64)
    for place in (1, 2):
        has = np.flatnonzero(np.diff(trace.ends) > place)
        opened[has, place - 1] = trace.nodes[trace.ends[has] + place]
    return np.lexsort((opened[:, 1], opened[:, 0]))


def time_of(work: Callable[[], object], n: int) -> float:
    """Return the microseconds per query of some work that answers n queries."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / n * 1e6


def measure(model: lt.LabelTreeClassifier, X: Any, beam: int | None, repeats: int) -> dict[str, float]:
    """Return the microseconds per query of each variant."""
    n = X.shape[0]
    rows = row_arguments(X)
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
    print_head("data | search | call | one | two | speed-up | shuffled | by path | again")
    for name in options.sets:
        train, test = load(name)
        model = lt.LabelTreeClassifier(n_jobs=2).fit(train.X, train.Y)
        times = -(-options.points // test.n_points)
        X = float_rows(sparse.vstack([test.X] * times, format="csr")[: options.points])
        for search, beam in (("exact", None), ("beam 10", 10)):
            best = measure(model, X, beam, options.repeats)
            cells = [f"{best[way]:.2f}" for way in ("call", "one", "two")]
            cells.append(f"{best['one'] / best['two']:.2f}x")
            cells += [f"{best[way]:.2f}" for way in ("shuffled", "by path", "again")]
            print(f"| {name} | {search} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
