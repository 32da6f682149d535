"""Searches with a budget: how much of the exact result they find with limited chunks or time.

    python -m benchmarks.budgets [--sets eurlex4k debian-depends delicious arxiv-authors] [--repeats 3]
        [--cache FOLDER]

The default model, the 5 best labels, one thread; budgets take turns. Models are taken from the cache folder of `python
-m benchmarks.frontier`, or trained if they are missing. Charts are written to benchmarks/results/budgets-<set>.png.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import labeltrees as lt
from benchmarks.frontier import grid
from benchmarks.frontier.__main__ import SETS
from benchmarks.frontier.cache import FOLDER, SetCache
from benchmarks.frontier.train import train_all
from benchmarks.png import save_png
from benchmarks.tables import print_head
from labeltrees.report.charts import COLOURS, altair, styled

RESULTS = Path(__file__).parent / "results"
K = 5
CHUNKS = (1, 2, 3, 5, 8, 12, 20, 40)
MICROSECONDS = (2, 5, 10, 20, 50, 100)
KINDS = {"max_chunks": "limit on chunks", "max_microseconds": "limit on microseconds"}


@dataclass
class Budget:
    """A limit on each search, and the measurements of each turn."""

    limits: dict[str, int]
    microseconds: list[Any] = field(default_factory=list)  # per query
    found: list[float] = field(default_factory=list)  # share of the exact labels that were found
    partial: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The limit in words."""
        return "none (exact)" if not self.limits else " ".join(f"{name} {limit}" for name, limit in self.limits.items())

    def take_turn(self, model: Any, X: Any, Y: Any, exact: Any) -> None:
        """Search for all queries once and keep the measurements."""
        labels, _, stats = model.predict_topk(X, K, beam=None, n_jobs=1, return_stats=True, **self.limits)
        self.microseconds.append(stats.microseconds)
        self.found.append(share_found(labels, exact))
        self.partial.append(float(stats.partial.mean()))
        self.precision.append(100 * lt.metrics.precision_at_k(Y, labels, K))

    def row(self) -> dict[str, Any]:
        """Return means over queries and turns; for times, the mean of each query's fastest turn.

        With a time limit, turns differ in what they find.
        """
        kind = next(iter(self.limits), None)
        return {
            "kind": kind,
            "limit": None if kind is None else self.limits[kind],
            "us": float(np.min(self.microseconds, axis=0).mean()),
            "found": 100 * float(np.mean(self.found)),
            "partial": 100 * float(np.mean(self.partial)),
            "p5": float(np.mean(self.precision)),
        }


def share_found(labels: Any, exact: Any) -> float:
    """Return the mean share of each row's exact labels that were found; -1 is padding in both."""
    there = (labels[:, None, :] == exact[:, :, None]).any(axis=2) & (exact >= 0)
    return float((there.sum(axis=1) / np.maximum((exact >= 0).sum(axis=1), 1)).mean())


def compare(cache: SetCache, repeats: int) -> list[Budget]:
    """Measure the budgets on one set."""
    default = next(m for m in grid.models(cache.set_name, cache.facts()) if m.name == "tradeoff 1.0, fanout 128")
    train_all(cache, [default], threads=2, max_seconds=900)
    model = lt.load(cache.models / default.name, in_memory=True)
    X, Y = sp.load_npz(cache.data / "Xt.npz").tocsr(), cache.test_labels()
    exact = model.predict_topk(X, K, beam=None)[0]
    budgets = [Budget({})]
    budgets += [Budget({"max_chunks": limit}) for limit in CHUNKS]
    budgets += [Budget({"max_microseconds": limit}) for limit in MICROSECONDS]
    for _ in range(repeats):
        for budget in budgets:
            budget.take_turn(model, X, Y, exact)
    return budgets


def report(cache: SetCache, budgets: list[Budget]) -> None:
    """Print the table of one set."""
    facts = cache.facts()
    print(f"\n## {cache.set_name}: {facts['labels']:,} labels, {facts['queries']:,} queries\n")
    print(f"![Share of the exact top-5 against time, {cache.set_name}](budgets-{cache.set_name}.png)\n")
    print_head("limit | exact top-5 found (%) | flagged partial (%) | us per query | P@5")
    for budget in budgets:
        row = budget.row()
        print(f"| {budget.name} | {row['found']:.2f} | {row['partial']:.1f} | {row['us']:.2f} | {row['p5']:.2f} |")


def draw(set_name: str, budgets: list[Budget]) -> None:
    """Save the chart of one set: share of the exact labels found, and precision, against time."""
    alt = altair()
    rows = [budget.row() for budget in budgets]
    title = f"{set_name}: exact search stopped by a limit (the number at each point)"
    panels = [panel(rows, "found", "exact top-5 found (%)"), panel(rows, "p5", "P@5 (%)")]
    chart = styled(alt.hconcat(*panels, title=title, spacing=30)).configure_legend(orient="bottom", labelFontSize=12)
    save_png(chart, RESULTS / f"budgets-{set_name}.png")


def panel(rows: list[dict[str, Any]], y: str, title: str) -> Any:
    """Return one panel; the first row is the exact search."""
    alt = altair()
    exact, limited = rows[0], [{**row, "kind": KINDS[row["kind"]]} for row in rows[1:]]
    kinds = list(KINDS.values())
    shape = alt.Shape("kind:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "square"]))
    base = alt.Chart(alt.Data(values=limited)).encode(
        x=alt.X(
            "us:Q",
            title="microseconds per query",
            scale=alt.Scale(type="log", nice=False, padding=18),
            axis=alt.Axis(
                values=[a * 10**b for b in range(-1, 4) for a in (1, 1.5, 2, 3, 5, 7)], format="~g", labelOverlap=True
            ),
        ),
        y=alt.Y(f"{y}:Q", title=title, scale=alt.Scale(zero=False, nice=False, padding=16)),
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=kinds, range=COLOURS[:2])),
    )
    names = base.transform_filter("datum.found < 99").encode(text="limit:Q")
    of_chunks = f"datum.kind == '{KINDS['max_chunks']}'"
    return alt.layer(
        alt.Chart(alt.Data(values=[exact])).mark_rule(color="black", strokeDash=[2, 3]).encode(x="us:Q"),
        base.mark_line(strokeWidth=1.8).encode(order="limit:Q"),
        base.mark_point(filled=True, size=50, opacity=1).encode(shape=shape),
        names.transform_filter(of_chunks).mark_text(dx=-6, dy=-9, align="right"),
        names.transform_filter(f"!({of_chunks})").mark_text(dx=6, dy=11, align="left"),
    ).properties(width=340, height=250)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=FOLDER)
    options = parser.parse_args()
    print(
        "Exact best-first search stopped by a limit; top-5, one thread. Times are of the search only, each query's "
        f"fastest of {options.repeats} turns. The dotted line is exact search without a limit."
    )
    for name in options.sets:
        cache = SetCache(options.cache, name)
        cache.make_data()
        budgets = compare(cache, options.repeats)
        report(cache, budgets)
        draw(name, budgets)


if __name__ == "__main__":
    main()
