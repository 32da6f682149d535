"""C="auto" with other tolerances and samples, on held-out training points.

    python -m benchmarks.cost_tolerance [--sets bibtex cooking ...] [--folds 4]

A fold holds out a random fifth of the training points and has a tree of its own. "Sample" tries the usual sample of
classifiers, "all" tries all. Prints the differences to the usual setting, in percentage points, with their standard
errors over the folds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import labeltrees as lt
from benchmarks.auto_cost import load_set
from benchmarks.measures import precisions
from benchmarks.tables import print_head
from labeltrees.models.linear import auto_cost

TOLERANCES = (auto_cost.TOLERANCE, 0.005, 0.0)
SHARE = 0.2


def folds(name: str, n_folds: int) -> Iterator[tuple[lt.Dataset, lt.Dataset]]:
    """Yield pairs of training and validation points."""
    train, _ = load_set(name)
    for fold in range(n_folds):
        order = np.random.default_rng(100 + fold).permutation(train.n_points)
        n_held = int(SHARE * train.n_points)
        held = train[np.sort(order[:n_held])]
        yield train[np.sort(order[n_held:])], held[np.flatnonzero(np.diff(held.Y.indptr) > 0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["bibtex", "cooking", "delicious", "baskets", "eurlex4k"])
    parser.add_argument("--folds", type=int, default=4)
    options = parser.parse_args()
    usual = auto_cost.SAMPLED
    variants = [(words, share, limit) for words, share in (("sample", usual), ("all", 1.0)) for limit in TOLERANCES]
    print_head("data | classifiers tried | tolerance | P@1 | P@3 | P@5 | nDCG@5 | chosen in the first fold")
    for name in options.sets:
        found: list[list[list[float]]] = [[] for _ in variants]
        chosen: list[list[float]] = [[] for _ in variants]
        for fold, (train, held) in enumerate(folds(name, options.folds)):
            for place, (_, share, limit) in enumerate(variants):
                auto_cost.SAMPLED = share
                auto_cost.nearest_to_one.__kwdefaults__["tolerance"] = limit
                model = lt.LabelTreeClassifier(random_state=fold, n_jobs=1).fit(train.X, train.Y)
                labels, _ = model.predict_topk(held.X, 5)
                found[place].append([*precisions(held.Y, labels), 100 * lt.metrics.ndcg_at_k(held.Y, labels, 5)])
                chosen[place] = chosen[place] or model.stats_["C"]
        for place, (words, _, limit) in enumerate(variants):
            gaps = np.array(found[place]) - np.array(found[0])
            errors = gaps.std(axis=0, ddof=1) / np.sqrt(options.folds)
            cells = [f"{gap:+.2f} ± {error:.2f}" for gap, error in zip(gaps.mean(axis=0), errors, strict=True)]
            costs = " / ".join(f"{cost:g}" for cost in chosen[place])
            print(f"| {name} | {words} | {limit:g} | {' | '.join(cells)} | {costs} |", flush=True)


if __name__ == "__main__":
    main()
