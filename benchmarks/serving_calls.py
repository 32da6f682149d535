"""Time from a list of items to labels: one call of a predictor on the online shop, and its parts.

    python -m benchmarks.serving_calls [DATA ...] [--calls 20000] [--labels 1000000]

DATA is a log folder under the shared data (default: online-retail). A model is fitted on each customer's items (every
second item of a customer is history, the others are labels), and asked with ten items of a customer. Times are of
single calls from Python, one after another. `--labels` is the number of labels of a synthetic tree for large sets.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.shared_data import data_folder

N_ITEMS, K = 10, 5


def read_customers(name: str) -> list[list[str]]:
    """Return the items of each customer in the order of the log, without repetitions."""
    (path,) = sorted(data_folder(name).glob("*.csv*"))
    customers: dict[str, dict[str, None]] = {}
    with lzma.open(path, "rt") if path.suffix == ".xz" else open(path) as file:
        for line in csv.DictReader(file):
            if line["CustomerID"] and line["Description"].strip():
                customers.setdefault(line["CustomerID"], {})[line["Description"].strip()] = None
    return [list(items) for items in customers.values() if len(items) >= 4]


def fit_shop(customers: list[list[str]]) -> lt.LabelTreeClassifier:
    """Return a model from half of each customer's items to the other half."""
    names = sorted({item for items in customers for item in items[::2]})
    histories = [items[::2] for items in customers]
    return lt.LabelTreeClassifier(n_jobs=2).fit(
        histories, [items[1::2] for items in customers], encoder=lt.encoders.ItemEncoder(names, weighting="count")
    )


def microseconds(call: Callable[[Any], Any], queries: list[Any], n_calls: int) -> tuple[float, float, float]:
    """Return the median, the 99th percentile and the mean time of a call."""
    for query in queries[:2000]:
        call(query)
    times = np.empty(n_calls)
    for i in range(n_calls):
        query = queries[i % len(queries)]
        started = time.perf_counter_ns()
        call(query)
        times[i] = time.perf_counter_ns() - started
    return tuple(np.array([np.percentile(times, 50), np.percentile(times, 99), times.mean()]) / 1000)


def cases(model: lt.LabelTreeClassifier, histories: list[list[str]]) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield what is timed."""
    encoder, answer = model.encoder_, model.predictor(K)
    assert encoder is not None
    rng = np.random.default_rng(0)
    names = model.classes_[rng.permutation(len(model.classes_))].tolist()
    few, most = names[:20], model.label_set(names[: len(names) * 9 // 10])
    row = encoder.transform(histories[:1])
    yield "features to ids", lambda _: answer(row.indices, row.data)
    yield "items to ids", answer
    yield "items to names", model.predictor(K, names=True)
    yield "items to names, without items seen", model.predictor(K, names=True, exclude_seen=True)
    yield "items, exclude 20 names per call", lambda items: answer(items, exclude=few)
    yield "items, exclude a prepared 90% of labels", lambda items: answer(items, exclude=most)
    yield "items, candidates a prepared 90% of labels", lambda items: answer(items, candidates=most)
    yield "items, candidates 20 names per call", lambda items: answer(items, candidates=few)
    yield "items, exact search", model.predictor(K, beam=None)
    yield "predict_topk of one list of items", lambda items: model.predict_topk([items], K)


def show(title: str, timed: Iterator[tuple[str, Callable[[Any], Any]]], queries: list[Any], n_calls: int) -> None:
    """Print a table."""
    print(f"\n{title}\n\n| one call | median us | p99 us | mean us |\n| --- | --- | --- | --- |")
    for what, call in timed:
        print("| {} | {:.1f} | {:.1f} | {:.1f} |".format(what, *microseconds(call, queries, n_calls)))


def large_cases(n_labels: int) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield searches among very many labels, with sets of up to all but one of them."""
    rng = np.random.default_rng(0)
    n_points, n_features = 2 * n_labels, 5000
    columns = rng.integers(n_features, size=(n_points, 4))
    encoder = lt.encoders.ItemEncoder([str(item) for item in range(n_features)], weighting="count")
    X = encoder.transform(columns)
    labels = rng.integers(n_labels, size=n_points)[:, None]
    model = lt.LabelTreeClassifier(n_jobs=2, loss=lt.Solver(max_iter=5)).fit(
        lt.Dataset(X, labels.tolist(), encoder=encoder)
    )
    answer = model.predictor(K)
    order = rng.permutation(len(model.classes_))
    yield "no set", answer
    for share in (0.001, 0.5, 0.999):
        ids = order[: int(share * len(order))]
        started = time.perf_counter()
        prepared = model.label_set(ids)
        title = f"{len(ids):,} labels (prepared in {1000 * (time.perf_counter() - started):.1f} ms)"
        yield f"exclude {title}", lambda items, own=prepared: answer(items, exclude=own)
        yield f"candidates {title}", lambda items, own=prepared: answer(items, candidates=own)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", nargs="*", default=["online-retail"])
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--labels", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.data:
        customers = read_customers(name)
        model = fit_shop(customers)
        histories = [items[::2][:N_ITEMS] for items in customers if len(items[::2]) >= N_ITEMS]
        title = f"{name}: {len(model.classes_):,} labels, {N_ITEMS} items to {K} labels"
        show(title, cases(model, histories), histories, arguments.calls)
    if arguments.labels:
        rng = np.random.default_rng(1)
        queries = [[str(item) for item in row] for row in rng.integers(5000, size=(2000, 4))]
        show(f"synthetic: {arguments.labels:,} labels", large_cases(arguments.labels), queries, 2000)


if __name__ == "__main__":
    main()
