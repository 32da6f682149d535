"""An online shop's log: predict the items of a customer's next invoice from the items of earlier invoices.

    python examples/online_shop.py EVENTS [--seeds 3] [--jobs 2] [--split time|random] [--setting paper|binary|default]

EVENTS is the "Online Retail" log (UCI), a CSV file, plain or .xz, with the columns InvoiceNo, StockCode, Description,
Quantity, InvoiceDate and CustomerID. A point is an invoice of a customer who has bought before. Its features are the
items of all earlier invoices of that customer, its labels the items of this invoice. Models are trained for the paper's
grid of tradeoffs for logs, to test the paper's claim: less depth at the same precision.
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

import labeltrees as lt

GRID = [2 * t / (1 + t) for t in (0, 0.25, 0.5, 0.75, 1, 2, 10, 30, 1000, 1e5)]
Make = Callable[..., lt.LabelTreeClassifier]
SETTINGS: dict[str, tuple[str, Make]] = {
    "paper": ("The paper's setting: binary trees, leaves of 100 labels, 10 paths", lt.LabelTreeClassifier.parabel),
    "binary": ("Binary trees down to single labels", partial(lt.LabelTreeClassifier, fanout=2, leaf_size=1)),
    "default": ("Default settings: fanout 128, down to single labels", lt.LabelTreeClassifier),
}


def read_invoices(path: str) -> pl.DataFrame:
    """Return the lines of all invoices; the first line of each has the items that the customer bought before.

    Only lines whose stock code is not an article number (POST, BANK CHARGES, ...) are dropped here. Lines without a
    customer and cancellations (negative quantities) are dropped and counted by `prepare_logs`.
    """
    with lzma.open(path) if path.endswith(".xz") else open(path, "rb") as file:
        lines = pl.read_csv(file.read(), infer_schema=False)
    no_article = ~lines["StockCode"].str.contains(r"^\d{5}")
    codes = lines.filter(no_article)["StockCode"].value_counts(sort=True)["StockCode"].head(4)
    print(f"{len(lines):,} lines, of which {no_article.sum():,} are not about an article ({', '.join(codes)}, ...)\n")
    lines = lines.filter(~no_article).with_columns(
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


def main() -> None:
    """Prepare the log, and train and measure models for each tradeoff."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", metavar="EVENTS")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--split", choices=["time", "random"], default="time", help="test on the last weeks, or on a random 5 %%"
    )
    parser.add_argument("--tradeoffs", type=float, nargs="+", default=GRID, help="the first is the baseline")
    parser.add_argument("--setting", choices=list(SETTINGS), nargs="+", default=list(SETTINGS))
    options = parser.parse_args()
    prepared = lt.prepare_logs(
        read_invoices(options.events),
        item="StockCode",
        weight="Quantity",
        time="InvoiceDate",
        item_name="Description",
        feature_column="past",
        min_item_contexts=5,
        point_weights="none",  # each invoice is its own context, so all have the same weight
        test_since="2011-11-15" if options.split == "time" else None,
    )
    print("| events | count |\n| --- | --- |")
    for events, count in prepared.summary.rows():
        print(f"| {events} | {count:,} |")
    train, test = prepared
    print(f"\ntrain: {train!r}\ntest: {test!r}")
    for title, make in (SETTINGS[name] for name in options.setting):
        print(f"\n{title}; mean and standard deviation of {options.seeds} seeds\n", flush=True)
        report(options.tradeoffs, sweep(train, test, make, options), test.n_points)


if __name__ == "__main__":
    main()
