"""How long searches with rules take, as ratios to the model's own search without rules, and whether they are exact.

    python -m benchmarks.restricted arxiv-authors
    python -m benchmarks.restricted synthetic --labels 1000000

Candidates are random sets and sets of whole leaves, of several shares of the labels, packed with `label_set`; the time
to pack a set and its memory are shown. The other rules are: 10 excluded labels, boosts of 10 labels, one label per
group of about 100, and diversity 0.5. All are timed in turns, and the best of several rounds counts. Lists are compared
with those of a search for all labels (brute force) for some points.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy import sparse

import labeltrees as lt
from benchmarks.shared_data import load
from labeltrees.search import SearchRequest

SHARES = (0.0001, 0.001, 0.01, 0.1, 0.5, 1.0)


def synthetic(n_labels: int, seed: int = 0) -> tuple[lt.Dataset, Any]:
    """Return three points per label, with 8 features of the label and 4 others, and points to ask for."""
    rng = np.random.default_rng(seed)
    n_features = max(n_labels // 10, 100)
    topics = (rng.random((n_labels, 8)) ** 3 * n_features).astype(np.int64)
    labels = np.repeat(np.arange(n_labels), 3)
    noise = (rng.random((len(labels), 4)) ** 3 * n_features).astype(np.int64)
    columns = np.concatenate([topics[labels], noise], axis=1)
    rows = np.repeat(np.arange(len(labels)), columns.shape[1])
    shape = (len(labels), n_features)
    X = sparse.csr_array((np.ones(columns.size, np.float32), (rows, columns.ravel())), shape=shape)
    X.sum_duplicates()
    Y = sparse.csr_array((np.ones(len(labels), np.float32), (np.arange(len(labels)), labels)))
    return lt.Dataset(X, Y), X[rng.permutation(len(labels))[:2000]]


def rules_of(model: Any, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Return the rules to measure."""
    n_labels = model.searcher_.n_labels
    in_order = np.lexsort((np.arange(n_labels), model.tree_.label_parent))  # labels of one node are neighbours
    rules: dict[str, dict[str, Any]] = {}
    for share in SHARES:
        n = max(int(n_labels * share), 1)
        first = int(rng.integers(0, n_labels - n + 1))
        rules[f"{share:.2%} at random"] = {"candidates": rng.permutation(n_labels)[:n]}
        rules[f"{share:.2%} as leaves"] = {"candidates": in_order[first : first + n]}
    few = rng.permutation(n_labels)[:10]
    rules["10 excluded"] = {"exclude": few}
    rules["10 boosted"] = {"label_weight": model._label_boosts(dict.fromkeys(_keys(model, few), 2.0))}
    rules["1 per group"] = {"limits": model.label_limits(np.arange(n_labels) % max(n_labels // 100, 1), 1)}
    rules["diversity 0.5"] = {"diversity": 0.5}
    return rules


def _keys(model: Any, labels: Any) -> list[Any]:
    return labels.tolist() if model.label_names_ is None else model.label_names_[labels].tolist()


def is_exact(model: Any, X: Any, rule: dict[str, Any], labels: Any, k: int) -> bool | None:
    """Whether lists under candidates or exclusions are those of all labels, filtered; None for other rules."""
    allowed = np.ones(model.searcher_.n_labels, bool)
    if "candidates" in rule:
        prepared = model.searcher_.topk(X[:1], SearchRequest(len(rule["candidates"]), **rule, evidence=False)).labels[0]
        allowed[:] = False
        allowed[prepared[prepared >= 0]] = True
    elif "exclude" in rule:
        allowed[rule["exclude"]] = False
    else:
        return None
    every = model.searcher_.topk(X, SearchRequest(model.searcher_.n_labels, evidence=False))
    for row in range(X.shape[0]):
        found = every.labels[row][every.labels[row] >= 0]
        if found[allowed[found]][:k].tolist() != labels[row][labels[row] >= 0].tolist():
            return False
    return True


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a dataset of the shared folder, a saved model, or synthetic")
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--checked", type=int, default=5, help="points whose lists are compared with brute force")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", help="with a saved model: a .jsonl file of texts to ask with")
    given = parser.parse_args()
    if given.texts:
        model: Any = lt.load(given.data)
        X = model.check_queries(lt.read_texts(given.texts).texts[: given.points])
    else:
        train, X = synthetic(given.labels) if given.data == "synthetic" else load(given.data)
        X = X.X if isinstance(X, lt.Dataset) else X
        model = lt.LabelTreeClassifier().fit(train)
    X, k = X[: given.points], 5
    requests = {"no rule": model.complete_request(SearchRequest(k, evidence=False))}
    rules, packing = rules_of(model, np.random.default_rng(0)), {}
    for name, rule in rules.items():
        if "candidates" in rule:
            start = time.process_time()
            rule["candidates"] = made = model.label_set(rule["candidates"], packed=True)
            packing[name] = f"{(time.process_time() - start) * 1e3:.0f} ms, {made.nbytes / 1e6:.1f} MB"
    requests |= {name: model.complete_request(SearchRequest(k, evidence=False, **rule)) for name, rule in rules.items()}
    best = dict.fromkeys(requests, np.inf)
    for _ in range(given.rounds):
        for name, request in requests.items():
            start = time.process_time()
            model.searcher_.topk(X, request, n_jobs=1)
            best[name] = min(best[name], (time.process_time() - start) / X.shape[0] * 1e6)
    print(f"{model.searcher_.n_labels:,} labels, {X.shape[0]} points, k = {k}; processor time per point\n")
    print(f"Chunks of the model: {sum(store.chunks.nbytes for store in model.searcher_.stores) / 1e6:.0f} MB\n")
    print("| rule | us | ratio to no rule | nodes | equals brute force | packing |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, request in requests.items():
        found = model.searcher_.topk(X, request, n_jobs=1, stats=True)
        exact = None
        if name in rules:
            exact = is_exact(model, X[: given.checked], rules[name], found.labels[: given.checked], k)
        nodes = float(np.mean(found.stats.chunks)) if found.stats is not None else float("nan")
        shown = {None: "", True: "yes", False: "NO"}[exact]
        ratio = best[name] / best["no rule"]
        print(f"| {name} | {best[name]:.0f} | {ratio:.1f} | {nodes:.0f} | {shown} | {packing.get(name, '')} |")


if __name__ == "__main__":
    main()
