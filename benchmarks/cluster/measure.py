"""Fits that are measured, and saved models that are compared."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import labeltrees as lt
from benchmarks import shared_data
from labeltrees.data import PartsDataset

LOCAL = """
import json, sys, time
from labeltrees._memory import peak_bytes
import labeltrees as lt
parts = lt.open_parts(sys.argv[1])
before = peak_bytes()
started = time.perf_counter()
memory = None if sys.argv[4] == "none" else sys.argv[4]
model = lt.LabelTreeClassifier(n_jobs=int(sys.argv[3])).fit(parts, max_memory=memory)
seconds = time.perf_counter() - started
model.set_params(n_jobs=None).save(sys.argv[2])
print(json.dumps({"seconds": seconds, "before": before,
                  "peak": peak_bytes()}))
"""


def write_dataset(name: str, folder: Path, points_per_part: int, n_points: int | None = None) -> PartsDataset:
    """Write the training points of a dataset, or the first of them, as parts, unless the folder exists."""
    if folder.exists():
        return lt.open_parts(folder)
    train = lt.datasets.load_debian()[0] if name == "debian" else shared_data.load(name)[0]
    rows = slice(n_points)
    lt.write_parts(lt.Dataset(train.X[rows], train.Y[rows], train.label_names), folder, points_per_part)
    return lt.open_parts(folder)


def local_fit(parts: Path, model: Path, n_jobs: int, max_memory: str | None = None) -> dict[str, Any]:
    """Fit in a process of its own, and return seconds and peak memory."""
    command = [sys.executable, "-c", LOCAL, str(parts), str(model), str(n_jobs), max_memory or "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def cluster_fit(client: Any, parts: PartsDataset, model: Path, **options: Any) -> tuple[float, Any]:
    """Fit on a cluster, and return seconds and the summary."""
    from labeltrees.dask import fit

    started = time.perf_counter()
    fitted = fit(client, parts, **options)
    seconds = time.perf_counter() - started
    fitted.save(model)
    return seconds, fitted.cluster_summary_


def digest(folder: Path) -> str:
    """Return a hash of all files of a saved model."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()[:16]


def start_imports(client: Any) -> None:
    """Have every worker import the library, so that the first fit does not pay for it."""
    client.run(_import)


def _import() -> int:
    import labeltrees.dask

    assert labeltrees.dask
    return os.getpid()
