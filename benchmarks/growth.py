"""How time and memory grow with the data: the synthetic Amazon-3M shape and the log "git-commits", in shares.

    python -m benchmarks.growth [--runs amazon-3m-shape:1 git-commits:10 ...] [--build NAME] [--max-memory 5GiB]
    python -m benchmarks.growth --table [--build NAME]    # train nothing; print the tables of the records

A run is a set and a share in percent. It trains a model with the default settings on one thread: shapes from parts on
disk, git-commits in memory. Each finished run is one line of benchmarks/results/growth.jsonl, so an interrupted command
continues. Records of another build have another NAME: ``PYTHONPATH=FOLDER python -m benchmarks.growth --build before``.

- Stages are measured in processor seconds and given per million pairs of point and label.
- Batch: processor time per query of one call for all queries. Single: calls for one query each, all different.
- Warm: the model was used before. Cold: its files are not in memory before the first of these queries.
- Peak memory is that of the process that trains, Python and mapped input included.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labeltrees as lt
from benchmarks.measures import best_times, precisions
from benchmarks.paper.datasets import load_git
from benchmarks.paper.records import append, read
from benchmarks.scale.shapes import SHAPES, write_shape
from benchmarks.shared_data import ROOT, share_of
from benchmarks.tables import print_head, slashed

RECORDS = Path(__file__).parent / "results" / "growth.jsonl"
RUNS = [*(f"amazon-3m-shape:{share}" for share in (1, 3, 10, 30, 100)), *(f"git-commits:{n}" for n in (10, 30, 100))]
# The functions of models/linear/fit.py that are timed, and the names of the stages that they belong to.
STAGES = {
    "survey_points": "embeddings",
    "embed_labels": "embeddings",
    "grow_tree": "tree",
    "route_points": "route",
    "settle_cost": "cost",
    "train_tree": "train",
    "pack_tree": "pack",
}
K = 5
QUERIES, SINGLE, COLD = 20_000, 2_000, 500
GOALS = {"train": 1.6, "query": 1.5}  # times the value at a tenth of the data


def load_run(run: str) -> tuple[lt.Dataset, lt.Dataset]:
    """Return the training and test points of a run on git-commits."""
    percent = run.rsplit(":", 1)[1]
    train, test = load_git(by_time=False)
    return (train, test) if float(percent) == 100 else share_of(train, test, float(percent) / 100)


def write_data(run: str, folder: Path) -> dict[str, Any]:
    """Write the points of a run, and return their numbers."""
    name, percent = run.rsplit(":", 1)
    train: Any
    if name in SHAPES:
        test = write_shape(name, folder / "train", float(percent) / 100)
        train = lt.open_parts(folder / "train")
        n_pairs = sum(part.n_pairs for part in train.manifest.parts)
    else:
        train, test = load_run(run)
        n_pairs = int(train.Y.nnz)
        for part, matrix in (("X", train.X), ("Y", train.Y)):
            sparse.save_npz(folder / f"train_{part}.npz", matrix, compressed=False)
    some = np.sort(np.random.default_rng(0).permutation(test.n_points)[:QUERIES])
    for part, matrix in (("X", test.X[some]), ("Y", test.Y[some])):
        sparse.save_npz(folder / f"test_{part}.npz", matrix, compressed=False)
    return {"points": train.n_points, "features": train.n_features, "labels": train.n_labels, "pairs": n_pairs}


def train_model(folder: Path, max_memory: str) -> dict[str, Any]:
    """Train a model on one thread and save it; return the processor seconds of each stage, and peak memory."""
    from labeltrees.models.linear import fit

    took = dict.fromkeys(STAGES.values(), 0.0)
    for name, stage in STAGES.items():
        setattr(fit, name, _timed(getattr(fit, name), stage, took))
    model = lt.LabelTreeClassifier(n_jobs=1)
    start, processor = time.perf_counter(), time.process_time()
    if (folder / "train").exists():
        model.fit(lt.open_parts(folder / "train"), max_memory=max_memory, work_folder=folder / "work")
    else:
        model.fit(*(sparse.load_npz(folder / f"train_{part}.npz") for part in "XY"))
    processor, seconds = time.process_time() - processor, time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    model.save(folder / "model")
    stages = {**took, "other": processor - sum(took.values()), "all": processor}
    return {
        "stages": {stage: round(own, 2) for stage, own in stages.items()},
        "seconds": round(seconds, 1),
        "peak_gib": round(peak, 2),
        "weights": int(model.stats_["n_weights"]),
        "mib": round(model.stats_["bytes"] / 2**20, 1),
        "C": model.stats_["C"],
        "root": int(np.diff(model.tree_.child_ptr)[0]),
    }


def _timed(function: Callable[..., Any], stage: str, took: dict[str, float]) -> Callable[..., Any]:
    """Return a function that adds its processor time to a stage."""

    def run(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            took[stage] += time.process_time() - start

    return run


def search_model(folder: Path) -> dict[str, Any]:
    """Return microseconds per query, cold and warm, and precision."""
    X, Y = (sparse.csr_array(sparse.load_npz(folder / f"test_{part}.npz")) for part in "XY")
    X.indices = X.indices.astype(np.int32)
    rows = [(X.indices[a:b], X.data[a:b]) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    for path in folder.glob("model/**/*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    model = lt.load(folder / "model")
    model.n_jobs = 1
    cold = _single_calls(model.predictor(K), rows[-COLD:])
    labels, _ = model.predict_topk(X, K)
    batch = best_times([lambda: model.predict_topk(X, K)], 3)[0].processor / X.shape[0] * 1e6
    warm = _single_calls(model.predictor(K), rows[:SINGLE])
    return {
        "batch": round(batch, 2),
        "single": [round(float(np.quantile(warm, q)), 1) for q in (0.5, 0.99)],
        "cold": [round(float(np.quantile(cold, q)), 1) for q in (0.5, 0.99)],
        "precision": [round(value, 3) for value in precisions(Y, labels)],
    }


def _single_calls(predictor: Callable[..., Any], rows: list[Any]) -> list[float]:
    took = []
    for row in rows:
        start = time.perf_counter()
        predictor(*row)
        took.append((time.perf_counter() - start) * 1e6)
    return took


def measure(run: str, build: str, max_memory: str) -> dict[str, Any]:
    """Make the data, train and search, each in a process of its own; return the record."""
    scratch = ROOT / "build"
    scratch.mkdir(exist_ok=True)
    record: dict[str, Any] = {"run": run, "build": build, "date": time.strftime("%Y-%m-%d")}
    with tempfile.TemporaryDirectory(prefix="growth-", dir=scratch) as temporary:
        folder = Path(temporary)
        for function, arguments in ((write_data, (run, folder)), (train_model, (folder, max_memory))):
            record |= _in_process(function, *arguments)
        return record | _in_process(search_model, folder)


def _in_process(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def per_million(record: dict[str, Any], stage: str) -> float:
    """Return the processor seconds of a stage per million pairs of point and label."""
    return float(record["stages"][stage] / record["pairs"] * 1e6)


def print_tables(records: list[dict[str, Any]]) -> None:
    """Print training and search of each run, and the ratios to the goals."""
    stages = [*dict.fromkeys(STAGES.values()), "other", "all"]
    print("Processor seconds per million pairs of point and label:\n")
    print_head(f"run | points | labels | pairs | {' | '.join(stages)} | all, s | peak GiB")
    for own in records:
        counts = " | ".join(f"{own[name]:,}" for name in ("points", "labels", "pairs"))
        columns = " | ".join(f"{per_million(own, stage):.2f}" for stage in stages)
        print(f"| {_title(own)} | {counts} | {columns} | {own['stages']['all']:.0f} | {own['peak_gib']:.1f} |")
    print("\nMicroseconds per query:\n")
    print_head("run | model MiB | batch | single p50 / p99, warm | single p50 / p99, cold | P@1 / 3 / 5")
    for own in records:
        print(
            f"| {_title(own)} | {own['mib']:,.0f} | {own['batch']:.1f} | {slashed(own['single'], '.1f')} | "
            f"{slashed(own['cold'], '.0f')} | {slashed(own['precision'])} |"
        )
    print(
        f"\nGrowth from 10 % of the data (goals at 100 %: training {GOALS['train']}, query {GOALS['query']} times):\n"
    )
    print_head("run | training per pair | batch | single p50")
    base = {_set(own): own for own in records if own["run"].endswith(":10")}
    for own in records:
        small = base.get(_set(own))
        if small is not None and float(own["run"].rsplit(":", 1)[1]) > 10:
            ratios = [per_million(own, "all") / per_million(small, "all"), own["batch"] / small["batch"]]
            ratios.append(own["single"][0] / small["single"][0])
            print(f"| {_title(own)} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |")


def _set(record: dict[str, Any]) -> tuple[str, str]:
    return record["build"], record["run"].rsplit(":", 1)[0]


def _title(record: dict[str, Any]) -> str:
    name, percent = record["run"].rsplit(":", 1)
    return f"{name} at {percent} %" + (f", {record['build']}" if record["build"] else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", nargs="+", default=RUNS, metavar="SET:PERCENT", help=", ".join(RUNS))
    parser.add_argument("--build", default="", metavar="NAME", help="name of the build, if not the current one")
    parser.add_argument("--max-memory", default="5GiB", help="for training from parts (default: %(default)s)")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--table", action="store_true", help="train nothing")
    options = parser.parse_args()
    if not options.table:
        done = {(record["run"], record["build"]) for record in read(options.records)}
        for run in options.runs:
            if (run, options.build) not in done:
                append(options.records, measure(run, options.build, options.max_memory))
    print_tables([own for own in read(options.records) if own["build"] == options.build])


if __name__ == "__main__":
    main()
