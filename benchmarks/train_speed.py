"""Training, compared with PECOS and omikuji: time, processor time, memory, and the precision reached.

    python -m benchmarks.train_speed [--sets eurlex4k delicious debian-depends] [--part 1.0] [--dense 0] [--repeats 3]

Every contestant builds one tree and trains in it with the same number of threads, in a fresh process; they take turns.
The first table measures everything from matrices to a saved model. The second shows where our time goes, and the memory
estimate. `--part` uses this share of the points; `--dense 256` reduces the features to 256 by SVD and gives everyone
dense matrices, which omikuji cannot read.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import labeltrees as lt
from benchmarks.measures import precisions
from benchmarks.peers.worker import PeerWorker
from benchmarks.shared_data import dense, load, share_of, write_for_contestants
from benchmarks.tables import print_head, slashed
from labeltrees.models.linear.settings import LinearSettings
from labeltrees.models.linear.train import estimate_memory, train_linear

FOLDER = Path(__file__).parent / "contestants"
MIB = 2**20
CONTESTANTS = {
    "ours": ("ours.py", {}, {}),
    "ours, fanout 16": ("ours.py", {"fanout": 16}, {}),
    "PECOS 16-way": ("pecos_xlinear.py", {"nr_splits": 16}, {"beam_size": 10}),
    "PECOS 2-way": ("pecos_xlinear.py", {"nr_splits": 2}, {"beam_size": 10}),
    "omikuji": ("omikuji_models.py", {}, {"beam_size": 10}),
}


def compare(train: lt.Dataset, test: lt.Dataset, options: argparse.Namespace) -> None:
    """Print the table of all contestants."""
    runs: dict[str, list[dict[str, float]]] = {}
    precision: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_for_contestants(train, test, folder)
        for repeat in range(options.repeats):
            for name, (script, settings, answer) in CONTESTANTS.items():
                if any(word in name for word in options.without) or (options.dense > 0 and name == "omikuji"):
                    continue
                python = sys.executable if script == "ours.py" else None
                form = ["dense"] if options.dense > 0 else []
                with PeerWorker(FOLDER / script, folder, folder, *form, python=python) as worker:
                    run = worker.ask(do="train", name=name, settings=settings, seed=repeat, threads=options.jobs)
                    out = folder / "labels.npy"
                    worker.ask(do="batch", name=name, k=5, settings=answer, out=str(out), repeats=1)
                labels = np.load(out)
                runs.setdefault(name, []).append(run)
                precision.setdefault(name, []).append(precisions(test.Y, labels))
    print_head("model | s | processor s | x ours (s / processor) | peak MiB | P@1 / 3 / 5")
    best = {name: [min(run[key] for run in of) for key in ("seconds", "cpu", "peak_mib")] for name, of in runs.items()}
    for name, (seconds, cpu, peak) in best.items():
        ratio = f"{seconds / best['ours'][0]:.1f} / {cpu / best['ours'][1]:.1f}"
        mean = slashed(np.mean(precision[name], axis=0))
        print(f"| {name} | {seconds:.2f} | {cpu:.2f} | {ratio} | {peak:.0f} | {mean} |", flush=True)


def print_steps(train: lt.Dataset, options: argparse.Namespace) -> None:
    """Print the time of our own steps, by fanout and threads."""
    X = train.X.toarray() if options.dense > 0 else train.X
    print()
    print_head("fanout | threads | tree s | training s | processor s | weights | estimated MiB: fixed + working")
    for fanout in (128, 16):
        for threads in sorted({1, options.jobs}):
            start = time.perf_counter()
            tree = lt.build_tree(X, train.Y, fanout=fanout, n_jobs=threads)
            building = time.perf_counter() - start
            estimate = estimate_memory(X, train.Y, tree, LinearSettings(), n_jobs=threads)
            best = cpu = np.inf
            for _ in range(options.repeats):
                start, start_cpu = time.perf_counter(), time.process_time()
                weights = train_linear(X, train.Y, tree, LinearSettings(), n_jobs=threads)
                best = min(best, time.perf_counter() - start)
                cpu = min(cpu, time.process_time() - start_cpu)
            need = f"{estimate.fixed / MIB:.0f} + {estimate.working / MIB:.0f}"
            times = f"{building:.2f} | {best:.2f} | {cpu:.2f}"
            print(f"| {fanout} | {threads} | {times} | {len(weights.values):,} | {need} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "delicious", "debian-depends"])
    parser.add_argument("--part", type=float, default=1.0)
    parser.add_argument("--dense", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--without", nargs="*", default=[], help="leave out names that contain one of these")
    options = parser.parse_args()
    print(f"{options.jobs} threads, best of {options.repeats} repeats with one seed each; mean precision")
    for name in options.sets:
        train, test = load(name)
        if options.part < 1:
            train, test = share_of(train, test, options.part)
        if options.dense > 0:
            train, test = dense(train, test, options.dense)
        share = "" if options.part == 1 else f", {options.part:.0%} of the points"
        form = "" if options.dense == 0 else f", {options.dense} dense features"
        print(
            f"\n## {name}{share}{form}: {train.n_points:,} points, {train.n_features:,} features, "
            f"{train.n_labels:,} labels\n"
        )
        compare(train, test, options)
        print_steps(train, options)


if __name__ == "__main__":
    main()
