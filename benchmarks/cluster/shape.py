"""Fit synthetic data of the paper's shapes from parts on disk, within a limit of memory: time and memory per stage.

Each size is made, trained and searched in processes of their own; sizes that are in the records are not run again.
`python -m benchmarks.cluster model` fits a model of cost to the records.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.scale.shapes import SHAPES

RECORDS = Path(__file__).resolve().parents[1] / "results" / "cluster_shape.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--shape", default="amazon-3m-shape", choices=list(SHAPES))
    parser.add_argument("--scales", nargs="+", type=float, default=[0.01, 0.03, 0.1, 0.3])
    parser.add_argument("--points-per-part", type=int, default=250_000)
    parser.add_argument("--max-memory", default="5GiB", help="of what the fit allocates; the process takes more")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--records", type=Path, default=RECORDS)


def run(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the table of all records of the shape."""
    records = read_records(arguments.records, arguments.shape)
    for scale in arguments.scales:
        if any(record["scale"] == scale for record in records):
            continue
        parts, model = folder / f"{arguments.shape}-{scale:g}.parts", folder / "model"
        if not parts.exists():
            _call("make", arguments.shape, scale, arguments.points_per_part, parts)
        fitted = _call("fit", parts, model, arguments.jobs, arguments.max_memory)
        searched = _call("search", parts, model)
        shape = SHAPES[arguments.shape].scaled(scale)._asdict()
        records.append({"shape": arguments.shape, "scale": scale, **shape, **fitted, **searched})
        with open(arguments.records, "a", encoding="utf-8") as file:
            file.write(json.dumps(records[-1]) + "\n")
    return table(records)


def read_records(path: Path, shape: str) -> list[dict[str, Any]]:
    """Return the records of a shape, the smallest first."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = [record for record in map(json.loads, lines) if record["shape"] == shape]
    return sorted(found, key=lambda record: record["scale"])


def table(records: list[dict[str, Any]]) -> list[str]:
    """Return one line per size."""
    lines = [
        "| shape | share | points | labels | max_memory | processor s | peak MiB | files MiB | us per query |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for record in sorted(records, key=lambda record: record["scale"]):
        n_bytes = sum(stage["bytes"] for stage in record["stages"].values())
        lines.append(
            f"| {record['shape']} | {100 * record['scale']:g} % | {record['n_train']:,} | {record['n_labels']:,} | "
            f"{record['max_memory']} | {record['processor']:.0f} | {record['peak'] / 2**20:.0f} | "
            f"{n_bytes / 2**20:.0f} | {record['us_per_query']:.0f} |"
        )
    return lines


def _call(*command: Any) -> dict[str, Any]:
    """Run one step in a process of its own, so that its memory can be measured."""
    words = [sys.executable, "-m", "benchmarks.cluster.shape_steps", *map(str, command)]
    return dict(json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout))
