"""The online shop: our model with other settings, one at a time, and PECOS, on held-out weeks of the training period.

    python -m benchmarks.online_shop_settings [--only "3 trees"] [--seeds 3] [--jobs 1]

The three windows are the last 21 days before 2011-11-15 and the two times 21 days before these. Every model is trained
on the invoices before its window. Prints the mean of P@1, P@3 and P@5 over windows and seeds, and the standard
deviation of P@1 between seeds within a window. The test period of benchmarks/online_shop.py is not used.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import labeltrees as lt
from benchmarks.online_shop import KS, METHODS, VALIDATION_DAYS, Contest, prepared
from benchmarks.tables import print_head, slashed

N_WINDOWS = 3
PECOS = {"PECOS, C 0.1": 0.1, "PECOS, C 0.3": 0.3}
LEAVES_OF_100 = {"fanout": 64, "leaf_size": 100, "C": 0.3}  # like PECOS
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "C 0.1": {"C": 0.1},
    "C 0.3": {"C": 0.3},
    "logistic": {"loss": "logistic"},
    "score power 2": {"score_power": 2},
    "score power 5": {"score_power": 5},
    "exact search": {"beam": None},
    "no weights dropped": {"prune_below": 0.0},
    "tradeoff 0": {"tradeoff": 0.0},
    "negatives of the matcher": {"negatives": "matcher"},
    "fanout 64, leaves of 100, C 0.3": LEAVES_OF_100,
    "the same, tradeoff 0, beam 20": {**LEAVES_OF_100, "tradeoff": 0.0, "beam": 20},
    "evidence": {"evidence": "both"},
    "3 trees": {"n_trees": 3},
    "3 trees, evidence": {"n_trees": 3, "evidence": "both"},
    "points by age, 30 days": {"half_life": 30},
    "points by age, 90 days": {"half_life": 90},
    "points by age, 180 days": {"half_life": 180},
    "trend of 7 days": {"trend": 7.0},
    "trend of 14 days": {"trend": 14.0},
    "trend of 30 days": {"trend": 30.0},
    "trend of 14 days, logistic": {"trend": 14.0, "loss": "logistic"},
    "trend of 14 days, 3 trees": {"trend": 14.0, "n_trees": 3},
}
Pair = tuple[lt.Dataset, lt.Dataset]


def windows() -> list[Pair]:
    """Return the training and validation points of each window, the last window first."""
    train, _ = prepared("time")
    assert train.times is not None
    days = np.timedelta64(VALIDATION_DAYS, "D")
    pairs = []
    for number in range(N_WINDOWS):
        end = train.times.max() - number * days
        is_in = (train.times >= end - days) & (train.times <= end)
        pairs.append((train[train.times < end - days], train[is_in]))
    return pairs


def ours(pair: Pair, settings: dict[str, Any], seeds: range, jobs: int) -> list[NDArray[np.int64]]:
    """Return the lists of our model for each seed; half_life: training points count less with age, in days."""
    early, late = pair
    assert early.times is not None
    settings, weights = dict(settings), None
    if half_life := settings.pop("half_life", None):
        weights = 0.5 ** ((early.times.max() - early.times) / np.timedelta64(half_life, "D"))
        weights /= weights.mean()
    models = [lt.LabelTreeClassifier(n_jobs=jobs, random_state=seed, **settings) for seed in seeds]
    return [
        model.fit(early.X, early.Y, weights, times=early.times).predict_topk(late.X, max(KS))[0] for model in models
    ]


def pecos(pair: Pair, cost: float, seeds: range, jobs: int) -> list[NDArray[np.int64]]:
    """Return the lists of PECOS for each seed, with the width of its tree that benchmarks/online_shop.py chose."""
    method, settings = METHODS[0], {"C": cost, "nr_splits": 64, "loss": "hinge"}
    with tempfile.TemporaryDirectory() as folder:
        contest = Contest(*pair, Path(folder), jobs)
        with contest.worker(method) as worker:
            return [contest.answer(worker, method, settings, seed) for seed in seeds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="variants whose name contains this")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    pairs, seeds = windows(), range(options.seeds)
    print_head("variant | P@1 / 3 / 5 | P@1 between seeds")
    for name in [name for name in (*VARIANTS, *PECOS) if options.only in name]:
        found = []  # by window and seed: P@1, P@3, P@5 in percent
        for pair in pairs:
            if name in PECOS:
                answers = pecos(pair, PECOS[name], seeds, options.jobs)
            else:
                answers = ours(pair, VARIANTS[name], seeds, options.jobs)
            precision = lt.metrics.precision_at_k
            found.append([[100 * precision(pair[1].Y, labels, k) for k in KS] for labels in answers])
        values = np.array(found)
        spread = np.sqrt(values[:, :, 0].var(axis=1, ddof=min(1, options.seeds - 1)).mean())
        print(f"| {name} | {slashed(values.mean(axis=(0, 1)))} | {spread:.2f} |", flush=True)


if __name__ == "__main__":
    main()
