"""Baselines as tables: beside the models of a sweep, and alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from labeltrees.cli.output import plural, with_margin
from labeltrees.cli.tables import Cell, Column, make_table
from labeltrees.tuning.baseline_table import MEANINGS
from labeltrees.tuning.holding_out import AT_RANDOM
from labeltrees.tuning.quality import metric_title
from labeltrees.tuning.result import SweepResult


def print_baselines_of(out: Console, result: SweepResult) -> None:
    """Print a model of a sweep, the chosen or else the most precise one, and the baselines: one line each."""
    if not result.baselines:
        return
    largest, first = max(result.ks), f"p{result.ks[0]}"
    weighted = f"weighted_p{largest}"
    columns = [*(f"p{k}" for k in result.ks), weighted if weighted in result.table[0] else f"ndcg{largest}"]
    n_all = result.facts["data"]["n_validation_points"]
    n_measured = result.facts["measured"].get("baseline_points", n_all)
    points = "the same points" if n_measured == n_all else f"{n_measured:,} of the {n_all:,} validation points"
    best = result.chosen or max(result.table, key=lambda record: record[first])["setting"]
    model = {**result.record(best), "intervals": result.details["settings"][best]["intervals"]}
    rows = [("chosen model" if result.chosen else "most precise model", *(cell(model, column) for column in columns))]
    rows += [(record["baseline"], *(cell(record, column) for column in columns)) for record in result.baselines]
    out.print(f"\nBaselines, measured on {points} (%, ± half of the 95 % interval):")
    out.print(make_table(("", *map(metric_title, columns)), rows))


def print_comparison(out: Console, records: Sequence[dict[str, Any]], ks: Sequence[int]) -> None:
    """Print baselines side by side: one column each, one line per metric."""
    names = [f"p{k}" for k in ks] + [f"{name}{max(ks)}" for name in ("recall", "fscore", "ndcg", "coverage")]
    weighted = [f"weighted_{name}" for name in (*(f"p{k}" for k in ks), f"recall{max(ks)}", f"ndcg{max(ks)}")]
    names += [name for name in weighted if name in records[0]]
    rows: list[tuple[str | Cell, ...]] = [
        (metric_title(name), *(cell(record, name) for record in records)) for name in names
    ]
    out.print(make_table(("%", *(_column(record["baseline"]) for record in records)), rows))
    out.print("\n± is half of the 95 % confidence interval.")
    for record in records:
        out.print(f"{record['baseline']}: {MEANINGS[record['baseline']]}")


def _column(baseline: str) -> Column:
    return Column(baseline, short=baseline.split()[0])


def cell(record: dict[str, Any], column: str) -> Cell:
    """Return a value in percent with the half-width of its interval."""
    return with_margin(record[column], *record["intervals"][column])


def held_out_note(n_points: int, data: str, how: str, seed: int) -> str:
    """Return the sentence that says which points were measured if no validation data was given."""
    drawn = f" (seed {seed})" if how == AT_RANDOM else ""
    return f"Measured on {plural(n_points, 'point')} of {data}, held out from training {how}{drawn}."
