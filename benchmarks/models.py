"""Linear models, compared with PECOS, omikuji and napkinXC: precision, time, memory and size.

    python -m benchmarks.models [--sets eurlex4k delicious debian-depends] [--seeds 5] [--repeats 3] [--dense 0]

All contestants get the same matrices and take turns in every step. Training uses `--jobs` threads, prediction one.
Times are the best over repeats and seeds. Precision is the mean over seeds, with a 95% interval of our precision minus
theirs. "x ours" is a time divided by ours.
`--dense 256` reduces the features to 256 by SVD and gives everyone dense matrices, which omikuji and napkinXC cannot
read.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import labeltrees as lt
from benchmarks.measures import precisions
from benchmarks.peers.worker import PeerWorker
from benchmarks.shared_data import dense, load, write_for_contestants
from benchmarks.tables import print_head, slashed

FOLDER = Path(__file__).parent / "contestants"
K = 5
SINGLE_CALLS = 500
BATCHES = 3  # in a row per turn, the best counts: during the first, the caches hold another contestant's model


@dataclass
class Contestant:
    """One way to train and to predict, and its measurements."""

    name: str
    script: str
    train: dict[str, Any]
    answer: dict[str, Any]
    trained_as: str = ""  # the contestant whose model it searches, if it trains none
    precision: list[list[float]] = field(default_factory=list)  # per seed
    training: list[dict[str, float]] = field(default_factory=list)
    batch: float = np.inf
    p50: float = np.inf
    p99: float = np.inf


def contestants() -> list[Contestant]:
    """Return all contestants, ours first."""
    return [
        Contestant("ours", "ours.py", {}, {}),
        Contestant("ours, exact", "ours.py", {}, {"beam": None}, trained_as="ours"),
        Contestant("ours, beam 10", "ours.py", {}, {"beam": 10}, trained_as="ours"),
        Contestant("ours, tradeoff 0", "ours.py", {"tradeoff": 0.0}, {}),
        Contestant("ours, 3 trees", "ours.py", {"n_trees": 3}, {}),
        Contestant("PECOS 16-way, beam 10", "pecos_xlinear.py", {"nr_splits": 16}, {"beam_size": 10}),
        Contestant(
            "PECOS 16-way, beam 5", "pecos_xlinear.py", {}, {"beam_size": 5}, trained_as="PECOS 16-way, beam 10"
        ),
        Contestant("PECOS 64-way, beam 10", "pecos_xlinear.py", {"nr_splits": 64}, {"beam_size": 10}),
        Contestant(
            "PECOS 64-way, beam 5", "pecos_xlinear.py", {}, {"beam_size": 5}, trained_as="PECOS 64-way, beam 10"
        ),
        Contestant("PECOS 2-way, beam 10", "pecos_xlinear.py", {"nr_splits": 2}, {"beam_size": 10}),
        Contestant("omikuji, beam 10", "omikuji_models.py", {}, {"beam_size": 10}),
        Contestant("napkinXC, k-means", "napkinxc_models.py", {"tree_type": "hierarchicalKmeans"}, {}),
        Contestant("napkinXC, Huffman", "napkinxc_models.py", {"tree_type": "huffman"}, {}),
    ]


def compare(name: str, options: argparse.Namespace) -> None:
    train, test = load(name)
    without, form = list(options.without), []
    if options.dense > 0:
        train, test = dense(train, test, options.dense)
        without, form = [*without, "omikuji", "napkinXC"], ["dense"]
    wanted = [c for c in contestants() if not any(word in c.name for word in without)]
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        write_for_contestants(train, test, folder)
        workers: dict[str, PeerWorker] = {}
        for contestant in wanted:
            # One process per trained model, so that its peak memory can be measured.
            if not contestant.trained_as:
                python = sys.executable if contestant.script == "ours.py" else None
                worker = PeerWorker(FOLDER / contestant.script, folder, folder, *form, python=python)
                workers[contestant.name] = stack.enter_context(worker)
        for seed in range(options.seeds):
            for contestant in wanted:
                if not contestant.trained_as:
                    answer = workers[contestant.name].ask(
                        do="train",
                        name=f"{contestant.name}-{seed}",
                        settings=contestant.train,
                        seed=seed,
                        threads=options.jobs,
                    )
                    contestant.training.append(answer)
            for _ in range(options.repeats):
                for contestant in wanted:
                    measure(contestant, workers, folder, test, seed)
    report(name, train, test, wanted)


def measure(contestant: Contestant, workers: dict[str, PeerWorker], folder: Path, test: lt.Dataset, seed: int) -> None:
    model = contestant.trained_as or contestant.name
    shared = {"name": f"{model}-{seed}", "k": K, "settings": contestant.answer}
    out = folder / "labels.npy"
    batch = workers[model].ask(do="batch", out=str(out), repeats=BATCHES, **shared)
    contestant.batch = min(contestant.batch, batch["seconds"] / test.n_points * 1e6)
    single = workers[model].ask(do="single", n=min(SINGLE_CALLS, test.n_points), **shared)
    contestant.p50 = min(contestant.p50, single["p50"])
    contestant.p99 = min(contestant.p99, single["p99"])
    if len(contestant.precision) == seed:
        labels = np.load(out)
        contestant.precision.append(precisions(test.Y, labels))


def report(name: str, train: lt.Dataset, test: lt.Dataset, wanted: list[Contestant]) -> None:
    ours = wanted[0]
    print(f"\n## {name}: {train.n_points:,} points, {train.n_features:,} features, {train.n_labels:,} labels\n")
    print_head("model | P@1 / 3 / 5 | ours minus theirs | batch us | x ours | single p50 / p99 us | x ours")
    for c in wanted:
        precision = slashed(np.mean(c.precision, axis=0))
        print(
            f"| {c.name} | {precision} | {difference(ours, c)} | {c.batch:.1f} | {c.batch / ours.batch:.1f} "
            f"| {c.p50:.1f} / {c.p99:.1f} | {c.p50 / ours.p50:.1f} / {c.p99 / ours.p99:.1f} |"
        )
    print()
    print_head("model | training s | x ours | processor s | peak MiB | saved MB")
    fastest = min(run["seconds"] for run in ours.training)
    for c in wanted:
        if c.training:
            seconds, processor = (min(run[key] for run in c.training) for key in ("seconds", "cpu"))
            peak, size = max(run["peak_mib"] for run in c.training), c.training[0]["bytes"] / 1e6
            print(f"| {c.name} | {seconds:.2f} | {seconds / fastest:.1f} | {processor:.2f} | {peak:.0f} | {size:.1f} |")
    sys.stdout.flush()


def difference(ours: Contestant, other: Contestant) -> str:
    """Return the 95% intervals of the mean difference over seeds, for P@1, P@3 and P@5."""
    if other is ours:
        return ""
    differences = np.array(ours.precision) - np.array(other.precision)
    if len(differences) < 2:
        return slashed(differences[0], "+.2f")
    half = stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences, axis=0)
    return " / ".join(f"{m:+.2f} ± {h:.2f}" for m, h in zip(differences.mean(axis=0), half, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "delicious", "debian-depends"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dense", type=int, default=0)
    parser.add_argument(
        "--without", nargs="*", default=[], help="leave out contestants whose name contains one of these"
    )
    options = parser.parse_args()
    print(f"{options.seeds} seeds, best of {options.repeats} repeats; {options.jobs} threads train, one predicts")
    for name in options.sets:
        compare(name, options)


if __name__ == "__main__":
    main()
