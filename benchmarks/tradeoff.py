"""Precision, expected depth and search time of the linear model for several tradeoffs.

    python -m benchmarks.tradeoff [--set debian-depends] [--seeds 3] [--repeats 5] [--jobs 2]

Two tables: the paper's setting (`LabelTreeClassifier.parabel`: binary trees, leaves of 100 labels, squared scores, 10
paths), and the default settings with exact search. Searches use one thread. Models take turns;
times are wall-clock times, the best of the repeats; the other figures are means over seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.measures import precisions
from benchmarks.shared_data import load
from benchmarks.tables import print_head, slashed

GRID = [2 * t / (1 + t) for t in (0, 0.5, 1, 2, 6, 10, 30, 100, 300, 1000, 1e5)]


def sweep(
    train: lt.Dataset, test: lt.Dataset, make: Callable[..., lt.LabelTreeClassifier], grid: list[float], options: Any
) -> None:
    """Print one row per tradeoff, with its change from tradeoff 0."""
    precision = np.zeros((len(grid), 3))
    depth = np.zeros((len(grid), 2))
    seconds = np.full((len(grid), 2), np.inf)
    chunks = np.zeros(len(grid))
    for seed in range(options.seeds):
        models = [make(tradeoff=t, random_state=seed, n_jobs=options.jobs).fit(train.X, train.Y) for t in grid]
        for row, model in enumerate(models):
            labels, _, stats = model.predict_topk(test.X, 5, return_stats=True)
            precision[row] += np.divide(precisions(test.Y, labels), options.seeds)
            depth[row] += [lt.metrics.expected_depth_at_k(model.tree_, labels, k) / options.seeds for k in (1, 5)]
            chunks[row] += stats.chunks.mean() / options.seeds
        for _ in range(options.repeats):
            for row, model in enumerate(models):
                for column, k in enumerate((1, 5)):
                    start = time.perf_counter()
                    model.predict_topk(test.X, k, n_jobs=1)
                    seconds[row, column] = min(seconds[row, column], time.perf_counter() - start)
    print_head("tradeoff | P@1 / 3 / 5 | depth@1 | change | depth@5 | chunks | top-1 us | change | top-5 us | change")
    us = seconds / test.n_points * 1e6
    for row, t in enumerate(grid):
        now, then = (depth[row, 0], *us[row]), (depth[0, 0], *us[0])
        changes = [f"{a / b - 1:+.0%}" for a, b in zip(now, then, strict=True)]
        print(
            f"| {t:.4g} | {slashed(precision[row])} | {depth[row, 0]:.2f} | {changes[0]} "
            f"| {depth[row, 1]:.2f} | {chunks[row]:.1f} "
            f"| {us[row, 0]:.1f} | {changes[1]} | {us[row, 1]:.1f} | {changes[2]} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="debian-depends")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    train, test = load(options.set)
    print(f"{options.set}, {options.seeds} seeds, best of {options.repeats} repeats, searches on one thread")
    print("\nThe paper's setting\n")
    sweep(train, test, lt.LabelTreeClassifier.parabel, GRID, options)
    print("\nDefault settings, exact search\n")
    exact = partial(lt.LabelTreeClassifier, beam=None)
    sweep(train, test, exact, [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0], options)


if __name__ == "__main__":
    main()
