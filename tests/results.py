"""Records of the long runs (fuzzing, faults, kills) in build/, and their tables for benchmarks/results."""

from __future__ import annotations

import datetime
import json
import platform
import sys
from pathlib import Path
from typing import Any

BUILD = Path(__file__).parents[1] / "build"


def add_record(name: str, record: dict[str, Any]) -> None:
    """Print a record, and add it to those of earlier runs."""
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
    BUILD.mkdir(exist_ok=True)
    with (BUILD / f"{name}.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")


def records_of(name: str) -> list[dict[str, Any]]:
    """Return the records of all runs."""
    path = BUILD / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write_table(path: Path, title: str, command: str, records: list[dict[str, Any]]) -> None:
    """Write records as a Markdown table, with totals of the numbers and the command that made it."""
    names = list(records[0])
    totals = ["**all**"]
    for name in names[1:]:
        values = [record[name] for record in records]
        totals.append(str(sum(values)) if all(isinstance(value, int) for value in values) else "")
    rows = [[_cell(record[name]) for name in names] for record in records] + [totals]
    lines = [f"# {title}", "", f"`{command.strip()}`, {datetime.date.today()}, Python {platform.python_version()}.", ""]
    lines += [f"| {' | '.join(name.replace('_', ' ') for name in names)} |", "| --- " * len(names) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    path.write_text("\n".join(lines) + "\n")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "none" if not value else "; ".join(map(str, value)).replace("|", "/")
    return str(value)
