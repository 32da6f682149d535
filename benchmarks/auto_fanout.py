"""What `fanout="auto"` buys: precision, time and work of exact searches beside trees of one fanout, on real data.

    python -m benchmarks.auto_fanout [--sets eurlex4k delicious debian-depends arxiv-authors] [--seeds 3] [--repeats 7]

For every seed one binary tree, contracted in every way; models take turns in every repeat. Times are processor
time, the best of the repeats on one thread in one call for all test points; they and the rest are means over seeds.
`expected` is what `SearchCost` says before anything is trained, in visits to a narrow node.

Three more tables are about the model of the cost: what visits cost; how often nodes of a mass are visited, beside what
it says; and how much any contraction could gain: one that knows how often the same searches, or others, visit each
node.
"""

from __future__ import annotations

import argparse
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


def compare(name: str, options: Any) -> str:
    """Print the rows of one dataset; return how well the expected cost ranks them."""
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
        """Return the share of searches that visit a node, by its mass."""
        visited = np.mean(self.shares, axis=0)
        mass = self.tree.mass() / self.tree.mass()[0]
        cells = []
        for power in MASSES:
            here = np.abs(np.log2(np.maximum(mass, 1e-30)) + power) < 0.5
            cells.append(f"{visited[here].mean():.4f}" if here.any() else "")
        return f"| {self.name} | {' | '.join(cells)} |"

    def cost(self, tree: lt.LabelTree, half: int = 1) -> float:
        """Return the cost of searches of a contracted tree, by the visits counted in the binary one."""
        places = [_places(self.tree), _places(tree)]
        order = np.argsort(places[0], kind="stable")
        same = order[np.searchsorted(places[0][order], places[1])]
        return float(np.dot(self.shares[half][same], lt.SearchCost().of_width(np.diff(tree.child_ptr))))

    def bounds(self) -> str:
        """Return what fixed fanouts, auto and a contraction that knows the visits cost."""
        fixed = {fanout: self.cost(lt.contract(self.tree, fanout)) for fanout in FANOUTS}
        best = min(fixed, key=lambda fanout: fixed[fanout])
        auto = [
            self.cost(lt.contract(self.tree, "auto", cost=lt.SearchCost(level=level)))
            for level in (lt.SearchCost().level, 0.0)
        ]
        known = lt.SearchCost(level=0.0, answers=1.0)  # with answers=1 the mass is the visits
        oracle = [self.cost(lt.contract(self.tree, "auto", self.shares[half], cost=known)) for half in (0, 1)]
        cells = [f"{value:.2f} ({value / fixed[best] - 1:+.0%})" for value in (*auto, *oracle)]
        return f"| {self.name} | {best}: {fixed[best]:.2f} | {fixed[128]:.2f} | {' | '.join(cells)} |"


def constants(name: str, options: Any) -> str:
    """Measure what a visit costs; return the row of one dataset.

    A visit to a narrow node: all but the root, at fanout 16. What a wide node costs besides: the same at fanout 32. A
    block of 64 children: the slope of the root's time over its width.
    """
    train, test = load(name)
    test = test[: options.points]
    widths = [16, 32, 64, 128, 256]
    binary = lt.build_tree(train.X, train.Y, fanout=2, n_jobs=options.jobs)
    models = [
        lt.LabelTreeClassifier(tree=lt.contract(binary, width), n_jobs=options.jobs).fit(train.X, train.Y)
        for width in widths
    ]
    us = np.full((len(widths), 2), np.inf)  # the root alone, all
    for _ in range(options.repeats):
        for row, model in enumerate(models):
            for column, most in enumerate((1, None)):
                start = time.process_time()
                model.predict_topk(test.X, 5, beam=None, max_chunks=most, n_jobs=1)
                us[row, column] = min(us[row, column], (time.process_time() - start) / test.n_points * 1e6)
    below = []
    for row in (0, 1):
        _, _, stats = models[row].predict_topk(test.X, 5, beam=None, return_stats=True)
        below.append((us[row, 1] - us[row, 0]) / (stats.chunks.mean() - 1))
    visit, wide = below[0], below[1] / below[0] - 1
    block = np.polyfit(widths[2:], us[2:, 0], 1)[0] * 64 / visit
    return f"| {name} | {visit:.2f} | {wide:.2f} | {block:.2f} |"


def _places(tree: lt.LabelTree) -> Any:
    """Return a number for each node that says which labels are below it."""
    order, start = tree._leaf_layout
    return start * (len(order) + 1) + tree.n_labels_below


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--fanouts", type=int, nargs="*", default=FANOUTS)
    parser.add_argument("--levels", type=float, nargs="*", default=[0.0], help="prices of a level to try besides")
    parser.add_argument("--seeds", type=int, default=3, help="of arxiv-authors always one")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--points", type=int, help="take only so many test points")
    parser.add_argument("--jobs", type=int, default=2, help="threads of the training; searches take one")
    parser.add_argument("--only", choices=["times", "constants", "visits"], help="one part of it")
    options = parser.parse_args()
    if options.only in (None, "times"):
        head(COLUMNS)
        notes = [compare(name, options) for name in options.sets]
        print("\n" + "\n".join(notes) + "\n")
    if options.only in (None, "constants"):
        print(
            "A visit to a narrow node in microseconds; what a wide one costs besides, and 64 more children, in visits\n"
        )
        head(["data", "visit us", "wide", "block"])
        print("\n".join(constants(name, options) for name in options.sets) + "\n", flush=True)
    if options.only in (None, "visits"):
        visits = [Visits(name, options.jobs) for name in options.sets]
        print("Share of searches that visit a node, by its mass; binary trees, top-5\n")
        head(["data", *(f"2^-{power}" for power in MASSES)])
        said = lt.SearchCost().visits([2.0**-power for power in MASSES])
        print("| the model | " + " | ".join(f"{value:.4f}" for value in said) + " |")
        print("\n".join(found.by_mass() for found in visits))
        print("\nCost of a search by visits counted in the binary tree, and the difference to the best fixed fanout\n")
        head(["data", "best fixed", "128", "auto", "auto, level 0", "knowing other searches", "knowing these searches"])
        print("\n".join(found.bounds() for found in visits))


def head(columns: list[str]) -> None:
    """Print the head of a table."""
    print("| " + " | ".join(columns) + " |")
    print("| --- " * len(columns) + "|", flush=True)


if __name__ == "__main__":
    main()
