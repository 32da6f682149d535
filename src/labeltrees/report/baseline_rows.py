"""The baselines as a table of texts, with the model to compare them with."""

from __future__ import annotations

from typing import Any

from labeltrees.report.names import column_title
from labeltrees.tuning.result import SweepResult

_SHOWN = ("p", "recall", "fscore", "ndcg", "coverage", "weighted_p", "weighted_recall", "weighted_ndcg")


def baseline_rows(result: SweepResult) -> dict[str, Any]:
    """Return headings, rows, and the sentences that compare the model with the baselines."""
    if not result.baselines:
        return {"columns": [], "rows": [], "note": ""}
    largest, first = max(result.ks), f"p{result.ks[0]}"
    columns = [f"p{k}" for k in result.ks] + [f"{name}{largest}" for name in _SHOWN if name != "p"]
    columns = [column for column in columns if column in result.table[0]]
    best = result.chosen or max(result.table, key=lambda record: record[first])["setting"]
    model = {"baseline": best, **result.record(best), "intervals": result.details["settings"][best]["intervals"]}
    kind = "chosen model" if result.chosen else "most precise model"
    return {
        "columns": ["", *(column_title(column) for column in columns)],
        "rows": [
            [kind if record is model else record["baseline"], *(_cell(record, column) for column in columns)]
            for record in (model, *result.baselines)
        ],
        "note": _note(result),
    }


def _cell(record: dict[str, Any], column: str) -> list[str]:
    """Return the value, and its interval for the line below it."""
    low, high = record["intervals"][column]
    return [f"{100 * record[column]:.2f}", f"{100 * low:.1f} to {100 * high:.1f}"]


def _note(result: SweepResult) -> str:
    n_all = result.facts["data"]["n_validation_points"]
    n_measured = result.facts["measured"].get("baseline_points", n_all)
    part = (
        "" if n_measured == n_all else f" Baselines are measured on {n_measured:,} of the {n_all:,} validation points."
    )
    return f"{result.comparison or ''} Small numbers: 95 % confidence intervals.{part}".strip()
