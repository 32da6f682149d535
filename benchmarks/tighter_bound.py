"""How much exact search gains from an upper bound, per node, on the scores of the labels below it.

    python -m benchmarks.tighter_bound [--sets debian-depends arxiv-authors] [--models cache]

For a query of length 1, a margin is at most bias + norm of the weights; if the query has no negative value, it is at
most bias + norm of the positive weights. From the leaves up, that gives each node a bound: the log of the best score
possible below it. Of the nodes that a best-first search opens without bounds, it opens with bounds only those whose
score + bound reaches the score of the k-th label. So the first table counts visits from traces.

The second table times the search itself. Models with logistic loss store ceilings (`logistic_ceilings`, the bound from
the positive weights), and the search skips a node that cannot reach the list. Searches with and without take turns.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.stored_models import float_rows, model_folder, searcher_like, trained, weights_of
from benchmarks.tables import print_head
from labeltrees.profiling.oracle import ancestors_of
from labeltrees.storage import ChunkStore, LinearWeights, logistic_ceilings

KS = (1, 5, 10)


def log_scores(margins: NDArray[np.float64], loss: str, power: float) -> NDArray[np.float64]:
    """Return the log of the score of a margin."""
    if loss == "logistic":
        return -np.logaddexp(0.0, -margins)
    return -(np.maximum(0.0, 1.0 - margins) ** power)


def largest_margins(weights: LinearWeights, positive: bool) -> NDArray[np.float64]:
    """Return the largest margin of each classifier for a query of length 1; `positive`: one without negative values."""
    values = weights.values.astype(np.float64)
    squares = np.where(values > 0, values, 0.0) ** 2 if positive else values**2
    sums = np.concatenate([[0.0], np.cumsum(squares)])
    norms = np.sqrt(np.maximum(sums[weights.indptr[1:]] - sums[weights.indptr[:-1]], 0.0))
    return weights.bias + norms + 1e-5  # tolerance for rounding in single precision


def node_bounds(store: ChunkStore, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each node's bound, from the largest log score of every classifier."""
    bounds = np.zeros(store.n_nodes)
    for node in range(store.n_nodes - 1, -1, -1):  # children have larger ids
        edges = slice(store.child_ptr[node], store.child_ptr[node + 1])
        children = store.children[edges]
        below = np.where(children >= 0, bounds[np.maximum(children, 0)], 0.0)
        bounds[node] = np.max(scores[edges] + below)
    return bounds


def report(name: str, options: argparse.Namespace, **settings: Any) -> None:
    """Print the rows of one model."""
    model, test = trained(name, model_folder(options.models), **settings)
    X = float_rows(test.X)[: options.points]
    nonnegative = X.nnz == 0 or X.data.min() >= 0
    store = replace(model.searcher_.stores[0], ceilings=None)
    searcher = searcher_like(model.searcher_, store)
    weights = weights_of(store)
    bounds = {
        kind: node_bounds(store, log_scores(largest_margins(weights, positive), searcher.loss, searcher.score_power))
        for kind, positive in (("norm", False), ("positive", True))
    }
    below = {kind: 100 * np.mean(bound < -1e-6) for kind, bound in bounds.items()}
    shares = f"{below['norm']:.2f}% / {below['positive']:.2f}%"
    medians = " / ".join(f"{np.exp(np.median(bound)):.3f}" for bound in bounds.values())
    for k in KS:
        found = searcher.topk(X, k)
        trace = searcher.trace(X, k)
        query = np.repeat(np.arange(X.shape[0]), np.diff(trace.ends))
        last = np.log(np.maximum(found.scores[:, -1].astype(np.float64), 1e-37)) - 1e-5
        visits = [len(query)] + [
            int(np.sum(trace.scores + bound[trace.nodes] >= last[query])) for bound in bounds.values()
        ]
        per_query = [count / X.shape[0] for count in visits]
        gain = 100 * (1 - visits[2] / visits[0]) if nonnegative else 100 * (1 - visits[1] / visits[0])
        print(
            f"| {name} | {describe(settings)} | {store.n_nodes} | {shares} | {medians} | {k} | {per_query[0]:.2f} "
            f"| {per_query[1]:.2f} | {per_query[2]:.2f} | {gain:.1f}% "
            f"| {len(ancestors_of(model.tree_, found.labels)) / X.shape[0]:.2f} |",
            flush=True,
        )


def time_ceilings(name: str, options: argparse.Namespace, **settings: Any) -> None:
    """Print how many chunks and how much time the ceilings of a logistic model save."""
    model, test = trained(name, model_folder(options.models), **settings)
    X = float_rows(test.X)[: options.points]
    store = replace(model.searcher_.stores[0], ceilings=None)
    ceilings = logistic_ceilings(model.tree_, weights_of(store))
    searchers = [searcher_like(model.searcher_, variant) for variant in (store, replace(store, ceilings=ceilings))]
    for k in KS:
        found = [searcher.topk(X, k, stats=True) for searcher in searchers]
        best = [np.inf, np.inf]
        for _ in range(options.rounds):
            for i, searcher in enumerate(searchers):
                start = time.process_time()
                searcher.topk(X, k, n_jobs=1)
                best[i] = min(best[i], (time.process_time() - start) / X.shape[0] * 1e6)
        chunks = [float(np.mean(one.stats.chunks)) for one in found if one.stats is not None]
        same = np.array_equal(found[0].labels, found[1].labels) and np.array_equal(found[0].scores, found[1].scores)
        print(
            f"| {name} | {describe(settings)} | {k} | {chunks[0]:.2f} "
            f"| {chunks[1]:.2f} | {best[0]:.1f} | {best[1]:.1f} | {100 * (1 - best[1] / best[0]):.0f}% "
            f"| {'yes' if same else 'no'} |",
            flush=True,
        )


def describe(settings: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items()) or "default"


def variants(name: str, only: list[str]) -> list[dict[str, Any]]:
    """Return the settings of the models to measure."""
    every: list[dict[str, Any]] = [{}, {"loss": "logistic"}]
    if name == "debian-depends":  # narrow trees too: with fewer children per node, bounds are tighter
        every += [{"fanout": fanout, **loss} for loss in ({}, {"loss": "logistic"}) for fanout in (16, 2)]
    return [one for one in every if not only or [f"{key}={value}" for key, value in one.items()] == only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends", "arxiv-authors"])
    parser.add_argument("--points", type=int, default=5000, help="maximum number of test points")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--models", help='folder for trained models, or "cache" for the benchmark cache')
    parser.add_argument("--only", nargs="*", default=[], help="settings, for example loss=logistic")
    options = parser.parse_args()
    print(f"Exact search, {options.points} test points. Bounds by the norm of all / of the positive weights.\n")
    print_head("data | model | nodes | bounds below 1 | median bound | k | chunks | all | positive | saved | oracle")
    for name in options.sets:
        for settings in variants(name, options.only):
            report(name, options, **settings)
    print(f"\nThe search with and without ceilings: one thread, batch, best of {options.rounds} rounds.\n")
    print_head("data | model | k | chunks without | with | us without | with | time saved | same lists and scores")
    for name in options.sets:
        for settings in variants(name, options.only):
            if "loss" in settings:
                time_ceilings(name, options, **settings)


if __name__ == "__main__":
    main()
