"""What `fanout="auto"` buys: precision, time and work of exact searches beside trees of one fanout, on real data.

    python -m benchmarks.auto_fanout [--sets eurlex4k delicious debian-depends arxiv-authors] [--seeds 3] [--repeats 7]

For every seed one binary tree, contracted in every way; models take turns in every repeat. Times are processor
time, the best of the repeats on one thread in one call for all test points; they and the rest are means over seeds.
`expected` is what `SearchCost` says before anything is trained, in visits to a narrow node.

The last table is about the model of the cost: how often nodes of a mass were visited, beside what it says.
"""

from __future__ import annotations

import argparse
import io
import time
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.shared_data import load

SETS = ["eurlex4k", "delicious", "debian-depends", "arxiv-authors"]
FANOUTS = [8, 16, 32, 64, 128, 256]
KS = (5, 1)
COLUMNS = ["data", "fanout", "P@1 / 3 / 5", "top-5 us", "top-1 us", "chunks", "classifiers", "expected", "depth"]
COLUMNS += ["root", "training s"]
MASSES = [1, 2, 4, 6, 8, 10, 12, 14]


class Contestant:
    """One way to contract, and what was measured of it."""

    def __init__(self, name: str, fanout: Any, cost: lt.SearchCost | None = None) -> None:
        self.name, self.fanout, self.cost = name, fanout, cost
        self.precision: list[list[float]] = []
        self.work: list[list[float]] = []
        self.seconds: list[list[float]] = []
        self.shape: list[list[float]] = []

    def fit(self, binary: lt.LabelTree, train: lt.Dataset, test: lt.Dataset, options: Any) -> None:
        """Train in its tree and measure all but time."""
        tree = lt.contract(binary, self.fanout, cost=self.cost)
        start = time.perf_counter()
        self.model = lt.LabelTreeClassifier(tree=tree, n_jobs=options.jobs).fit(train.X, train.Y)
        training = time.perf_counter() - start
        labels, _, stats = self.model.predict_topk(test.X, 5, beam=None, return_stats=True)
        self.precision.append([100 * lt.metrics.precision_at_k(test.Y, labels, k) for k in (1, 3, 5)])
        self.work.append([stats.chunks.mean(), stats.classifiers.mean()])
        root = int(tree.child_ptr[1])
        self.shape.append([lt.SearchCost().expected(tree), tree.expected_depth(), root, training])
        self.seconds.append([np.inf] * len(KS))

    def time(self, test: lt.Dataset) -> None:
        """Answer all test points once for every k."""
        for place, k in enumerate(KS):
            start = time.process_time()
            self.model.predict_topk(test.X, k, beam=None, n_jobs=1)
            self.seconds[-1][place] = min(self.seconds[-1][place], time.process_time() - start)

    def shape_mean(self, place: int) -> float:
        """Return the mean of one measure of the trees."""
        return float(np.mean(self.shape, axis=0)[place])

    def row(self, n_points: int) -> str:
        """Return the row of the table."""
        us = np.mean(self.seconds, axis=0) / n_points * 1e6
        chunks, classifiers = np.mean(self.work, axis=0)
        expected, depth, root, training = np.mean(self.shape, axis=0)
        precision = " / ".join(f"{value:.2f}" for value in np.mean(self.precision, axis=0))
        return (
            f"{self.name} | {precision} | {us[0]:.2f} | {us[1]:.2f} | {chunks:.1f} | {classifiers:.0f} "
            f"| {expected:.1f} | {depth:.2f} | {root:.0f} | {training:.1f}"
        )


def compare(name: str, options: Any) -> None:
    """Print the rows of one dataset."""
    train, test = load(name)
    test = test[: options.points]
    few = name == "arxiv-authors"
    ways = [Contestant(str(fanout), fanout) for fanout in options.fanouts]
    ways.append(Contestant("auto", "auto"))
    ways += [Contestant(f"auto, level {level:g}", "auto", lt.SearchCost(level=level)) for level in options.levels]
    for seed in range(1 if few else options.seeds):
        binary = lt.build_tree(train.X, train.Y, fanout=2, random_state=seed, n_jobs=options.jobs)
        for way in ways:
            way.fit(binary, train, test, options)
        for _ in range(options.repeats):
            for way in ways:
                way.time(test)
    for way in ways:
        print(f"| {name} | {way.row(test.n_points)} |", flush=True)
    ranked = [[way.shape_mean(0), np.mean(way.seconds, axis=0)[0]] for way in ways]
    expected, measured = (np.argsort(np.argsort(values)) for values in np.transpose(ranked))
    print(f"{name}: correlation of the ranks by expected cost and by top-5 us ", end="", file=options.notes)
    print(f"{np.corrcoef(expected, measured)[0, 1]:.2f}", file=options.notes)


def show_visits(name: str, options: Any) -> None:
    """Print how often the nodes of a binary tree are visited, by their mass, and what the cost model says."""
    train, test = load(name)
    points = test.X[:4000]
    model = lt.LabelTreeClassifier(fanout=2, n_jobs=options.jobs).fit(train.X, train.Y)
    tree = model.tree_
    visited = np.bincount(model.searcher_.trace(points, 5).nodes, minlength=tree.n_nodes) / points.shape[0]
    mass = tree.mass() / tree.mass()[0]
    cells = []
    for power in MASSES:
        here = np.abs(np.log2(np.maximum(mass, 1e-30)) + power) < 0.5
        cells.append(f"{visited[here].mean():.4f}" if here.sum() > 0 else "")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--fanouts", type=int, nargs="*", default=FANOUTS)
    parser.add_argument("--levels", type=float, nargs="*", default=[0.0], help="prices of a level to try besides")
    parser.add_argument("--seeds", type=int, default=3, help="of arxiv-authors always one")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--points", type=int, help="take only so many test points")
    parser.add_argument("--jobs", type=int, default=2, help="threads of the training; searches take one")
    parser.add_argument("--visits", action="store_true", help="only the table of visits")
    options = parser.parse_args()
    options.notes = io.StringIO()
    if not options.visits:
        print("| " + " | ".join(COLUMNS) + " |")
        print("| --- " * len(COLUMNS) + "|")
        for name in options.sets:
            compare(name, options)
        print("\n" + options.notes.getvalue())
    print("Share of searches that visit a node, by its mass; binary trees, top-5\n")
    print("| data | " + " | ".join(f"2^-{power}" for power in MASSES) + " |")
    print("| --- " * (len(MASSES) + 1) + "|")
    said = lt.SearchCost().visits([2.0**-power for power in MASSES])
    print("| the model | " + " | ".join(f"{value:.4f}" for value in said) + " |")
    for name in options.sets:
        show_visits(name, options)


if __name__ == "__main__":
    main()
