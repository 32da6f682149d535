"""Fit within a limit of memory: on parts in one process, and per worker of a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.cluster.measure import cluster_fit, digest, local_fit, start_imports, write_dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--sets", nargs="+", default=["arxiv-authors"])
    parser.add_argument("--max-memory", nargs="+", default=["none", "600MiB", "400MiB"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory-per-worker", default="700MiB")
    parser.add_argument("--points-per-part", type=int, default=20_000)


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the table."""
    from labeltrees.tasks.on_dask import connect

    lines = ["| dataset | fit | seconds | peak MiB of a process | same bytes |", "| --- | --- | --- | --- | --- |"]
    for name in arguments.sets:
        parts = write_dataset(name, folder / f"{name}.parts", arguments.points_per_part)
        expected = None
        for limit in arguments.max_memory:
            local = local_fit(parts.folder, folder / "local", 1, None if limit == "none" else limit)
            found = digest(folder / "local")
            expected = expected or found
            what = "in memory" if limit == "none" else f"max_memory {limit}"
            same = "yes" if found == expected else "NO"
            lines.append(f"| {name} | {what} | {local['seconds']:.1f} | {local['peak'] / 2**20:.0f} | {same} |")
        with connect("local", arguments.workers, arguments.memory_per_worker) as client:
            start_imports(client)
            seconds, summary = cluster_fit(client, parts, folder / "cluster")
        same = "yes" if digest(folder / "cluster") == expected else "NO"
        peak = max(summary.peak_bytes.values()) / 2**20
        what = f"{arguments.workers} workers of {arguments.memory_per_worker}"
        lines.append(f"| {name} | {what} | {seconds:.1f} | {peak:.0f} | {same} |")
    return lines
