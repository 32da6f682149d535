"""Searches that stop early (`agreement`): whether they keep their promise on new points, and how much they save.

    python -m benchmarks.agreement [--sets eurlex4k ...] [--text-sets cooking ...] [--k 1 5 10] [--repeats 7]

Linear models have default settings; text models are trained for a few epochs, which is enough to search them. Test
points are shuffled. Half of them (at most 10,000) calibrate the model, the others verify it.

- below?: whether the share of unchanged lists is significantly below the promise (one-sided binomial test, 5 %).
- nodes: nodes opened. oracle: the share of them that are ancestors of the labels returned, so that no search for these
  labels can do without them.
- batch us: processor time on one thread. single call us: median. Settings take turns; the best of the repeats counts.

With `--models FOLDER`, linear models are loaded from FOLDER/<set> instead of trained.
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
from benchmarks.measures import median_call
from benchmarks.shared_data import load
from benchmarks.stored_models import row_arguments
from benchmarks.tables import print_head
from benchmarks.text_data import load_texts

AGREEMENTS = (0.9, 0.99, 0.999)
CALLS = 1000


@dataclass
class Case:
    """A model, points to calibrate it, other points to verify it, and their precision at k."""

    name: str
    model: Any
    calibrating: Any
    new: Any
    precision: Callable[[Any, int], float]

    def settings(self) -> dict[str, dict[str, Any]]:
        """Return the arguments of `predict_topk` for each search, exact search first."""
        exact: dict[str, Any] = {"agreement": 1.0}
        return {"exact": exact, **{f"{share:g}": {"agreement": share} for share in AGREEMENTS}}


def halves(n: int, n_max: int) -> tuple[Any, Any]:
    """Return the rows for calibration and the rows for verification."""
    rows = np.random.default_rng(0).permutation(n)[:n_max]
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
    """Return the share of the nodes opened by exact search that are ancestors of the labels returned."""
    profile = lt.profile(case.model, case.new, k, agreement=1.0, rows=np.arange(case.new.shape[0]), repeats=1)
    summary = profile.summary()
    return float(summary["oracle"]["mean"] / summary["nodes"]["mean"])


def single_queries(points: Any) -> list[Any]:
    """Return the arguments of a predictor's calls for points: texts, or features and values."""
    return [(text,) for text in points] if points.dtype == object else row_arguments(points)


def times(case: Case, k: int, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return microseconds per point in a batch, and the median of single calls, for each setting."""
    settings = case.settings()
    batch, single = dict.fromkeys(settings, np.inf), dict.fromkeys(settings, np.inf)
    predictors = {name: case.model.predictor(k, **arguments) for name, arguments in settings.items()}
    queries = single_queries(case.new[:CALLS])
    for _ in range(repeats):
        for name, arguments in settings.items():
            started = time.process_time()
            case.model.predict_topk(case.new, k, **arguments)
            batch[name] = min(batch[name], (time.process_time() - started) / case.new.shape[0] * 1e6)
        for name, predictor in predictors.items():
            single[name] = min(single[name], median_call(predictor, queries))
    return batch, single


def measure(case: Case, options: argparse.Namespace) -> None:
    """Print the table of one model."""
    started = time.perf_counter()
    case.model.calibrate(case.calibrating, k=options.k)
    seconds = time.perf_counter() - started
    n = case.new.shape[0]
    print(
        f"\n## {case.name}\n\n{len(case.model.classes_):,} labels; calibrated in {seconds:.1f} s on one thread with "
        f"{case.calibrating.shape[0]:,} points ({case.model.early_stop_.n_checked:,} of them for validation), "
        f"verified on {n:,}.\n"
    )
    print_head("k | agreement | lists unchanged (%) | below? | nodes | oracle | batch us | single call us | P@1 / P@5")
    for k in options.k:
        batch, single = times(case, k, options.repeats)
        lists = {}
        for name, arguments in case.settings().items():
            labels, _, stats = case.model.predict_topk(case.new, k, return_stats=True, **arguments)
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
    parser.add_argument("--points", type=int, default=20_000, help="maximum number of test points")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=2, help="threads for training")
    parser.add_argument("--models", help="folder of saved linear models, one subfolder per set")
    options = parser.parse_args()
    print("The row of exact search shows nodes and microseconds per point; the other rows are relative to it.")
    for name in options.sets:
        measure(linear_case(name, options), options)
    for name in options.text_sets:
        measure(text_case(name, options), options)


if __name__ == "__main__":
    main()
