"""`fanout="auto"` compared with fixed fanouts: precision, time and work of exact searches.

    python -m benchmarks.auto_fanout [--sets eurlex4k delicious debian-depends arxiv-authors] [--seeds 3] [--repeats 7]

Each seed gives one binary tree, which is contracted in every way. Models take turns. A time is processor time on one
thread for one call with all test points, the best of the repeats; all figures are means over seeds. `expected` is the
cost that `SearchCost` expects before anything is trained, in units of a visit to a narrow node.

Three more tables check the cost model: the cost of a visit; how often nodes of a given mass are visited, measured and
expected; and how much any contraction could gain, from one that knows how often these searches, or other searches,
visit each node.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.measures import precisions
from benchmarks.shared_data import load
from benchmarks.tables import print_head, slashed

SETS = ["eurlex4k", "delicious", "debian-depends", "arxiv-authors"]
FANOUTS = [8, 16, 32, 64, 128, 256]
KS = (5, 1)
COLUMNS = ["data", "fanout", "P@1 / 3 / 5", "top-5 us", "top-1 us", "chunks", "classifiers", "expected", "depth"]
COLUMNS += ["root", "training s"]
MASSES = [1, 2, 4, 6, 8, 10, 12, 14]


class Contestant:
    """One way to contract a tree, and its measurements."""

    def __init__(self, name: str, fanout: Any, cost: lt.SearchCost | None = None) -> None:
        self.name, self.fanout, self.cost = name, fanout, cost
        self.precision: list[list[float]] = []
        self.work: list[list[float]] = []
        self.seconds: list[list[float]] = []
        self.shape: list[list[float]] = []

    def fit(self, binary: lt.LabelTree, train: lt.Dataset, test: lt.Dataset, options: Any) -> None:
        """Train a model in the contracted tree and measure everything but search time."""
        tree = lt.contract(binary, self.fanout, cost=self.cost)
        start = time.perf_counter()
        self.model = lt.LabelTreeClassifier(tree=tree, n_jobs=options.jobs).fit(train.X, train.Y)
        training = time.perf_counter() - start
        labels, _, stats = self.model.predict_topk(test.X, 5, beam=None, return_stats=True)
        self.precision.append(precisions(test.Y, labels))
        self.work.append([stats.chunks.mean(), stats.classifiers.mean()])
        root = int(tree.child_ptr[1])
        self.shape.append([lt.SearchCost().expected(tree), tree.expected_depth(), root, training])
        self.seconds.append([np.inf] * len(KS))

    def time(self, test: lt.Dataset) -> None:
        """Time one search for all test points, for each k."""
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
        precision = slashed(np.mean(self.precision, axis=0))
        return (
            f"{self.name} | {precision} | {us[0]:.2f} | {us[1]:.2f} | {chunks:.1f} | {classifiers:.0f} "
            f"| {expected:.1f} | {depth:.2f} | {root:.0f} | {training:.1f}"
        )


def compare(name: str, options: Any) -> str:
    """Print the rows of one dataset; return how well the expected cost ranks the contestants."""
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
    return f"{name}: correlation of the ranks by expected cost and by us {np.corrcoef(expected, measured)[0, 1]:.2f}"


class Visits:
    """How often the nodes of a binary tree are visited by exact searches."""

    def __init__(self, name: str, jobs: int) -> None:
        train, test = load(name)
        self.name = name
        self.points = test.X[:8000]
        self.model = lt.LabelTreeClassifier(fanout=2, n_jobs=jobs).fit(train.X, train.Y)
        self.tree = self.model.tree_
        self.shares = [self._share(self.points[half::2]) for half in (0, 1)]

    def _share(self, points: Any) -> Any:
        nodes = self.model.searcher_.trace(points, 5).nodes
        return np.bincount(nodes, minlength=self.tree.n_nodes) / points.shape[0]

    def by_mass(self) -> str:
        """Return the row with the share of searches that visit a node, by the mass of the node."""
        visited = np.mean(self.shares, axis=0)
        mass = self.tree.mass() / self.tree.mass()[0]
        cells = []
        for power in MASSES:
            here = np.abs(np.log2(np.maximum(mass, 1e-30)) + power) < 0.5
            cells.append(f"{visited[here].mean():.4f}" if here.any() else "")
        return f"| {self.name} | {' | '.join(cells)} |"

    def cost(self, tree: lt.LabelTree, half: int = 1) -> float:
        """Return the cost of searching a contracted tree, from the visits counted in the binary tree."""
        places = [_places(self.tree), _places(tree)]
        order = np.argsort(places[0], kind="stable")
        same = order[np.searchsorted(places[0][order], places[1])]
        return float(np.dot(self.shares[half][same], lt.SearchCost().of_width(np.diff(tree.child_ptr))))

    def bounds(self) -> str:
        """Return the row with the costs of fixed fanouts, of auto, and of a contraction that knows the visits."""
        fixed = {fanout: self.cost(lt.contract(self.tree, fanout)) for fanout in FANOUTS}
        best = min(fixed, key=lambda fanout: fixed[fanout])
        auto = [
            self.cost(lt.contract(self.tree, "auto", cost=lt.SearchCost(level=level)))
            for level in (lt.SearchCost().level, 0.0)
        ]
        known = lt.SearchCost(level=0.0, answers=1.0)  # with answers=1 the mass of a node is its number of visits
        oracle = [self.cost(lt.contract(self.tree, "auto", self.shares[half], cost=known)) for half in (0, 1)]
        cells = [f"{value:.2f} ({value / fixed[best] - 1:+.0%})" for value in (*auto, *oracle)]
        return f"| {self.name} | {best}: {fixed[best]:.2f} | {fixed[128]:.2f} | {' | '.join(cells)} |"


def constants(name: str, options: Any) -> str:
    """Measure the cost of a visit; return the row of one dataset.

    A visit to a narrow node: the time below the root at fanout 16, per node. The extra cost of a wide node: the same at
    fanout 32, minus that. A block of 64 children: the slope of the time for the root over its width.
    """
    train, test = load(name)
    test = test[: options.points]
    widths = [16, 32, 64, 128, 256]
    binary = lt.build_tree(train.X, train.Y, fanout=2, n_jobs=options.jobs)
    models = [
        lt.LabelTreeClassifier(tree=lt.contract(binary, width), n_jobs=options.jobs).fit(train.X, train.Y)
        for width in widths
    ]
    us = np.full((len(widths), 2), np.inf)  # columns: only the root, the whole search
    for _ in range(options.repeats):
        for row, model in enumerate(models):
            for column, max_chunks in enumerate((1, None)):
                start = time.process_time()
                model.predict_topk(test.X, 5, beam=None, max_chunks=max_chunks, n_jobs=1)
                us[row, column] = min(us[row, column], (time.process_time() - start) / test.n_points * 1e6)
    below = []
    for row in (0, 1):
        _, _, stats = models[row].predict_topk(test.X, 5, beam=None, return_stats=True)
        below.append((us[row, 1] - us[row, 0]) / (stats.chunks.mean() - 1))
    visit, wide = below[0], below[1] / below[0] - 1
    block = np.polyfit(widths[2:], us[2:, 0], 1)[0] * 64 / visit
    return f"| {name} | {visit:.2f} | {wide:.2f} | {block:.2f} |"


def _places(tree: lt.LabelTree) -> Any:
    """Return a number for each node that identifies the set of labels below it."""
    order, start = tree._leaf_layout
    return start * (len(order) + 1) + tree.n_labels_below


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--fanouts", type=int, nargs="*", default=FANOUTS)
    parser.add_argument("--levels", type=float, nargs="*", default=[0.0], help="other costs of a level to try")
    parser.add_argument("--seeds", type=int, default=3, help="always 1 for arxiv-authors")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--points", type=int, help="maximum number of test points")
    parser.add_argument("--jobs", type=int, default=2, help="threads for training; searches use one")
    parser.add_argument("--only", choices=["times", "constants", "visits"], help="run one part only")
    options = parser.parse_args()
    if options.only in (None, "times"):
        print_head(" | ".join(COLUMNS))
        notes = [compare(name, options) for name in options.sets]
        print("\n" + "\n".join(notes) + "\n")
    if options.only in (None, "constants"):
        print("Cost of a visit to a narrow node (us); extra cost of a wide node, and of 64 more children (in visits)\n")
        print_head("data | visit us | wide | block")
        print("\n".join(constants(name, options) for name in options.sets) + "\n", flush=True)
    if options.only in (None, "visits"):
        visits = [Visits(name, options.jobs) for name in options.sets]
        print("Share of searches that visit a node, by the mass of the node; binary trees, top-5\n")
        print_head(" | ".join(["data", *(f"2^-{power}" for power in MASSES)]))
        expected = lt.SearchCost().visits([2.0**-power for power in MASSES])
        print("| expected by the cost model | " + " | ".join(f"{value:.4f}" for value in expected) + " |")
        print("\n".join(found.by_mass() for found in visits))
        print("\nCost of a search, from visits counted in the binary tree, and difference from the best fixed fanout\n")
        print_head("data | best fixed | 128 | auto | auto, level 0 | knowing other searches | knowing these searches")
        print("\n".join(found.bounds() for found in visits))


if __name__ == "__main__":
    main()
