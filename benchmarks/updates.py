"""Updates against full fits: processor time, and precision on old, new and all labels.

    python -m benchmarks.updates [DATASET ...] [--share 0.01 ...] [--only PART] [--held-out] [--updates 10]

For each dataset, labels are held back with all their points and added later, also so that the new labels are 1 % in
total, with those whose only points are among these ("total"); new points of old labels come alone; ten updates come in
a row; a thousandth of the points is forgotten; and 30 % of the labels are retired. Times are processor times of one
thread, so that other work on the machine matters little. napkinXC's online trees take part if napkinXC is installed: it
inserts labels with its command `nxc train -m oplt` only, which trains all points one by one. With --held-out, 15 % of
the training points are the test points, to choose constants on.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import pickle
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import labeltrees as lt
from benchmarks.shared_data import load
from labeltrees.metrics import precision_at_k

DATASETS = ("eurlex4k", "debian-depends", "arxiv-authors")
SHARES = (0.01, 0.05, 0.2)


def seconds(call: Any) -> tuple[Any, float]:
    """Return the result of a call, and its processor time."""
    started = time.process_time()
    result = call()
    return result, time.process_time() - started


class Scene:
    """A dataset, and how models of it are measured."""

    def __init__(self, name: str, held_out: bool = False) -> None:
        train, test = load(name)
        if held_out:
            rows = np.random.default_rng(9).permutation(train.n_points)
            cut = int(0.85 * len(rows))
            train, test = train[np.sort(rows[:cut])], train[np.sort(rows[cut:])]
        self.name, self.X, self.Y = name, sp.csr_array(train.X), sp.csr_array(train.Y)
        self.test, self.truth = test, sp.csr_array(test.Y)

    def fit(self, rows: Any) -> tuple[Any, float]:
        """Return a model of some points, and the time."""
        return seconds(lambda: lt.LabelTreeClassifier(n_jobs=1).fit(self.X[rows], self.Y[rows]))

    def precision(self, model: Any, labels: Any = None) -> list[float]:
        """Return P@1, P@3 and P@5 in per cent, over all labels or some of them."""
        found, truth = model.predict_topk(self.test.X, 5)[0], self.truth
        if labels is not None:
            truth = sp.csr_array(truth @ sp.diags_array(labels.astype(np.float32)))
            truth.eliminate_zeros()
            rows = np.flatnonzero(np.diff(truth.indptr) > 0)
            if len(rows) == 0:
                return [float("nan")] * 3
            found, truth = found[rows], truth[rows]
        return [100 * precision_at_k(truth, found, k) for k in (1, 3, 5)]

    def row(self, what: str, model: Any, used: float, full: float, is_new: Any) -> None:
        """Print a row of the table."""
        cells = [self.precision(model), self.precision(model, ~is_new), self.precision(model, is_new)]
        words = ["-" if np.isnan(cell[0]) else " / ".join(f"{value:.1f}" for value in cell) for cell in cells]
        print(f"| {self.name} | {what} | {used:.2f} s, {used / full:.0%} | " + " | ".join(words) + " |", flush=True)

    def hold_back(self, share: float) -> tuple[Any, Any, Any]:
        """Return the points without some labels, those with them, and which labels these are."""
        is_new = np.zeros(self.Y.shape[1], dtype=bool)
        n_held = max(int(share * len(is_new)), 1)
        is_new[np.random.default_rng(0).choice(len(is_new), n_held, replace=False)] = True
        has = (self.Y @ is_new.astype(np.float32)) > 0
        return np.flatnonzero(~has), np.flatnonzero(has), is_new

    def hold_back_in_total(self, share: float) -> tuple[Any, Any, Any]:
        """Return the same, with as many new labels in total: points of a label also hold the only points of others."""
        by_label = sp.csc_array(self.Y)
        left = np.diff(by_label.indptr)
        had_points, held = left > 0, np.zeros(self.Y.shape[0], dtype=bool)
        wanted = max(int(share * had_points.sum()), 1)
        for label in np.random.default_rng(0).permutation(np.flatnonzero(had_points)).tolist():
            own = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
            own = own[~held[own]]
            held[own] = True
            left -= np.bincount(self.Y[own].indices, minlength=len(left))
            if (had_points & (left == 0)).sum() >= wanted:
                break
        return np.flatnonzero(~held), np.flatnonzero(held), had_points & (left == 0)

    def new_labels(self, share: float, *, in_total: bool = False) -> None:
        """Compare an update with new labels with a full fit."""
        old, new, is_new = self.hold_back_in_total(share) if in_total else self.hold_back(share)
        both = np.concatenate([old, new])
        full, full_time = self.fit(both)
        base, _ = self.fit(old)
        words = " in total" if in_total else ""
        title = f"{share:.0%} of the labels{words}, {len(new) / len(both):.0%} of the points"
        self.row(f"{title}: full fit", full, full_time, full_time, is_new)
        replay = (self.X[old], self.Y[old])
        for what, how in (
            ("update", {"replay": replay}),
            ("exact", {"replay": replay, "exact": True}),
            ("no replay", {}),
        ):
            model = copy.deepcopy(base)
            _, used = seconds(lambda m=model, h=how: m.update(self.X[new], self.Y[new], **h))
            self.row(f"{title}: {what}", model, used, full_time, is_new)

    def new_points(self, share: float) -> None:
        """Compare an update with new points of old labels with a full fit."""
        rows = np.random.default_rng(1).permutation(self.X.shape[0])
        cut = int((1 - share) * len(rows))
        old, new = np.sort(rows[:cut]), np.sort(rows[cut:])
        seen = np.zeros(self.Y.shape[1], dtype=bool)
        seen[self.Y[old].indices] = True
        new = new[(self.Y[new] @ (~seen).astype(np.float32)) == 0]
        both = np.concatenate([old, new])
        full, full_time = self.fit(both)
        model, _ = self.fit(old)
        title = f"{len(new) / len(both):.0%} new points of old labels"
        self.row(f"{title}: full fit", full, full_time, full_time, np.zeros_like(seen) | True)
        _, used = seconds(lambda: model.update(self.X[new], self.Y[new], replay=(self.X[old], self.Y[old])))
        self.row(f"{title}: update", model, used, full_time, np.zeros_like(seen) | True)

    def in_a_row(self, n: int, share: float = 0.1) -> None:
        """Add labels in many updates."""
        old, new, is_new = self.hold_back(share)
        full, full_time = self.fit(np.concatenate([old, new]))
        model, _ = self.fit(old)
        total = 0.0
        for some in np.array_split(new, n):
            _, used = seconds(lambda s=some, o=old: model.update(self.X[s], self.Y[s], replay=(self.X[o], self.Y[o])))
            total += used
            old = np.concatenate([old, some])
        title = f"{share:.0%} of the labels in {n} updates"
        self.row(f"{title}: full fit", full, full_time, full_time, is_new)
        self.row(f"{title}: updates", model, total, full_time, is_new)

    def forget(self, share: float = 0.001) -> None:
        """Forget a few points."""
        rows = np.arange(self.X.shape[0])
        model, full_time = self.fit(rows)
        gone = np.random.default_rng(2).choice(len(rows), max(int(share * len(rows)), 1), replace=False)
        report, used = seconds(lambda: model.forget(gone, (self.X, self.Y)))
        is_new = np.ones(self.Y.shape[1], dtype=bool)
        self.row(f"{share:.1%} of the points forgotten, {report.kept} classifiers kept", model, used, full_time, is_new)

    def retire(self, share: float = 0.3) -> None:
        """Time searches before and after labels are retired, in turns."""
        model, _ = self.fit(np.arange(self.X.shape[0]))
        n_labels = model.searcher_.n_labels
        gone = np.random.default_rng(3).choice(n_labels, int(share * n_labels), replace=False)
        retired = pickle.loads(pickle.dumps(model)).retire(gone)
        times: dict[str, list[float]] = {"before": [], "retired": []}
        for _ in range(7):
            for what, own in (("before", model), ("retired", retired)):
                times[what].append(seconds(lambda m=own: m.predict_topk(self.test.X, 5, n_jobs=1))[1])
        nodes = [own.predict_topk(self.test.X, 5, return_stats=True)[2].chunks.mean() for own in (model, retired)]
        exact = model.predict_topk(self.test.X, 5, beam=None, exclude=gone)[0]
        same = (retired.predict_topk(self.test.X, 5, beam=None)[0] == exact).mean()
        ratio = min(times["retired"]) / min(times["before"])
        print(
            f"{self.name}: {share:.0%} of the labels retired: search time x {ratio:.2f}, nodes {nodes[0]:.1f} -> "
            f"{nodes[1]:.1f}, time per node x {ratio * nodes[0] / nodes[1]:.2f}; as exact search {same:.2%}",
            flush=True,
        )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--share", type=float, nargs="*", default=SHARES)
    parser.add_argument("--only", choices=("labels", "total", "points", "row", "forget", "retire"))
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--updates", type=int, default=10, metavar="N", help="number of updates in a row")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    if importlib.util.find_spec("napkinxc") is None:
        print("napkinXC is not installed: its online trees are left out\n")
    print(
        "| data | what | processor time | P@1/3/5 all | old labels | new labels |\n"
        "| --- | --- | --- | --- | --- | --- |"
    )
    for name in options.datasets or DATASETS:
        scene = Scene(name, options.held_out)
        if options.only in (None, "labels"):
            for share in options.share:
                scene.new_labels(share)
        if options.only in (None, "total"):
            scene.new_labels(0.01, in_total=True)
        if options.only in (None, "points"):
            scene.new_points(0.05)
        if options.only in (None, "row"):
            scene.in_a_row(options.updates)
        if options.only in (None, "forget"):
            scene.forget()
        if options.only in (None, "retire"):
            scene.retire()


if __name__ == "__main__":
    main()
