"""What the fanout buys: precision, training and search time of the classifier over fanouts, on the shared real data.

    python -m benchmarks.fanout [--sets eurlex4k delicious debian-depends] [--fanouts 16 64 128 256] [--seeds 3]

Processor time; precision is the mean over seeds, times are the best.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import labeltrees as lt
from benchmarks.shared_data import load


def measure(train: lt.Dataset, test: lt.Dataset, fanout: int, seeds: int, n_jobs: int) -> str:
    """Return the row of one fanout."""
    precision, training, answering = [], [], []
    for seed in range(seeds):
        start = time.process_time()
        model = lt.LabelTreeClassifier(fanout=fanout, random_state=seed, n_jobs=n_jobs).fit(train.X, train.Y)
        training.append(time.process_time() - start)
        for _ in range(3):
            start = time.process_time()
            labels, _ = model.predict_topk(test.X, 5, n_jobs=1)
            answering.append((time.process_time() - start) / test.n_points * 1e6)
        precision.append([100 * lt.metrics.precision_at_k(test.Y, labels, k) for k in (1, 3, 5)])
    mean = " / ".join(f"{value:.2f}" for value in np.mean(precision, axis=0))
    return f"{fanout} | {mean} | {min(training):.2f} | {min(answering):.1f} | {model.stats_['bytes'] / 1e6:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "delicious", "debian-depends"])
    parser.add_argument("--fanouts", type=int, nargs="+", default=[16, 64, 128, 256])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--points", type=int, help="take only so many test points")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print("| data | fanout | P@1 / 3 / 5 | training s | us a query | MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in options.sets:
        train, test = load(name)
        test = test[: options.points]
        for fanout in options.fanouts:
            print(f"| {name} | {measure(train, test, fanout, options.seeds, options.jobs)} |", flush=True)


if __name__ == "__main__":
    main()
