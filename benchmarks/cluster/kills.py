"""Fit again and again; each time a random worker is killed at a random moment."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.cluster.measure import cluster_fit, digest, local_fit, start_imports, write_dataset


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
    n_same = n_killed = 0
    slowest = 0.0
    with connect("local", arguments.workers, "1GiB") as client:
        start_imports(client)
        usual, _ = cluster_fit(client, parts, folder / "cluster")
        for _ in range(arguments.fits):
            client.wait_for_workers(arguments.workers, timeout=120)
            pids = list(client.run(os.getpid).values())
            killed: list[int] = []
            timer = threading.Timer(rng.uniform(0, usual), _kill, (int(pids[rng.integers(len(pids))]), killed))
            timer.start()
            started = time.perf_counter()
            cluster_fit(client, parts, folder / "cluster")
            slowest = max(slowest, time.perf_counter() - started)
            timer.cancel()
            timer.join()
            n_killed += len(killed)
            n_same += digest(folder / "cluster") == expected
            print(f"{n_same} identical, {n_killed} killed", flush=True)
    return [
        f"{arguments.fits} fits of {arguments.data} on {arguments.workers} workers, a worker killed in {n_killed} of "
        f"them: {n_same} complete with identical bytes. {usual:.1f} s without a kill, at most {slowest:.1f} s with one."
    ]


def _kill(pid: int, killed: list[int]) -> None:
    os.kill(pid, signal.SIGKILL)
    killed.append(pid)
