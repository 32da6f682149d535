"""Fit on 1, 2 and 4 workers: the bytes of the local fit, time, memory, and bytes moved.

All fits take turns, --repeats times; the shortest time of each counts. With --folder finished fits are kept there, and
a run that was interrupted continues.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.cluster.measure import cluster_fit, digest, local_fit, start_imports, write_dataset
from labeltrees.data import PartsDataset

HEAD = ("dataset", "fit", "seconds", "to two threads", "same bytes", "tasks", "files MiB", "scheduler KiB", "peak MiB")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--sets", nargs="+", default=["debian-depends", "arxiv-authors"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--points-per-part", type=int, default=20_000)
    parser.add_argument("--memory-per-worker", default="2GiB")


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the table."""
    lines = ["| " + " | ".join(HEAD) + " |", "| --- " * len(HEAD) + "|"]
    for name in arguments.sets:
        parts = write_dataset(name, folder / f"{name}.parts", arguments.points_per_part)
        fits: dict[int, Callable[[], dict[str, Any]]] = {0: partial(_local, parts, folder)}
        for n_workers in arguments.workers:
            fits[n_workers] = partial(_cluster, parts, folder, n_workers, arguments.memory_per_worker)
        found: dict[int, list[dict[str, Any]]] = {n_workers: [] for n_workers in fits}
        for repeat in range(arguments.repeats):
            for n_workers, measure in fits.items():
                found[n_workers].append(_kept(folder / f"{name}.{n_workers}.{repeat}.json", measure))
        local = _best(found.pop(0))
        lines.append(
            f"| {name} | local, 2 threads | {local['seconds']:.1f} | 1.00 | | | | | {local['peak'] / 2**20:.0f} |"
        )
        for n_workers, fitted in found.items():
            best = _best(fitted)
            same = "yes" if {fit["digest"] for fit in fitted} == {local["digest"]} else "NO"
            workers = "1 worker" if n_workers == 1 else f"{n_workers} workers"
            lines.append(
                f"| {name} | {workers} of {arguments.memory_per_worker} | {best['seconds']:.1f} | "
                f"{best['seconds'] / local['seconds']:.2f} | {same} | {best['tasks']} | "
                f"{best['files'] / 2**20:.0f} | {best['scheduler'] / 2**10:.0f} | {best['peak'] / 2**20:.0f} |"
            )
    return lines


def _best(fits: list[dict[str, Any]]) -> dict[str, Any]:
    return min(fits, key=lambda fit: float(fit["seconds"]))


def _kept(file: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a measurement, from its file if it has one."""
    if not file.exists():
        file.write_text(json.dumps(measure()))
    return dict(json.loads(file.read_text()))


def _local(parts: PartsDataset, folder: Path) -> dict[str, Any]:
    return {**local_fit(parts.folder, folder / "local", 2), "digest": digest(folder / "local")}


def _cluster(parts: PartsDataset, folder: Path, n_workers: int, memory: str) -> dict[str, Any]:
    from labeltrees.tasks.on_dask import connect

    with connect("local", n_workers, memory) as client:
        start_imports(client)
        seconds, summary = cluster_fit(client, parts, folder / "cluster")
    return {
        "seconds": seconds,
        "digest": digest(folder / "cluster"),
        "tasks": summary.n_tasks,
        "files": summary.bytes_written,
        "scheduler": summary.scheduler_bytes,
        "peak": max(summary.peak_bytes.values()),
        "stages": summary.seconds,
    }
