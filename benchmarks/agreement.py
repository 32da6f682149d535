"""Stopping early with a promise: whether it is kept on new points, and what it saves.

    python -m benchmarks.agreement [--sets eurlex4k ...] [--text-sets cooking ...] [--k 1 5 10] [--repeats 7]

Models of the defaults (the text model with few epochs, which is enough to search it). Test points are shuffled; half of
them, 10,000 at the most, calibrate, the others verify. A share of unchanged lists is below its promise where so few
would come up in less than 5 % of the samples from lists that just keep it (one-sided binomial). Nodes opened (an
oracle's are the ancestors of the labels returned), and times of a batch on one thread (processor time) and of single
calls (median), in turns, best of repeats, all relative to exact search. With `--models FOLDER` linear models saved in
FOLDER/<set> are taken instead of trained.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import labeltrees as lt
from benchmarks.shared_data import load
from benchmarks.text_data import load_texts
from labeltrees.models.common.early_stop_tables import visits_of
from labeltrees.profiling.call_times import single_call_microseconds

AGREEMENTS = (0.9, 0.99, 0.999)


@dataclass
class Case:
    """A model, points to calibrate on and points to verify on, and how right lists for the latter are."""

    name: str
    model: Any
    calibrating: Any
    new: Any
    precision: Callable[[Any, int], float]

    def settings(self) -> dict[str, dict[str, Any]]:
        """Return the arguments of every search, exact search first."""
        exact: dict[str, Any] = {"agreement": 1.0}
        return {"exact": exact, **{f"{share:g}": {"agreement": share} for share in AGREEMENTS}}


def halves(n: int, most: int) -> tuple[Any, Any]:
    """Return the rows to calibrate on and those to verify on."""
    rows = np.random.default_rng(0).permutation(n)[:most]
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]


def linear_case(name: str, options: argparse.Namespace) -> Case:
    train, test = load(name)
    if options.models:
        model = lt.load(Path(options.models) / name, in_memory=True)
    else:
        model = lt.LabelTreeClassifier(n_jobs=options.jobs).fit(train.X, train.Y)
    model.n_jobs = 1
    first, second = halves(test.n_points, options.points)
    truth = test.Y[second]
    return Case(
        name,
        model,
        test.X[first],
        test.X[second],
        lambda labels, k: 100 * lt.metrics.precision_at_k(truth, labels, k),
    )


def text_case(name: str, options: argparse.Namespace) -> Case:
    data = load_texts(name)
    model = lt.TextLabelTreeClassifier(epochs=options.epochs, n_jobs=options.jobs).fit_file(data.train)
    model.n_jobs = 1
    texts = np.array(data.texts.read_text(encoding="utf-8").splitlines(), dtype=object)
    first, second = halves(len(texts), options.points)

    def precision(labels: Any, k: int) -> float:
        hits = [len(data.labels[row].intersection(own[:k])) for row, own in zip(second, labels.tolist(), strict=True)]
        return 100 * float(np.mean(hits)) / k

    return Case(f"{name}, text model, {options.epochs} epochs", model, texts[first], texts[second], precision)


def oracle_share(case: Case, k: int) -> float:
    """Return the nodes that lead to the labels returned, relative to those that exact search opens."""
    searches = case.model.searches()
    queries = case.model.check_queries(case.new)
    n_nodes = n_needed = 0
    for number, tree in enumerate(searches.trees):
        labels, scores = searches.tree_lists(queries, number, k)
        trace = searches.trace(queries, number, k)
        visits = visits_of(tree, trace, labels, scores, k, lambda at, limit: at - limit)
        roots = int((trace.nodes == 0).sum())
        n_nodes += len(visits.needed) + roots
        n_needed += int(visits.needed.sum()) + roots
    return n_needed / n_nodes


def times(case: Case, k: int, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the microseconds a point in a batch, and the median of single calls, of every setting."""
    settings = case.settings()
    batch, single = dict.fromkeys(settings, np.inf), dict.fromkeys(settings, np.inf)
    predictors = {name: case.model.predictor(k, **how) for name, how in settings.items()}
    queries = case.model.check_queries(case.new)
    for _ in range(repeats):
        for name, how in settings.items():
            started = time.process_time()
            case.model.predict_topk(queries, k, **how)
            batch[name] = min(batch[name], (time.process_time() - started) / case.new.shape[0] * 1e6)
        for name, predictor in predictors.items():
            calls = single_call_microseconds(predictor, case.new, max_points=1000)
            single[name] = min(single[name], float(np.median(calls)))
    return batch, single


def measure(case: Case, options: argparse.Namespace) -> None:
    """Print the table of one model."""
    started = time.perf_counter()
    case.model.calibrate(case.calibrating, k=options.k)
    seconds = time.perf_counter() - started
    n = case.new.shape[0]
    learnt = case.model.early_stop_
    print(
        f"\n## {case.name}\n\n{len(case.model.classes_):,} labels; calibrated in {seconds:.1f} s on one thread with "
        f"{case.calibrating.shape[0]:,} points ({learnt.n_checked:,} of them checked), verified on {n:,}.\n"
    )
    print("| k | agreement | lists unchanged (%) | below? | nodes | oracle's | batch us | single call us | P@1 / P@5 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for k in options.k:
        batch, single = times(case, k, options.repeats)
        lists = {}
        for name, how in case.settings().items():
            labels, _, stats = case.model.predict_topk(case.new, k, return_stats=True, **how)
            lists[name] = labels, stats.chunks.mean()
        exact, nodes = lists["exact"]
        for name, (labels, opened) in lists.items():
            same = int((labels == exact).all(axis=1).sum())
            is_exact = name == "exact"
            below = "" if is_exact else "yes" if binom.cdf(same, n, float(name)) < 0.05 else "no"
            precision = " / ".join(f"{case.precision(labels, at):.2f}" for at in (1, 5) if at <= k)
            work = f"{nodes:.1f}" if is_exact else f"{opened / nodes:.2f}"
            oracle = f"{oracle_share(case, k):.2f}" if is_exact else ""
            in_batch, in_calls = (
                f"{of[name]:.1f}" if is_exact else f"{of[name] / of['exact']:.2f}" for of in (batch, single)
            )
            print(
                f"| {k} | {name} | {100 * same / n:.2f} | {below} | {work} | {oracle} | {in_batch} | {in_calls} "
                f"| {precision} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=["eurlex4k", "debian-depends", "delicious", "arxiv-authors"])
    parser.add_argument("--text-sets", nargs="*", default=["cooking", "debian-depends"])
    parser.add_argument("--k", nargs="+", type=int, default=[1, 5, 10])
    parser.add_argument("--points", type=int, default=20_000, help="test points taken at the most")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=2, help="threads that train")
    parser.add_argument("--models", help="folder of saved linear models, by the name of their set")
    options = parser.parse_args()
    print("The row of exact search has nodes and microseconds a point; the others are relative to it.")
    for name in options.sets:
        measure(linear_case(name, options), options)
    for name in options.text_sets:
        measure(text_case(name, options), options)


if __name__ == "__main__":
    main()
