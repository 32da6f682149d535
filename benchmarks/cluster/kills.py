"""Fit again and again; each time a random worker is killed at a random moment."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster.measure import cluster_fit, digest, local_fit, start_imports, write_dataset
from labeltrees import PartsDataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", default="debian")
    parser.add_argument("--points-per-part", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the counts."""
    from labeltrees.dask.cluster import connect
    from labeltrees.models.linear.in_parts import bundles

    bundles.LEAST_COST = 0  # many small tasks: more moments at which a worker can be lost
    rng = np.random.default_rng(arguments.seed)
    parts = write_dataset(arguments.data, folder / "parts", arguments.points_per_part)
    local_fit(parts.folder, folder / "local", 1)
    expected = digest(folder / "local")
    counts = Counts()
    while counts.fits < arguments.fits:
        with connect("local", arguments.workers, "1GiB") as client:
            start_imports(client)
            usual, _ = cluster_fit(client, parts, folder / "cluster")
            counts.clusters += 1
            while counts.fits < arguments.fits and _all_are_back(client, arguments.workers):
                seconds, was_killed = _fit_and_kill(client, parts, folder, usual, rng)
                if not was_killed:  # the fit was over before: it does not count, but says how long a fit takes
                    usual = min(usual, seconds)
                    continue
                counts.fits += 1
                counts.slowest = max(counts.slowest, seconds)
                counts.same += digest(folder / "cluster") == expected
                print(f"{counts.same} of {counts.fits} identical", flush=True)
    return [
        f"{counts.fits} fits of {arguments.data} on {arguments.workers} workers, a worker killed in each of "
        f"them: {counts.same} complete with identical bytes. The slowest took {counts.slowest:.1f} s; the last fit "
        f"without a kill took {usual:.1f} s. New clusters, because Dask did not start a killed worker again: "
        f"{counts.clusters - 1}."
    ]


@dataclass
class Counts:
    """What has happened so far."""

    fits: int = 0
    same: int = 0
    clusters: int = 0
    slowest: float = 0.0


def _all_are_back(client: Any, n_workers: int) -> bool:
    try:
        client.wait_for_workers(n_workers, timeout=60)
    except TimeoutError:
        return False
    return True


def _fit_and_kill(
    client: Any, parts: PartsDataset, folder: Path, usual: float, rng: np.random.Generator
) -> tuple[float, bool]:
    """Fit while a worker is killed; return the seconds, and whether the moment came before the fit was over."""
    pids = list(client.run(os.getpid).values())
    killed: list[int] = []
    timer = threading.Timer(rng.uniform(0, usual), _kill, (int(pids[rng.integers(len(pids))]), killed))
    timer.start()
    started = time.perf_counter()
    cluster_fit(client, parts, folder / "cluster")
    seconds = time.perf_counter() - started
    timer.cancel()
    timer.join()
    return seconds, bool(killed)


def _kill(pid: int, killed: list[int]) -> None:
    os.kill(pid, signal.SIGKILL)
    killed.append(pid)
