"""Ten paths or ten nodes per depth: how many leaves a search of the paper's trees opens, and its precision.

    python -m benchmarks.ten_paths [--sets debian delicious eurlex4k] [--tradeoffs ...]

The models are those of `LabelTreeClassifier.parabel`, searched with `search="paths"` and `search="beam"`, both with
`beam=10`. A label beside nodes is a leaf of one label. Leaves are counted without pruning, on 500 test points.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import labeltrees as lt
from benchmarks.paper.datasets import load_set
from benchmarks.tables import print_head, slashed

TRADEOFFS = [0.0, 0.666667, 1.0, 1.333333, 1.714286, 2.0]
N_POINTS = 500


def leaf_of_labels(tree: lt.LabelTree) -> NDArray[np.int64]:
    """Return the leaf of each label: a node whose children are all labels, or a number of its own."""
    leaves = np.empty(tree.n_labels, np.int64)
    for node in range(tree.n_nodes):
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
        labels = ~children[children < 0]
        leaves[labels] = node if len(labels) == len(children) else tree.n_nodes + labels
    return leaves


def leaves_opened(model: Any, X: Any, search: str) -> float:
    """Return the mean number of leaves that a search opens: those of all labels that it scores."""
    leaves = leaf_of_labels(model.tree_)
    labels, _ = model.predict_topk(X, model.tree_.n_labels, search=search, beam=10, prune=False)
    return float(np.mean([len(np.unique(leaves[row[row >= 0]])) for row in labels]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["debian", "delicious", "eurlex4k"])
    parser.add_argument("--tradeoffs", nargs="+", type=float, default=TRADEOFFS)
    options = parser.parse_args()
    print_head("data | tradeoff | leaves opened: ten paths | ten nodes per depth | P@1 / 3 / 5: ten paths | ten nodes")
    for name in options.sets:
        train, test = load_set(name)
        for tradeoff in options.tradeoffs:
            model = lt.LabelTreeClassifier.parabel(tradeoff=tradeoff).fit(train.X, train.Y)
            leaves, precision = [], []
            for search in ("paths", "beam"):
                leaves.append(f"{leaves_opened(model, test.X[:N_POINTS], search):.1f}")
                labels, _ = model.predict_topk(test.X, 5, search=search, beam=10)
                precision.append(slashed(100 * lt.metrics.precision_at_k(test.Y, labels, k) for k in (1, 3, 5)))
            print(f"| {name} | {tradeoff:.4g} | {' | '.join([*leaves, *precision])} |", flush=True)


if __name__ == "__main__":
    main()
