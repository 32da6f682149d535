"""How close splits come to the paper's algorithm run to its end, and what a smaller tolerance gains and costs.

    python -m benchmarks.splits [--sets eurlex4k debian-depends] [--seeds 3] [--only-large] [--jobs 1] [--no-reference]

For the label sets of the largest nodes, the table has the objective of `split_labels` at several tolerances, relative
to a reference: two starts over all labels, followed in NumPy until the objective no longer rises. Sets of 4,096 labels
and more start from samples (decision 2); --only-large takes only those. Then, for trees to leaves of 100 labels: the
processor time of building them and the similarity within leaves. `python -m benchmarks.variants tolerance --validation`
measures the precision.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import labeltrees as lt
from benchmarks.shared_data import load
from benchmarks.tables import print_head
from labeltrees.labels.frequency import label_weights
from labeltrees.tree.measures import within_node_similarity
from labeltrees.tree.splits import coefficients, split_labels
from tests.tree.split_witness import best_of

TOLERANCES = (1e-4, 1e-5, 0.0)
TRADEOFFS = (0.0, 1.0, 1.333333, 1.714286, 1.935484)
LARGE = 4096  # sets of this size start from samples
LEAF_SIZE = 100


def largest_sets(tree: lt.LabelTree, least: int, most: int) -> list[NDArray[np.int64]]:
    """Return the labels of the largest nodes with at least `least` labels."""
    below: list[list[NDArray[np.int64]]] = [[] for _ in range(tree.n_nodes)]
    found = []
    for node in reversed(range(tree.n_nodes)):
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
        own = [below[child][0] for child in children[children >= 0]]
        labels = np.sort(np.concatenate([~children[children < 0].astype(np.int64), *own]))
        below[node] = [labels]
        if len(labels) >= least:
            found.append(labels)
    return sorted(found, key=len, reverse=True)[:most]


def compare(name: str, options: argparse.Namespace) -> None:
    """Print the rows of a dataset."""
    train, _ = load(name)
    frequencies, cover = lt.label_frequencies(train.Y), lt.cover_frequencies(train.Y)
    placed = np.flatnonzero(frequencies)
    embeddings = sparse.csr_array(lt.pifa(train.X, train.Y, n_jobs=options.jobs)[placed])
    frequencies, cover = frequencies[placed], cover[placed]
    for tradeoff in TRADEOFFS:
        weights = label_weights(frequencies, cover, tradeoff)
        seconds: dict[float, list[float]] = {t: [] for t in TOLERANCES}
        similarity: dict[float, list[float]] = {t: [] for t in TOLERANCES}
        for seed in range(options.seeds):
            for tolerance in TOLERANCES:
                start = time.process_time()
                tree = lt.build_tree_from(
                    *(embeddings, frequencies, cover),
                    **{"tradeoff": tradeoff, "fanout": 2, "leaf_size": LEAF_SIZE, "tolerance": tolerance},
                    **{"random_state": seed, "n_jobs": options.jobs},
                )
                seconds[tolerance].append(time.process_time() - start)
                similarity[tolerance].append(within_node_similarity(tree, embeddings, LEAF_SIZE))
        sets = largest_sets(tree, LARGE if options.only_large else 2 * LEAF_SIZE, options.most)
        changes = np.array(
            [
                differences(embeddings[labels], weights[labels], tradeoff, seed, not options.no_reference)
                for labels in sets
                for seed in range(options.seeds)
            ]
        ).reshape(-1, len(TOLERANCES))
        for place, tolerance in enumerate(TOLERANCES):
            own = changes[:, place]
            cells = f"{own.mean():+.3f} | {own.min():+.3f} | {np.mean(own < -0.1):.0%}" if len(own) else "- | - | -"
            print(
                f"| {name} | {tradeoff:.4g} | {tolerance:g} | {len(sets)} | {cells} "
                f"| {np.mean(similarity[tolerance]):.4f} | {min(seconds[tolerance]):.2f} "
                f"| {min(seconds[tolerance]) / min(seconds[TOLERANCES[0]]):.2f} |",
                flush=True,
            )


def differences(
    V: sparse.csr_array, weights: NDArray[np.float64], tradeoff: float, seed: int, reference: bool
) -> list[float]:
    """Return the objective at each tolerance relative to the reference, or to the first tolerance, in percent."""
    rng = np.random.default_rng(seed)
    found = [max(split_labels(V, weights, tradeoff, random_state=seed, tolerance=t)[1]) for t in TOLERANCES]
    base = found[0]
    if reference:
        drawn = [rng.choice(len(weights), 2, replace=False, p=weights / weights.sum()) for _ in range(2)]
        base = _reference(V, weights, drawn, tradeoff)
    return [100 * (value / base - 1) for value in found]


def _reference(V: sparse.csr_array, weights: NDArray[np.float64], starts: list[NDArray[np.int64]], t: float) -> float:
    return float(best_of(_Rows(V), weights, starts, *coefficients(t)))


class _Rows:
    """A sparse matrix whose single rows are dense, as the witness takes them."""

    def __init__(self, V: sparse.csr_array) -> None:
        self.V, self.transposed = V, V.T.tocsr()

    __array_ufunc__ = None  # so that NumPy leaves `f @ rows` to us

    def __matmul__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.V @ x)

    def __rmatmul__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.transposed @ x)

    def __getitem__(self, row: int) -> NDArray[np.float64]:
        return np.asarray(self.V[[int(row)]].toarray()[0], dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most", type=int, default=8, help="label sets per tree (default: %(default)s)")
    parser.add_argument("--only-large", action="store_true", help="only sets that start from samples")
    parser.add_argument("--no-reference", action="store_true", help="compare with the first tolerance")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print_head(
        "data | tradeoff | tolerance | label sets | objective against the reference, % | least "
        "| more than 0.1 % below | similarity within leaves | building, processor s | x"
    )
    for name in options.sets:
        compare(name, options)


if __name__ == "__main__":
    main()
