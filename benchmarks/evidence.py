"""Evidence: precision, time per query, bytes and training time of each kind, compared with the tree alone.

    python -m benchmarks.evidence [--sets bibtex cooking eurlex4k] [--repeats 20]

Times per query are processor times of a batch on one thread; the models take turns, and the best of the repeats counts.
"x" is a time divided by that of the tree alone.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import labeltrees as lt
from benchmarks.measures import precisions
from benchmarks.shared_data import load
from benchmarks.tables import print_head, slashed

KINDS = (None, "neighbours", "centroids", "both", "auto")
K = 5


def compare(name: str, repeats: int, n_jobs: int) -> None:
    """Print the table of one dataset."""
    train, test = load(name)
    X, Y = test.X, test.Y
    models = [lt.LabelTreeClassifier(evidence=kind, n_jobs=n_jobs).fit(train.X, train.Y) for kind in KINDS]
    best = np.full(len(models), np.inf)
    for _ in range(repeats):
        for place, model in enumerate(models):
            started = time.process_time()
            model.predict_topk(X, K, n_jobs=1)
            best[place] = min(best[place], (time.process_time() - started) / X.shape[0] * 1e6)
    print(f"\n## {name}\n")
    print_head("evidence | P@1 / 3 / 5 | us per query | x | weights | MB | training s | x")
    for kind, model, us in zip(KINDS, models, best, strict=True):
        labels, _ = model.predict_topk(X, K)
        learned = model.stats_.get("evidence", {"neighbour_weight": 0, "centroid_weight": 0, "bytes": 0})
        seconds, plain = model.stats_["seconds"], models[0].stats_["seconds"]
        print(
            f"| {kind or 'none'} | {slashed(precisions(Y, labels))} | {us:.2f} | {us / best[0]:.2f} "
            f"| {learned['neighbour_weight']:g}, {learned['centroid_weight']:g} | {learned['bytes'] / 1e6:.2f} "
            f"| {seconds:.2f} | {seconds / plain:.2f} |",
            flush=True,
        )


def main() -> None:
    """Compare on every dataset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["bibtex", "cooking", "eurlex4k"])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for name in options.sets:
        compare(name, options.repeats, options.jobs)


if __name__ == "__main__":
    main()
