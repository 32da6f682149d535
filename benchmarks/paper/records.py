"""The models to train and their records: one JSON line per finished run, so that an interrupted command continues."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from labeltrees.tuning.candidates import PAPER_GRIDS

# Raise it when the meaning of trees, of the search of `parabel()` or of `imbalance` changes: records of another reading
# of the paper are made again. Trees that only have other random starts keep it.
READING = 2

# The colours are those of the paper's figure 3.
VARIANTS = {
    "marginal": ("marginal", "weighted"),  # blue: the paper's method
    "greedy": ("greedy", "weighted"),  # orange
    "direct": ("marginal", "direct"),  # green
    "direct, greedy": ("greedy", "direct"),  # red
}
TEST, VALIDATION = PARTS = ("test", "validation")


class Run(NamedTuple):
    """One model to train and measure.

    With part "validation" it is trained on a part of the training points and measured on the others.
    """

    dataset: str
    part: str
    cover: str
    path: str
    tradeoff: float
    seed: int


def same_model(run: Run) -> Run:
    """Return the run that stands for all runs whose tree is equal by definition.

    The weighted path uses the cover only above tradeoff 1; at tradeoff 0 all four variants are balanced 2-means.
    """
    path = "weighted" if run.tradeoff == 0 else run.path
    cover = "marginal" if path == "weighted" and run.tradeoff <= 1 else run.cover
    return run._replace(path=path, cover=cover, tradeoff=round(run.tradeoff, 6))


def runs_of(
    dataset: str, tradeoffs: Iterable[float], seeds: Iterable[int], variants: Iterable[str], parts: Iterable[str]
) -> Iterator[Run]:
    """Yield the runs of a dataset, each once. The validation split only needs the paper's own variant."""
    seen = set()
    for seed in seeds:
        for part in parts:
            for variant in variants if part == TEST else ["marginal"]:
                for tradeoff in tradeoffs:
                    run = same_model(Run(dataset, part, *VARIANTS[variant], tradeoff, seed))
                    if run not in seen:
                        seen.add(run)
                        yield run


def grid_of(kind: str) -> list[float]:
    """Return the paper's tradeoffs for "parabel", "fasttext" or "logs", rounded as in the records."""
    return [round(tradeoff, 6) for tradeoff in PAPER_GRIDS[kind]]


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


def check_consistent(records: Iterable[Record]) -> None:
    """Raise an error unless all records of a dataset, part and reading were measured on the same weighted points.

    Records with a `split` only have to agree with others of the same split.

    `weights` are sums over fixed groups of points, so that they show other points or weights; `data` is a hash of the
    points, which older records lack.
    """
    first: dict[tuple[Any, ...], Record] = {}
    for record in records:
        known = first.setdefault(tuple(record.get(name) for name in ("dataset", "part", "reading", "split")), record)
        if "data" in record and "data" not in known:
            known["data"] = record["data"]
        if any(record.get(name, known.get(name)) != known.get(name) for name in ("n_points", "weights", "data")):
            run = {name: record[name] for name in Run._fields}
            message = (
                f"other points or weights than in the first record of its dataset and part: {run}; remove the records "
                "that do not belong, and train them again"
            )
            raise SystemExit(message)
