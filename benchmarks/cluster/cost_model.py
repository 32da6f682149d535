"""A model of cost per stage, fitted to the records of `shape`: what 1, 10 and 100 machines would take.

Per stage, total seconds and the longest task are powers of the number of label pairs, fitted on a logarithmic scale. A
stage on n workers takes its total divided by n, but at least its longest task. The tree is built by one machine, and is
assumed to gain half of its cores. Reading and writing the shared storage is not included.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cluster.shape import RECORDS, read_records
from benchmarks.scale.shapes import SHAPES

REST = "Assembling, in the client"
CHOOSING = "Choosing C"
ON_ALL_CORES = "Splitting labels"  # the first splits use all threads of a machine
SIZES = 4  # the largest ones
TREE_EFFICIENCY = 0.5  # assumed, not measured


class PowerLaw(NamedTuple):
    """``factor * size ** exponent``."""

    factor: float
    exponent: float

    def __call__(self, size: float) -> float:
        """Return the value at a size."""
        return self.factor * float(size**self.exponent)


def fit_power(sizes: list[float], values: list[float]) -> PowerLaw:
    """Return the least-squares line through the logarithms; values below a millisecond count as one.

    Examples
    --------
    >>> law = fit_power([1.0, 10.0, 100.0], [2.0, 20.0, 200.0])
    >>> round(law(1000.0))
    2000
    """
    exponent, constant = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-3)), 1)
    return PowerLaw(float(np.exp(constant)), float(exponent))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--shape", default="amazon-3m-shape", choices=list(SHAPES))
    parser.add_argument("--machines", nargs="+", type=int, default=[1, 10, 100])
    parser.add_argument("--cores", type=int, default=16, help="of a machine; a worker has one")
    parser.add_argument("--records", type=Path, default=RECORDS)


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the model, and the times that it predicts."""
    records = read_records(arguments.records, arguments.shape)[-SIZES:]
    points = [record["n_train"] for record in records]
    sizes = [record["n_train"] * record["labels_per_point"] for record in records]
    stages = [{**record["stages"], REST: _rest(record)} for record in records]
    totals, longest = (
        {name: fit_power(sizes, [stage[name][what] for stage in stages]) for name in stages[0]}
        for what in ("processor", "longest")
    )
    lines = [
        f"Fitted to {len(records)} sizes of {arguments.shape}, {points[0]:,} to {points[-1]:,} points. "
        "Seconds of one core.",
        "",
        "| stage | exponent | " + " | ".join(f"{size:,} points" for size in points) + " | longest task of the last |",
        "| --- " * (len(sizes) + 3) + "|",
    ]
    for name, law in totals.items():
        measured = " | ".join(f"{stage[name]['processor']:.2f}" for stage in stages)
        lines.append(f"| {name} | {law.exponent:.2f} | {measured} | {stages[-1][name]['longest']:.2f} |")
    lines += ["", *_predictions(arguments, totals, longest)]
    return lines


def _rest(record: dict[str, Any]) -> dict[str, float]:
    seconds = record["processor"] - sum(stage["processor"] for stage in record["stages"].values())
    return {"processor": seconds, "longest": seconds}


def _predictions(arguments: argparse.Namespace, totals: dict[str, PowerLaw], longest: dict[str, PowerLaw]) -> list[str]:
    head = " | ".join(f"{n} machine{'s' if n > 1 else ''}, min" for n in arguments.machines)
    lines = [
        f"Predicted, for machines with {arguments.cores} cores of this speed:",
        "",
        f"| shape | points | C | one core, h | {head} | stages that do not divide further, min |",
        "| --- " * (len(arguments.machines) + 5) + "|",
    ]
    for name, skipped in itertools.product(("amazon-3m-shape", "amazon-10m-shape"), ((), (CHOOSING,))):
        shape = SHAPES[name]
        size = shape.n_train * shape.labels_per_point
        laws = {stage: law for stage, law in totals.items() if stage not in skipped}
        times = [_seconds(size, n * arguments.cores, arguments.cores, laws, longest) for n in arguments.machines]
        least = _seconds(size, 10**9, arguments.cores, laws, longest)
        shown = " | ".join(f"{seconds / 60:.1f}" for seconds in times)
        alone = sum(law(size) for law in laws.values())
        C = "a number" if skipped else "auto"
        lines.append(f"| {name} | {shape.n_train:,} | {C} | {alone / 3600:.1f} | {shown} | {least / 60:.1f} |")
    return lines


def _seconds(
    size: float, n_workers: int, cores: int, totals: dict[str, PowerLaw], longest: dict[str, PowerLaw]
) -> float:
    seconds = 0.0
    for name, law in totals.items():
        if name == ON_ALL_CORES:
            seconds += law(size) / (cores * TREE_EFFICIENCY)
        else:
            seconds += max(law(size) / n_workers, min(longest[name](size), law(size)))
    return seconds
