"""The result for each of the paper's claims."""

from __future__ import annotations

import numpy as np
from scipy import stats

import labeltrees as lt
from benchmarks.tables import print_head
from labeltrees.tuning.settings import PAPER_GRIDS

GRID = np.array(PAPER_GRIDS["parabel"])
P1, P3, P5, DEPTH1, DEPTH3 = range(5)


def spread(differences: np.ndarray) -> str:
    """Return mean and half of the 95% interval over seeds."""
    mean = differences.mean()
    if len(differences) < 2:
        return f"{mean:+.2f}"
    return f"{mean:+.2f} ± {stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences):.2f}"


def least_depth(values: np.ndarray, precision: int, depth: int) -> str:
    """Return the largest fall of the depth at which the mean precision is not below that of tradeoff 0."""
    means = values.mean(axis=0)
    allowed = np.flatnonzero(means[:, precision] >= means[0, precision])
    best = allowed[np.argmin(means[allowed, depth])]
    change = means[best, depth] / means[0, depth] - 1
    gain = spread(values[:, best, precision] - values[:, 0, precision])
    return f"tradeoff {GRID[best]:.4g}: depth {change:+.0%}, precision {gain}"


def print_claims(curves: dict[str, np.ndarray]) -> None:
    """Print one line per claim about the curves."""
    marginal = curves["marginal"]
    print(f"- Lowest depth@1 without loss of P@1 (the paper: -28% on Wiki-500K): {least_depth(marginal, P1, DEPTH1)}.")
    print(f"- Lowest depth@3 without loss of P@3: {least_depth(marginal, P3, DEPTH3)}.")
    small = np.flatnonzero((GRID > 0) & (GRID <= 1))
    best = small[np.argmax(marginal.mean(axis=0)[small, P1])]
    gains = " / ".join(spread(marginal[:, best, p] - marginal[:, 0, p]) for p in (P1, P3, P5))
    print(f"- Small tradeoffs raise precision: at {GRID[best]:.4g}, P@1 / 3 / 5 {gains}.")
    late = GRID > 1
    difference = (curves["greedy"] - marginal)[:, late].mean(axis=1)
    print(
        f"- Greedy cover hurts P@3 (tradeoffs above 1, greedy minus marginal): P@3 {spread(difference[:, P3])}, "
        f"P@1 {spread(difference[:, P1])}, depth@1 {spread(difference[:, DEPTH1])}."
    )
    print(f"- The direct path is worse: P@1 at the same depth@1, direct minus weighted: {_at_same_depth(curves)}.")


def _at_same_depth(curves: dict[str, np.ndarray]) -> str:
    differences = []
    for weighted, direct in zip(curves["marginal"], curves["direct"], strict=True):
        order = np.argsort(weighted[:, DEPTH1])
        depth, precision = weighted[order, DEPTH1], weighted[order, P1]
        inside = (direct[:, DEPTH1] >= depth[0]) & (direct[:, DEPTH1] <= depth[-1])
        expected = np.interp(direct[inside, DEPTH1], depth, precision)
        differences.append(np.mean(direct[inside, P1] - expected))
    return spread(np.array(differences))


def print_groups(train: lt.Dataset, test: lt.Dataset, tradeoff: float, n_jobs: int) -> None:
    """Print recall at 5 of head, torso and tail labels, at tradeoff 0 and at another one."""
    recall = {}
    for t in (0.0, tradeoff):
        model = lt.LabelTreeClassifier.parabel(tradeoff=t, n_jobs=n_jobs).fit(train.X, train.Y)
        labels, _ = model.predict_topk(test.X, 5)
        recall[t] = lt.metrics.by_frequency(test.Y, labels, 5, Y_train=train.Y)
    print()
    print_head(f"recall@5 of | labels | tradeoff 0 | tradeoff {tradeoff:.4g}")
    for before, after in zip(*recall.values(), strict=True):
        cells = [
            f"{100 * g.recall.value:.2f} ({100 * g.recall.low:.2f} to {100 * g.recall.high:.2f})"
            for g in (before, after)
        ]
        print(f"| {before.name} | {before.n_labels:,} | " + " | ".join(cells) + " |")
