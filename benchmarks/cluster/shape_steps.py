"""The steps of one size of a shape: make the parts, fit a model on them, search it. Each prints one record."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.scale.shapes import load_shape
from labeltrees._memory import peak_bytes
from labeltrees.models.linear import fit as fit_module
from labeltrees.tasks import FolderResults, LocalRunner, Task, TaskMemory, TaskRecord


def make(shape: str, scale: str, points_per_part: str, folder: str) -> dict[str, Any]:
    """Write the training points of a shape as parts."""
    train, _ = load_shape(shape, float(scale))
    lt.write_parts(train, folder, int(points_per_part))
    return {"parts": len(lt.open_parts(folder).parts)}


class TimedRunner(LocalRunner):
    """Runs tasks as usual, and notes each in a file that the next run continues.

    Parameters
    ----------
    notes : Path
        One line per finished task: stage, processor seconds, bytes, and the peak memory of the process so far.
    """

    notes: Path

    def stream(self, stage: str, tasks: Iterable[Task]) -> Iterator[TaskRecord]:
        """Run the tasks."""
        for task in tasks:
            started = time.process_time()
            record = task.run(self.results)
            if not record.was_finished:
                note = [stage, time.process_time() - started, record.n_bytes, peak_bytes()]
                with open(self.notes, "a", encoding="utf-8") as file:
                    file.write(json.dumps(note) + "\n")
            yield record

    def read(self) -> list[list[Any]]:
        """Return the notes of all runs."""
        return [json.loads(line) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []


def fit(folder: str, model: str, n_jobs: str, max_memory: str) -> dict[str, Any]:
    """Fit a model part by part, and save it; a fit that was interrupted continues."""
    work = Path(f"{folder}.work")
    work.mkdir(exist_ok=True)
    runner = TimedRunner()
    runner.notes = work / "notes.jsonl"
    n_before = len(runner.read())

    def timed(results: FolderResults, _progress: bool, memory: TaskMemory, n_jobs: int | None) -> TimedRunner:
        runner.results, runner.memory, runner.n_jobs = results, memory, n_jobs
        return runner

    fit_module.LocalRunner = timed  # type: ignore[assignment,misc]
    parts = lt.open_parts(folder)
    started = time.process_time()
    fitted = lt.LabelTreeClassifier(n_jobs=int(n_jobs)).fit(parts, max_memory=max_memory, work_folder=work)
    rest = time.process_time() - started - sum(note[1] for note in runner.read()[n_before:])
    fitted.save(model)
    stages = _by_stage(runner.read())
    return {
        "max_memory": max_memory,
        "n_jobs": int(n_jobs),
        "processor": rest + sum(stage["processor"] for stage in stages.values()),
        "peak": max(peak_bytes(), *(note[3] for note in runner.read())),
        "C": fitted.stats_["C"],
        "stages": stages,
    }


def _by_stage(notes: list[list[Any]]) -> dict[str, dict[str, float]]:
    stages: dict[str, dict[str, float]] = {}
    for stage, seconds, n_bytes, _ in notes:
        noted = stages.setdefault(stage, {"tasks": 0, "processor": 0.0, "longest": 0.0, "bytes": 0})
        noted["tasks"] += 1
        noted["processor"] += seconds
        noted["longest"] = max(noted["longest"], seconds)
        noted["bytes"] += n_bytes
    return stages


def search(folder: str, model: str) -> dict[str, Any]:
    """Time single calls on training points; report the precision there too, as a check that the model works."""
    opened = lt.load(model)
    X, Y = lt.open_parts(folder).parts[0].matrices()
    labels, _, stats = opened.predict_topk(X[:2000], 5, return_stats=True)
    return {
        "us_per_query": float(np.median(stats.microseconds)),
        "p1_on_training_points": lt.metrics.precision_at_k(Y[:2000], labels, 1),
        "model_bytes": sum(file.stat().st_size for file in Path(model).iterdir()),
    }


if __name__ == "__main__":
    print(json.dumps({"make": make, "fit": fit, "search": search}[sys.argv[1]](*sys.argv[2:])))
