"""Baselines as tables: beside the models of a sweep, and alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from labeltrees.cli.output import make_table, plural, print_table, with_margin
from labeltrees.tuning.baseline_table import MEANINGS
from labeltrees.tuning.quality import metric_title
from labeltrees.tuning.result import SweepResult


def print_baselines_of(out: Console, result: SweepResult) -> None:
    """Print the baselines of a sweep: one line each, with precision and nDCG."""
    if not result.baselines:
        return
    columns = [f"p{k}" for k in result.ks] + [f"ndcg{max(result.ks)}"]
    n_all = result.facts["data"]["n_validation_points"]
    n_measured = result.facts["measured"].get("baseline_points", n_all)
    points = "the same points" if n_measured == n_all else f"{n_measured:,} of the {n_all:,} validation points"
    out.print(f"\nBaselines on {points} (%, ± half of the 95 % interval):")
    rows = [(record["baseline"], *(cell(record, column) for column in columns)) for record in result.baselines]
    print_table(out, make_table(("", *map(metric_title, columns)), rows))


def print_comparison(out: Console, records: Sequence[dict[str, Any]], ks: Sequence[int]) -> None:
    """Print baselines side by side: one column each, one line per metric."""
    names = [f"p{k}" for k in ks] + [f"{name}{max(ks)}" for name in ("recall", "fscore", "ndcg", "coverage")]
    weighted = [f"weighted_{name}" for name in (*(f"p{k}" for k in ks), f"recall{max(ks)}", f"ndcg{max(ks)}")]
    names += [name for name in weighted if name in records[0]]
    rows = [(metric_title(name), *(cell(record, name) for record in records)) for name in names]
    print_table(out, make_table(("%", *(record["baseline"] for record in records)), rows))
    out.print("\n± is half of the 95 % confidence interval.")
    for record in records:
        out.print(f"{record['baseline']}: {MEANINGS[record['baseline']]}")


def cell(record: dict[str, Any], column: str) -> str:
    """Return a value in percent with the half-width of its interval."""
    return with_margin(record[column], *record["intervals"][column])


def held_out_note(n_points: int, data: str, seed: int) -> str:
    """Return the sentence that says which points were measured if no validation data was given."""
    return f"Measured on {plural(n_points, 'point')} of {data}, held out from training at random (seed {seed})."
