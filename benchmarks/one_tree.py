"""How close one tree comes to one-vs-all: precision, training time and search time of variants of the linear model.

    python -m benchmarks.one_tree [--sets eurlex4k] [--variants default "fanout 512"] [--seeds 3]

Precision is the mean over seeds; one-vs-all does not depend on them. Times are processor time on one thread, the best
over seeds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.auto_cost import load_set
from benchmarks.measures import precisions
from benchmarks.tables import print_head, slashed

VARIANTS: dict[str, dict[str, Any]] = {
    "one-vs-all": {"tree": "flat"},
    "default": {},
    "fanout 128": {"fanout": 128},
    "fanout 512": {"fanout": 512},
    "negatives of the matcher": {"negatives": "matcher"},
    "fanout 128, negatives of the matcher": {"fanout": 128, "negatives": "matcher"},
    "score power 2": {"score_power": 2},
    "score power 4": {"score_power": 4},
    "tradeoff 0": {"tradeoff": 0.0},
    "evidence": {"evidence": "both"},
    "three trees": {"n_trees": 3},
}


def measure(train: lt.Dataset, test: lt.Dataset, parameters: dict[str, Any], seeds: int) -> str:
    """Return the row of one variant."""
    precision, training, searching = [], [], []
    for seed in range(1 if "tree" in parameters else seeds):
        start = time.process_time()
        model = lt.LabelTreeClassifier(random_state=seed, n_jobs=1, **parameters).fit(train.X, train.Y)
        training.append(time.process_time() - start)
        for _ in range(3):
            start = time.process_time()
            labels, _ = model.predict_topk(test.X, 5, n_jobs=1)
            searching.append((time.process_time() - start) / test.n_points * 1e6)
        precision.append(precisions(test.Y, labels))
    return f"{slashed(np.mean(precision, axis=0))} | {min(training):.2f} | {min(searching):.1f}"


def main() -> None:
    """Print a row per set and variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k"])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print_head("data | variant | P@1 / 3 / 5 | training s | us per query")
    for name in options.sets:
        train, test = load_set(name)
        for variant in options.variants:
            print(f"| {name} | {variant} | {measure(train, test, VARIANTS[variant], options.seeds)} |", flush=True)


if __name__ == "__main__":
    main()
