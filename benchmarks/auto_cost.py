"""C="auto" against one C for all nodes: precision and training time; and the precision at several tradeoffs.

    python -m benchmarks.auto_cost [--sets cooking bibtex ...] [--costs 0.1 0.3 1 3] [--tradeoffs] [--seeds 6] [--share]

One seed, one thread; precision is measured on the test points with the beam of the model. `online-retail` is the log
of an online shop, prepared as `benchmarks.paper.datasets` does. `baskets` is synthetic: 11,000 baskets of 10,000
items, of which 60 % are drawn by popularity alone, and half of each basket is to be predicted from the other half.
Seconds are
processor time of `fit`. With --tradeoffs: a table for several tradeoffs instead. With --seeds: the chosen C of several
seeds, from the usual sample of classifiers and from all of them, and the C of the lowest loss (no tolerance). With
--share: the processor time that choosing C adds to a fit, as a share of the rest; the lowest times of several fits.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import labeltrees as lt
from benchmarks.measures import precisions
from benchmarks.shared_data import load
from benchmarks.tables import print_head, slashed
from labeltrees.models.linear import cost as auto_cost
from labeltrees.models.linear import fit as fit_module

SETS = ("cooking", "bibtex", "baskets", "delicious", "online-retail", "eurlex4k", "debian-depends")
TRADEOFFS = (0.0, 0.5, 1.0, 1.5)


def make_baskets(n: int = 13_000, n_items: int = 10_000, n_test: int = 2_000) -> tuple[lt.Dataset, lt.Dataset]:
    """Return noisy baskets: half of each is the features, the other half the labels."""
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(1, n_items + 1) ** 0.9
    popularity /= popularity.sum()
    group = rng.integers(0, 200, n_items)
    members = [np.flatnonzero(group == i) for i in range(200)]
    rows: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(n):
        own, size = rng.integers(0, 200, 3), rng.integers(4, 20)
        at_random = rng.choice(n_items, size, p=popularity)
        in_group = [
            rng.choice(members[i], p=popularity[members[i]] / popularity[members[i]].sum())
            for i in rng.choice(own, size)
        ]
        items = np.unique(np.where(rng.random(size) < 0.6, at_random, in_group))
        rng.shuffle(items)
        half = max(1, len(items) // 2)
        rows[0].append(items[:half])
        rows[1].append(items[half:] if len(items) > 1 else items)
    X, Y = (
        sp.csr_array(
            (np.ones(sum(map(len, part)), np.float32), np.concatenate(part), np.cumsum([0, *map(len, part)])),
            shape=(n, n_items),
        )
        for part in rows
    )
    n_train = n - n_test
    return lt.Dataset(X[:n_train], Y[:n_train]), lt.Dataset(X[n_train:], Y[n_train:])


def load_set(name: str) -> tuple[lt.Dataset, lt.Dataset]:
    """Return the training and test points of a set."""
    if name == "baskets":
        return make_baskets()
    if name == "online-retail":
        from benchmarks.paper.datasets import load_shop

        return load_shop(weighted=False)
    return load(name)


def popularity_precision(train: lt.Dataset, test: lt.Dataset) -> list[float]:
    """Return the precision of recommending the most frequent labels to everybody."""
    best = np.argsort(-np.bincount(train.Y.indices, minlength=train.Y.shape[1]), kind="stable")[:5]
    return precisions(test.Y, np.tile(best, (test.n_points, 1)))


def fit(train: lt.Dataset, test: lt.Dataset, **parameters: Any) -> tuple[list[float], float, lt.LabelTreeClassifier]:
    """Return precision, seconds and the model."""
    start = time.process_time()
    model = lt.LabelTreeClassifier(random_state=0, n_jobs=1, **parameters).fit(train.X, train.Y)
    seconds = time.process_time() - start
    labels, _ = model.predict_topk(test.X, 5)
    return precisions(test.Y, labels), seconds, model


def compare_costs(sets: list[str], costs: list[float]) -> None:
    """Print a row per set and C."""
    print_head("data | C | P@1 / 3 / 5 | fit, s | chosen, by depth")
    for name in sets:
        train, test = load_set(name)
        print(f"| {name} | (most frequent labels) | {slashed(popularity_precision(train, test))} | | |", flush=True)
        for C in (*costs, "auto"):
            found, seconds, model = fit(train, test, C=C)
            chosen = slashed(model.stats_["C"], "g") if C == "auto" else ""
            print(f"| {name} | {C} | {slashed(found)} | {seconds:.2f} | {chosen} |", flush=True)


def compare_tradeoffs(sets: list[str]) -> None:
    """Print a row per set, loss, C and tradeoff."""
    print_head("data | loss | C | tradeoff | P@1 / 3 / 5 | mean depth of labels | chosen, by depth")
    for name in sets:
        train, test = load_set(name)
        for loss, C in (("squared_hinge", 1.0), ("squared_hinge", "auto"), ("logistic", "auto")):
            for tradeoff in TRADEOFFS:
                found, _, model = fit(train, test, C=C, loss=loss, tradeoff=tradeoff)
                chosen = slashed(model.stats_["C"], "g") if C == "auto" else ""
                depth = model.tree_.label_depth.mean()
                print(f"| {name} | {loss} | {C} | {tradeoff} | {slashed(found)} | {depth:.2f} | {chosen} |", flush=True)


def compare_seeds(sets: list[str], n_seeds: int) -> None:
    """Print a row per set, share of the classifiers and seed."""
    print_head("data | classifiers tried | seed | chosen, by depth | lowest loss, by depth")
    usual = auto_cost.SAMPLED
    for name in sets:
        train, _ = load_set(name)
        for share, words in ((usual, "sample"), (1.0, "all")):
            auto_cost.SAMPLED = share
            for seed in range(n_seeds):
                facts = lt.LabelTreeClassifier(random_state=seed, n_jobs=1).fit(train.X, train.Y).stats_
                lowest = [
                    auto_cost.nearest_to_one(np.array(losses), 1.0, facts["C_tried"], tolerance=0.0)
                    for losses in facts["C_losses"]
                ]
                print(
                    f"| {name} | {words} | {seed} | {slashed(facts['C'], 'g')} | {slashed(lowest, 'g')} |", flush=True
                )
        auto_cost.SAMPLED = usual


def compare_times(sets: list[str], n_fits: int = 15) -> None:
    """Print a row per set: the time of a fit without choosing C, the time of choosing, and their ratio."""
    print_head("data | fit without choosing, s | choosing C, s | share")
    for name in sets:
        train, _ = load_set(name)
        times = []
        settle, spent = fit_module.settle_cost, [0.0]

        def timed(*arguments: Any, settle: Any = settle, spent: list[float] = spent, **options: Any) -> Any:
            start = time.process_time()
            settled = settle(*arguments, **options)
            spent[0] = time.process_time() - start
            return settled

        fit_module.settle_cost = timed
        for _ in range(n_fits):
            start = time.process_time()
            lt.LabelTreeClassifier(random_state=0, n_jobs=1).fit(train.X, train.Y)
            times.append((time.process_time() - start - spent[0], spent[0]))
        fit_module.settle_cost = settle
        rest, choosing = np.min(times, axis=0)
        print(f"| {name} | {rest:.3f} | {choosing:.3f} | {choosing / rest:.0%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--costs", nargs="+", type=float, default=[0.03, 0.1, 0.3, 1, 3])
    parser.add_argument("--tradeoffs", action="store_true")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--share", action="store_true")
    options = parser.parse_args()
    if options.share:
        compare_times(options.sets)
    elif options.seeds:
        compare_seeds(options.sets, options.seeds)
    elif options.tradeoffs:
        compare_tradeoffs(options.sets)
    else:
        compare_costs(options.sets, options.costs)


if __name__ == "__main__":
    main()
