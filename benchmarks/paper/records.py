"""Records as JSON lines: one per finished run, so that an interrupted reproduction continues where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read(path: Path) -> list[Record]:
    """Return the records of a file, or none if there is no file. A last line that was cut off is dropped."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    records = []
    for number, line in enumerate(lines):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number < len(lines) - 1:
                message = f"{path}, line {number + 1}: not a JSON record ({error}); remove the line and run again"
                raise SystemExit(message) from error
    return records


def append(path: Path, record: Record) -> None:
    """Add one record. It starts on a new line even if the last record was cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    if cut_off:
        write(path, read(path))
    with open(path, "a", encoding="utf-8") as file:
        file.write(as_line(record))


def write(path: Path, records: Iterable[Record]) -> None:
    """Replace the records of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text("".join(as_line(record) for record in records), encoding="utf-8")
    unfinished.replace(path)


def as_line(record: Record) -> str:
    """Return a record as one line of JSON."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"
