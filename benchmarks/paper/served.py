"""How many points the most frequent labels serve: the records of figures 1 and 6."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from statistics import NormalDist

import labeltrees as lt
from benchmarks.paper import records
from benchmarks.paper.datasets import load_set
from benchmarks.paper.grid import READING
from benchmarks.paper.intervals import LEVEL, Interval
from benchmarks.shared_data import data_folder, read_records


def record_imbalance(path: Path, sets: Iterable[str]) -> None:
    """Write one record per set, unless it is there."""
    found = {record["dataset"]: record for record in records.read(path) if record["reading"] == READING}
    for name in sets:
        if name not in found:
            result = lt.imbalance(_training_labels(name))
            found[name] = {
                "dataset": name,
                "reading": READING,
                "n_labels": result.n_labels,
                "n_points": result.n_points,
                "top_percent": result.top_percent,
                "table": [{key: round(value, 6) for key, value in row.items()} for row in result.table()],
            }
    records.write(path, found.values())


def _training_labels(name: str) -> object:
    if name == "cooking":  # texts only; its features are not needed
        from sklearn.preprocessing import MultiLabelBinarizer

        _, labels = read_records(data_folder(name) / "train.jsonl.xz")
        return MultiLabelBinarizer(sparse_output=True).fit_transform(labels)
    return load_set(name)[0].Y


def top_percent(record: records.Record) -> Interval:
    """Return the share of the points, in percent, that 1 % of the labels serve, with Wilson's interval over points."""
    share, n = record["top_percent"], record["n_points"]
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(100 * share, 100 * (centre - half), 100 * (centre + half))
