"""Fit on 1, 2 and 4 workers: the bytes of the local fit, time, and bytes moved."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.cluster.measure import cluster_fit, digest, local_fit, start_imports, write_dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--sets", nargs="+", default=["debian-depends", "arxiv-authors"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--points-per-part", type=int, default=20_000)
    parser.add_argument("--memory-per-worker", default="2GiB")


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the table."""
    from labeltrees.dask.cluster import connect

    head = [
        "dataset",
        "fit",
        "seconds",
        "to two threads",
        "same bytes",
        "tasks",
        "files MiB",
        "scheduler KiB",
        "peak MiB",
    ]
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for name in arguments.sets:
        parts = write_dataset(name, folder / f"{name}.parts", arguments.points_per_part)
        local = local_fit(parts.folder, folder / "local", 2)
        expected = digest(folder / "local")
        lines.append(
            f"| {name} | local, 2 threads | {local['seconds']:.1f} | 1.00 | | | | | {local['peak'] / 2**20:.0f} |"
        )
        for n_workers in arguments.workers:
            with connect("local", n_workers, arguments.memory_per_worker) as client:
                start_imports(client)
                seconds, summary = cluster_fit(client, parts, folder / "cluster")
            same = "yes" if digest(folder / "cluster") == expected else "NO"
            ratio = seconds / local["seconds"]
            workers = "1 worker" if n_workers == 1 else f"{n_workers} workers"
            lines.append(
                f"| {name} | {workers} | {seconds:.1f} | {ratio:.2f} | {same} | {summary.n_tasks} | "
                f"{summary.bytes_written / 2**20:.0f} | {summary.scheduler_bytes / 2**10:.0f} | "
                f"{max(summary.peak_bytes.values()) / 2**20:.0f} |"
            )
    return lines
