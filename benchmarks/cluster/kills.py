"""Fit again and again; each time a random worker is killed at a random moment.

With --folder the counts are kept, and a run that was interrupted, or stopped by --seconds, continues.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster.measure import cluster_fit, digest, local_fit, start_imports, write_dataset
from labeltrees.data import PartsDataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", default="debian")
    parser.add_argument("--points", type=int, default=2000, help="how many of the first points to train on")
    parser.add_argument("--points-per-part", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time; needs --folder")


@dataclass
class Counts:
    """What has happened so far."""

    tries: int = 0
    fits: int = 0
    same: int = 0
    clusters: int = 0
    slowest: float = 0.0
    usual: float = 0.0

    @classmethod
    def load(cls, file: Path) -> Counts:
        """Return the counts of an earlier run, or none."""
        return cls(**json.loads(file.read_text())) if file.exists() else cls()

    def save(self, file: Path) -> None:
        """Keep the counts."""
        file.write_text(json.dumps(asdict(self)))


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the counts."""
    _fork_workers()
    from labeltrees.models.linear import pieces
    from labeltrees.tasks.on_dask import connect

    pieces.LEAST_COST = 0  # many small tasks: more moments at which a worker can be lost
    started, file = time.monotonic(), folder / "counts.json"
    parts = write_dataset(arguments.data, folder / "parts", arguments.points_per_part, arguments.points)
    local_fit(parts.folder, folder / "local", 1)
    expected = digest(folder / "local")
    counts = Counts.load(file)

    def goes_on() -> bool:
        return counts.fits < arguments.fits and time.monotonic() - started < arguments.seconds

    while goes_on():
        with connect("local", arguments.workers, "1GiB") as client:
            start_imports(client)
            counts.usual, _ = cluster_fit(client, parts, folder / "cluster")
            counts.clusters += 1
            while goes_on() and _all_are_back(client, arguments.workers):
                rng = np.random.default_rng([arguments.seed, counts.tries])
                counts.tries += 1
                seconds, was_killed = _fit_and_kill(client, parts, folder, counts.usual, rng)
                if not was_killed:  # the fit was over before: it does not count, but says how long a fit takes
                    counts.usual = min(counts.usual, seconds)
                    continue
                counts.fits += 1
                counts.slowest = max(counts.slowest, seconds)
                counts.same += digest(folder / "cluster") == expected
                counts.save(file)
                print(f"{counts.same} of {counts.fits} identical", flush=True)
    return [
        f"{counts.fits} fits of {arguments.points:,} points of {arguments.data} on {arguments.workers} workers, a "
        f"worker killed in each of them: {counts.same} complete with identical bytes. The slowest took "
        f"{counts.slowest:.1f} s; the last fit without a kill took {counts.usual:.1f} s. Clusters used: "
        f"{counts.clusters}."
    ]


def _fork_workers() -> None:
    """Have new workers forked from a process that has imported the library, which makes them start faster."""
    import dask
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context().set_forkserver_preload(["distributed", "labeltrees.dask"])


def _all_are_back(client: Any, n_workers: int) -> bool:
    try:
        client.wait_for_workers(n_workers, timeout=10)
    except TimeoutError:
        return False
    return True


def _fit_and_kill(
    client: Any, parts: PartsDataset, folder: Path, usual: float, rng: np.random.Generator
) -> tuple[float, bool]:
    """Fit while a worker is killed; return the seconds, and whether the moment came before the fit was over."""
    pids = list(client.run(os.getpid, on_error="ignore").values())
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
