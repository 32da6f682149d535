"""Fit a synthetic dataset of any shape from parts on disk, within a limit of memory; large shapes take hours."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import labeltrees as lt
from benchmarks.cluster.measure import local_fit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=30_000)
    parser.add_argument("--values-per-point", type=int, default=30)
    parser.add_argument("--labels-per-point", type=int, default=4)
    parser.add_argument("--points-per-part", type=int, default=100_000)
    parser.add_argument("--max-memory", default="6GiB")
    parser.add_argument("--jobs", type=int, default=2)


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the table."""
    write_shape(arguments, folder / "parts")
    local = local_fit(folder / "parts", folder / "model", arguments.jobs, arguments.max_memory)
    model = lt.load(folder / "model")
    queries = lt.open_parts(folder / "parts").parts[0].matrices()[0][:1000]
    found = model.predict_topk(queries, 5, return_stats=True)[2]
    return [
        "| points | features | labels | max_memory | seconds | peak MiB | us per query |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| {arguments.points:,} | {arguments.features:,} | {arguments.labels:,} | {arguments.max_memory} | "
        f"{local['seconds']:.0f} | {local['peak'] / 2**20:.0f} | {float(np.median(found.microseconds)):.0f} |",
    ]


def write_shape(arguments: argparse.Namespace, folder: Path) -> None:
    """Write points with a long tail of labels; points that share a label share features."""
    rng = np.random.default_rng(0)
    n_own = max(arguments.values_per_point // 2, 1)
    with lt.PartsWriter(
        folder, arguments.features, arguments.labels, points_per_part=arguments.points_per_part
    ) as writer:
        for start in range(0, arguments.points, 50_000):
            n = min(50_000, arguments.points - start)
            labels = (rng.pareto(0.9, (n, arguments.labels_per_point)) * arguments.labels / 2000).astype(np.int64)
            labels %= arguments.labels
            own = (labels[:, :1] * 7919 + rng.integers(0, 3 * n_own, (n, n_own)) ** 2) % arguments.features
            other = (rng.pareto(1.0, (n, arguments.values_per_point - n_own)) * 50).astype(np.int64)
            other %= arguments.features
            writer.add(_indicator(np.hstack([own, other]), arguments.features), _indicator(labels, arguments.labels))


def _indicator(columns: np.ndarray, n_columns: int) -> sp.csr_array:
    indptr = np.arange(len(columns) + 1) * columns.shape[1]
    matrix = sp.csr_array((np.ones(columns.size, np.float32), columns.reshape(-1), indptr), (len(columns), n_columns))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
