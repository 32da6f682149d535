"""Precision, training time and search time of the linear model for several fanouts.

    python -m benchmarks.fanout [--sets eurlex4k delicious debian-depends] [--fanouts 16 64 128 256] [--seeds 3]

Times are processor time, the best over seeds; precision is the mean over seeds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import labeltrees as lt
from benchmarks.measures import precisions
from benchmarks.shared_data import load
from benchmarks.tables import print_head, slashed


def measure(train: lt.Dataset, test: lt.Dataset, fanout: int, seeds: int, n_jobs: int) -> str:
    """Return the row of one fanout."""
    precision, training, searching = [], [], []
    for seed in range(seeds):
        start = time.process_time()
        model = lt.LabelTreeClassifier(fanout=fanout, random_state=seed, n_jobs=n_jobs).fit(train.X, train.Y)
        training.append(time.process_time() - start)
        for _ in range(3):
            start = time.process_time()
            labels, _ = model.predict_topk(test.X, 5, n_jobs=1)
            searching.append((time.process_time() - start) / test.n_points * 1e6)
        precision.append(precisions(test.Y, labels))
    mean = slashed(np.mean(precision, axis=0))
    return f"{fanout} | {mean} | {min(training):.2f} | {min(searching):.1f} | {model.stats_['bytes'] / 1e6:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "delicious", "debian-depends"])
    parser.add_argument("--fanouts", type=int, nargs="+", default=[16, 64, 128, 256])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--points", type=int, help="maximum number of test points")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print_head("data | fanout | P@1 / 3 / 5 | training s | us per query | MB")
    for name in options.sets:
        train, test = load(name)
        test = test[: options.points]
        for fanout in options.fanouts:
            print(f"| {name} | {measure(train, test, fanout, options.seeds, options.jobs)} |", flush=True)


if __name__ == "__main__":
    main()
