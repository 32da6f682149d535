"""The paper's four curves: marginal or greedy cover, weighted or direct path."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import labeltrees as lt
from benchmarks.tables import print_head
from labeltrees.tuning.settings import PAPER_GRIDS

CURVES = {
    "marginal": ("marginal", "weighted"),
    "greedy": ("greedy", "weighted"),
    "direct": ("marginal", "direct"),
    "direct, greedy": ("greedy", "direct"),
}
FIGURES = ("p1", "p3", "p5", "depth1", "depth3")


def measure(train: lt.Dataset, test: lt.Dataset, seeds: Iterable[int], n_jobs: int) -> dict[str, np.ndarray]:
    """Return the figures of each curve, an array (seeds, tradeoffs, 5), with precision in percent."""
    runs: dict[str, list[list[list[float]]]] = {name: [] for name in CURVES}
    for seed in seeds:
        result = lt.sweep(
            train,
            test,
            estimator=lt.LabelTreeClassifier.parabel(random_state=seed),
            tradeoffs=PAPER_GRIDS["parabel"],
            covers=("marginal", "greedy"),
            paths=("weighted", "direct"),
            repeats=1,
            timed_points=10,
            n_jobs=n_jobs,
        )
        for name, curve in CURVES.items():
            records = [record for record in result.table if (record["cover"], record["path"]) == curve]
            records.sort(key=lambda record: record["tradeoff"])
            scale = [100 if figure.startswith("p") else 1 for figure in FIGURES]
            runs[name].append([[record[f] * s for f, s in zip(FIGURES, scale, strict=True)] for record in records])
    return {name: np.array(values) for name, values in runs.items()}


def print_curves(curves: dict[str, np.ndarray]) -> None:
    """Print means over seeds, one row per tradeoff."""
    print_head(" | ".join(["tradeoff", *(f"{name}: P@1 / 3, depth@1" for name in curves)]))
    for row, tradeoff in enumerate(PAPER_GRIDS["parabel"]):
        cells = []
        for values in curves.values():
            p1, p3, _, depth1, _ = values.mean(axis=0)[row]
            cells.append(f"{p1:.2f} / {p3:.2f}, {depth1:.2f}")
        print(f"| {tradeoff:.4g} | " + " | ".join(cells) + " |")
