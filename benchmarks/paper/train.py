"""Train what is missing: every finished run is appended to the records at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.paper import records
from benchmarks.paper.datasets import load_set, tradeoffs_of, variants_of
from benchmarks.paper.grid import READING, TEST, VALIDATION, Run, runs_of
from benchmarks.paper.measure import measure


def missing_runs(
    path: Path,
    sets: Iterable[str],
    seeds: Iterable[int],
    tradeoffs: list[float] | None = None,
    variants: list[str] | None = None,
) -> list[Run]:
    """Return the runs without a record, one seed of all sets after the other."""
    done = {key_of(record) for record in current(records.read(path))}
    runs = []
    for seed in seeds:
        for name in sets:
            grid = [t for t in tradeoffs_of(name) if tradeoffs is None or any(abs(t - w) < 0.0009 for w in tradeoffs)]
            curves = [v for v in variants_of(name) if variants is None or v in variants]
            runs += runs_of(name, grid, [seed], curves, (TEST, VALIDATION))
    return [run for run in runs if run not in done]


def train_missing(path: Path, runs: list[Run], n_jobs: int, until: float | None = None) -> bool:
    """Train the runs in order; stop before a run that would start after the time `until`. Return whether all are done.

    Progress goes to the standard error, because the standard output is the page of results.
    """
    started = time.time()
    for number, run in enumerate(runs):
        if until is not None and time.time() > until:
            print(f"stopped by the time limit: {len(runs) - number} of {len(runs)} runs are missing", file=sys.stderr)
            return False
        records.append(path, measure(run, *load_set(run.dataset), n_jobs))
        left = (time.time() - started) / (number + 1) * (len(runs) - number - 1)
        print(f"{number + 1} of {len(runs)}, about {left / 60:.0f} min left: {run}", file=sys.stderr, flush=True)
    return True


def current(found: list[records.Record]) -> list[records.Record]:
    """Return the records of today's reading of the paper."""
    return [record for record in found if record["reading"] == READING]


def key_of(record: records.Record) -> Run:
    """Return the run of a record."""
    return Run(*(record[name] for name in Run._fields))
