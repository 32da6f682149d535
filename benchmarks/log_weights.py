"""Do weights of contexts pay? Precision for each kind of point weight, on the online shop and a synthetic query log.

    python -m benchmarks.log_weights [--seeds 3] [--events 200000] [--only shop|queries]

Two results per kind: every test point counts the same, and test points count by their events (traffic). The interval is
for the difference to equal weights: 95 %, by resampling test points 1,000 times.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import labeltrees as lt
from benchmarks.scale.logs import power_law
from benchmarks.shared_data import data_folder
from benchmarks.tables import print_head

KINDS = (None, "sqrt_events", "events", "sqrt_engagement", "engagement")
WORDS_PER_TOPIC = 12


def query_log(n_events: int, seed: int = 0) -> pl.DataFrame:
    """Make a synthetic query log: power-law queries of two to four words, each about a topic, and clicked items.

    A query has 2 to 4 words of its topic. Clicks follow the topic's items by a power law, shifted by the words of the
    query, so that words say which items. A tenth of the clicks goes anywhere.
    """
    rng = np.random.default_rng(seed)
    n_topics, n_queries, items_per_topic = 200, n_events // 20, 40
    topic = rng.integers(0, n_topics, n_queries)
    words = rng.integers(0, WORDS_PER_TOPIC, (n_queries, 4))
    length = rng.integers(2, 5, n_queries)
    texts = [
        " ".join(f"t{topic[q]}w{words[q, place]}" for place in range(length[q])) + f" {'for sale'[: 3 + q % 6]}"
        for q in range(n_queries)
    ]
    query = power_law(rng, n_queries, n_events, 0.9)
    rank = power_law(rng, items_per_topic, n_events, 1.3)
    item = topic[query] * items_per_topic + (rank + 3 * words[query, rng.integers(0, 2, n_events)]) % items_per_topic
    anywhere = rng.random(n_events) < 0.1
    item = np.where(anywhere, rng.integers(0, n_topics * items_per_topic, n_events), item)
    weight = rng.geometric(0.6, n_events)
    names = np.array(texts)[query]
    return pl.DataFrame({"context": names, "item": item, "weight": weight.astype(np.float64)})


def online_shop() -> Any:
    """Return the arguments for the online shop: customers, their purchases before September as history."""
    return data_folder("online-retail") / "events.csv.xz", {
        "context": "CustomerID",
        "item": "StockCode",
        "weight": "Quantity",
        "time": "InvoiceDate",
        "history_before": "2011-09-01",
        "min_item_contexts": 2,
        "test_share": 0.2,
    }


def hits_at_5(model: Any, test: lt.Dataset) -> NDArray[np.float64]:
    """Return the precision at 5 of every test point."""
    labels, _ = model.predict_topk(test.X, 5)
    Y = test.Y.tolil()
    return np.array([np.mean([label in row for label in found]) for found, row in zip(labels, Y.rows, strict=True)])


def measure(name: str, events: Any, settings: dict[str, Any], seeds: int) -> None:
    """Print a table for one log."""
    results: dict[Any, list[NDArray[np.float64]]] = {kind: [] for kind in KINDS}
    traffic = []
    for seed in range(seeds):
        for kind in KINDS:
            train, test = lt.prepare_logs(events, **settings, random_state=seed, point_weights=kind)
            model = lt.LabelTreeClassifier(random_state=seed, n_jobs=2)
            model.fit(train.X, train.Y, sample_weight=train.sample_weight)
            results[kind].append(hits_at_5(model, test))
            if kind == "events":
                traffic.append(test.sample_weight)
    print(f"\n{name}: {sum(map(len, traffic)):,} test points in {seeds} splits\n")
    print_head("point_weights | P@5 | difference | P@5 by traffic | difference")
    weights = np.concatenate(traffic)
    base = np.concatenate(results[None])
    for kind in KINDS:
        hits = np.concatenate(results[kind])
        cells = [f"{100 * np.average(hits, weights=w):.1f} | {interval(hits - base, w)}" for w in (None, weights)]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


def interval(differences: NDArray[np.float64], weights: NDArray[np.float64] | None) -> str:
    """Return the 95 % interval of a mean difference in points of percent."""
    if not differences.any():
        return ""
    rng = np.random.default_rng(0)
    own = np.ones(len(differences)) if weights is None else weights
    draws = rng.integers(0, len(differences), (1000, len(differences)))
    means = (differences[draws] * own[draws]).sum(axis=1) / own[draws].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975]) * 100
    return f"{low:+.1f} to {high:+.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--events", type=int, default=200_000, help="of the synthetic log")
    parser.add_argument("--only", choices=["shop", "queries"])
    options = parser.parse_args()
    if options.only != "queries":
        events, settings = online_shop()
        measure("Online shop, history features", events, settings, options.seeds)
    if options.only != "shop":
        log = query_log(options.events)
        measure("Synthetic query log, words", log, {"min_item_contexts": 2}, options.seeds)


if __name__ == "__main__":
    main()
