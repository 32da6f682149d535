"""An online shop: from the raw log to a recommender that says what a customer will buy next.

    python examples/online_shop.py EVENTS [--split time|random] [--jobs 2]
    python examples/online_shop.py EVENTS --setting paper binary default [--seeds 3]     # the paper's claim

EVENTS is the "Online Retail" log (UCI), a CSV file, plain or .xz, with the columns InvoiceNo, StockCode, Description,
Quantity, InvoiceDate and CustomerID. A point is an invoice of a customer who has bought before. Its features are the
items of all earlier invoices of that customer, its labels the items of this invoice. The first form compares models
with simple recommenders; the second trains models for the paper's grid of tradeoffs.
"""

from __future__ import annotations

import argparse
import lzma
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import labeltrees as lt
from labeltrees.logs import PreparedLogs

GRID = [2 * t / (1 + t) for t in (0, 0.25, 0.5, 0.75, 1, 2, 10, 30, 1000, 1e5)]
Make = Callable[..., lt.LabelTreeClassifier]
SETTINGS: dict[str, tuple[str, Make]] = {
    "paper": ("The paper's setting: binary trees, leaves of 100 labels, 10 paths", lt.LabelTreeClassifier.parabel),
    "binary": ("Binary trees down to single labels", partial(lt.LabelTreeClassifier, fanout=2, leaf_size=1)),
    "default": ("Default settings: wide nodes, down to single labels", lt.LabelTreeClassifier),
}
SPLITS = {"time": {"test_since": "2011-11-15"}, "random": {"test_share": 0.1}}
VALIDATION_DAYS = 21  # the last weeks of training, to choose parameters
TUNED = ["loss", "C", "evidence", "n_trees", "trend"]  # the tree stays as it is by default
KS = (1, 3, 5)


def read_articles(path: str) -> pl.DataFrame:
    """Return the lines of the log that are about articles; others (POST, BANK CHARGES, ...) are dropped."""
    with lzma.open(path) if path.endswith(".xz") else open(path, "rb") as file:
        lines = pl.read_csv(file.read(), infer_schema=False)
    no_article = ~lines["StockCode"].str.contains(r"^\d{5}")
    codes = lines.filter(no_article)["StockCode"].value_counts(sort=True)["StockCode"].head(4)
    print(f"{len(lines):,} lines, of which {no_article.sum():,} are not about an article ({', '.join(codes)}, ...)\n")
    return lines.filter(~no_article)


def prepare(path: str, split: str) -> PreparedLogs:
    """Return the log with invoices as sessions: earlier invoices of the customer are the history of an invoice."""
    return lt.prepare_logs(
        read_articles(path),
        lt.Columns(
            context="CustomerID",
            session="InvoiceNo",
            item="StockCode",
            weight="Quantity",
            time="InvoiceDate",
            item_name="Description",
        ),
        features="history",
        min_item_contexts=5,
        **SPLITS[split],
    )


def choose(train: lt.Dataset, jobs: int) -> Any:
    """Return the choice with the best P@5 on the last weeks of the training invoices, or on other customers."""
    settings: dict[str, Any] = {"metric": "p5", "tune": TUNED, "estimator": lt.LabelTreeClassifier(n_jobs=jobs)}
    if train.groups is not None:  # test points are of new customers
        return lt.choose(train, **settings)
    assert train.times is not None
    is_late = train.times >= train.times.max() - np.timedelta64(VALIDATION_DAYS, "D")
    return lt.choose(train[~is_late], validation=train[is_late], **settings)


def compare(train: lt.Dataset, test: lt.Dataset, parameters: dict[str, Any], jobs: int) -> lt.LabelTreeClassifier:
    """Print the precision of models and simple recommenders on test; return the model with the chosen parameters."""
    assert test.label_names is not None
    month = np.timedelta64(30, "D")
    X, Y = train.X, train.Y
    model: lt.LabelTreeClassifier = lt.LabelTreeClassifier(n_jobs=jobs, **parameters).fit(train)
    methods: dict[str, Any] = {
        "best sellers": lt.baselines.popularity((X, Y)),
        "best sellers of the last 30 days": lt.baselines.recent_popularity((X, Y), train.times, period=month),
        "item to item": lt.baselines.co_occurrence((X, Y)),
        "label tree, default": lt.LabelTreeClassifier(n_jobs=jobs).fit(X, Y),
        "label tree, chosen": model,
    }
    label_of = {name: label for label, name in enumerate(test.label_names)}  # metrics take ids
    print("| method | " + " | ".join(f"P@{k}" for k in KS) + " | P@5 by traffic |")
    print("| --- |" + " --- |" * (len(KS) + 1))
    for name, method in methods.items():
        labels, _ = method.predict_topk(test.X, max(KS))
        if method is model:
            labels = np.array([[label_of[name] for name in row] for row in labels])
        cells = [_cell(test, labels, k, None) for k in KS] + [_cell(test, labels, 5, test.sample_weight)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return model


def _cell(test: lt.Dataset, labels: Any, k: int, weights: Any) -> str:
    value, low, high = lt.metrics.estimate_at_k(test.Y, labels, k, sample_weight=weights)["precision"]
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def ask(model: lt.LabelTreeClassifier, names: list[str]) -> None:
    """Print answers for a few customers, and the time of a call for ten items."""
    answer = model.predictor(k=5, names=True, exclude_seen=True)
    for start in (0, 10, 20):
        items = names[start : start + 3]
        print(f"\n{', '.join(items)}")
        print("  next: " + ", ".join(model.titles(answer(items)[0])))
    rng = np.random.default_rng(0)
    microseconds = []
    for _ in range(2000):
        items = rng.choice(names, 10).tolist()
        begin = time.perf_counter_ns()
        answer(items)
        microseconds.append((time.perf_counter_ns() - begin) / 1000)
    print(f"\nFrom ten items to five names: median {np.median(microseconds):.0f} us")


def read_invoices(path: str) -> pl.DataFrame:
    """Return the lines of all invoices; the first line of each has the items that the customer bought before.

    The past does not count how often an item was bought. Lines without a customer and cancellations (negative
    quantities) are dropped and counted by `prepare_logs`.
    """
    lines = read_articles(path).with_columns(
        pl.col("InvoiceDate").str.to_datetime(),
        # A context is an invoice. Without a customer there is no past: prepare_logs counts the line as "no context".
        context=pl.when(pl.col("CustomerID") != "").then(pl.concat_str("CustomerID", "InvoiceNo", separator="/")),
        bought=pl.col("Quantity").cast(pl.Int64) > 0,
    )
    sales = lines.filter(pl.col("context").is_not_null() & pl.col("bought"))
    invoices = sales.group_by("context").agg(pl.col("CustomerID").first(), pl.col("InvoiceDate").min().alias("date"))
    items = sales.select("CustomerID", "StockCode", then="InvoiceDate").group_by("CustomerID", "StockCode")
    first_bought = items.agg(pl.col("then").min())
    past = (
        invoices.join(first_bought, on="CustomerID")
        .filter(pl.col("then") < pl.col("date"))
        .group_by("context")
        .agg(pl.col("StockCode").sort().alias("past"))
    )
    is_first = pl.col("context").is_first_distinct()
    joined = lines.join(past, on="context", how="left", maintain_order="left")
    return joined.with_columns(pl.when(is_first).then("past"))


def measure(train: lt.Dataset, test: lt.Dataset, make: Make, tradeoff: float, seed: int, jobs: int) -> list[float]:
    """Train one model and return P@1, P@3 and the expected depth@1 on test."""
    model = make(tradeoff=tradeoff, random_state=seed, n_jobs=jobs)
    model.fit(train.X, train.Y, sample_weight=train.sample_weight)
    labels, _ = model.predict_topk(test.X, 3)
    precision = [100 * lt.metrics.precision_at_k(test.Y, labels, k) for k in (1, 3)]
    return [*precision, lt.metrics.expected_depth_at_k(model.tree_, labels, 1)]


def sweep(train: lt.Dataset, test: lt.Dataset, make: Make, options: argparse.Namespace) -> np.ndarray:
    """Return the figures of each tradeoff and seed, an array (tradeoffs, seeds, 3)."""
    seeds = range(options.seeds)
    return np.array([[measure(train, test, make, t, seed, options.jobs) for seed in seeds] for t in options.tradeoffs])


def report(tradeoffs: list[float], figures: np.ndarray, n_test: int) -> None:
    """Print mean and standard deviation over seeds for each tradeoff, and the result for the claim."""
    mean, spread = figures.mean(axis=1), figures.std(axis=1, ddof=1 if figures.shape[1] > 1 else 0)
    print("| tradeoff | P@1 | P@3 | expected depth@1 | change |")
    print("| --- | --- | --- | --- | --- |")
    for row, tradeoff in enumerate(tradeoffs):
        cells = [f"{mean[row, i]:.2f} ± {spread[row, i]:.2f}" for i in range(3)]
        print(f"| {tradeoff:.4g} | {' | '.join(cells)} | {mean[row, 2] / mean[0, 2] - 1:+.0%} |")
    # "The same precision" is that of tradeoff 0, or at most one standard error of the test set below it.
    share = mean[0, 0] / 100
    error = 100 * np.sqrt(share * (1 - share) / n_test)
    same = {"at least the P@1": mean[0, 0], f"P@1 within {error:.2f} (one standard error) of that": mean[0, 0] - error}
    for condition, lowest in same.items():
        best = int(np.argmin(np.where(mean[:, 0] >= lowest, mean[:, 2], np.inf)))
        change = mean[best, 2] / mean[0, 2] - 1
        first, found = (f"tradeoff {tradeoffs[row]:.4g}" for row in (0, best))
        print(f"\nLowest depth@1 with {condition} of {first}: {change:+.1%}, at {found}.")


def show_summary(prepared: PreparedLogs) -> None:
    """Print how the events were used."""
    print("| events | count |\n| --- | --- |")
    for events, count in prepared.summary.rows():
        print(f"| {events} | {count:,} |")
    print(f"\ntrain: {prepared.train!r}\ntest: {prepared.test!r}")
    for what, count in prepared.summary.leakage.items():
        print(f"{what}: {count:,}")


def run_claim(options: argparse.Namespace) -> None:
    """Train and measure models for each tradeoff of the paper's grid."""
    prepared = lt.prepare_logs(
        read_invoices(options.events),
        lt.Columns(
            item="StockCode",
            weight="Quantity",
            time="InvoiceDate",
            item_name="Description",
            feature_column="past",
        ),
        min_item_contexts=5,
        min_engagement=0,
        test_since="2011-11-15" if options.split == "time" else None,
    )
    show_summary(prepared)
    train, test = prepared
    for title, make in (SETTINGS[name] for name in options.setting):
        print(f"\n{title}; mean and standard deviation of {options.seeds} seeds\n", flush=True)
        report(options.tradeoffs, sweep(train, test, make, options), test.n_points)


def main() -> None:
    """Prepare the log, then compare models with simple recommenders, or test the paper's claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", metavar="EVENTS")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--split", choices=list(SPLITS), default="time", help="test on the last weeks, or on random customers"
    )
    parser.add_argument("--setting", choices=list(SETTINGS), nargs="+", help="test the claim with these trees")
    parser.add_argument("--seeds", type=int, default=3, help="for --setting")
    parser.add_argument("--tradeoffs", type=float, nargs="+", default=GRID, help="the first is the baseline")
    options = parser.parse_args()
    if options.setting:
        run_claim(options)
        return
    prepared = prepare(options.events, options.split)
    show_summary(prepared)
    train = prepared.train
    choice = choose(train, options.jobs)
    print(f"\nParameters chosen on the last {VALIDATION_DAYS} days of training: {choice.parameters}\n")
    print(f"{choice.explanation}\n")
    model = compare(train, prepared.test, choice.parameters, options.jobs)
    assert train.feature_names is not None
    ask(model, train.feature_names.tolist())


if __name__ == "__main__":
    main()
