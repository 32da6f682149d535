"""Measurements that are kept between runs: one folder per dataset and contestant, with a record and the lists.

While a peer is tuned, every measurement is a line of tuning.jsonl, so that an interrupted run continues there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.precision.datasets import Data

KS = (1, 3, 5)


def folder_of(data: Data, contestant: str) -> Path:
    """Return the folder of a contestant's measurements."""
    return data.folder / "records" / contestant


def read_record(data: Data, contestant: str) -> dict[str, Any] | None:
    """Return the record of a contestant, or None if it was not measured yet."""
    file = folder_of(data, contestant) / "record.json"
    return json.loads(file.read_text()) if file.exists() else None


def keep_record(data: Data, contestant: str, labels: Any, facts: dict[str, Any]) -> None:
    """Measure lists of labels on the test set, and keep them with other facts: seconds, microseconds, settings."""
    folder = folder_of(data, contestant)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "labels.npy", np.asarray(labels)[:, : max(KS)])
    record = {**facts, "p": {}, "psp": {}}
    propensities = lt.metrics.label_propensities(data.train.Y)
    for k in KS:
        estimate = lt.metrics.estimate_at_k(data.test.Y, labels, k)["precision"]
        record["p"][k] = [estimate.value, estimate.low, estimate.high]
        record["psp"][k] = lt.metrics.psp_at_k(data.test.Y, labels, k, propensities=propensities)
    (folder / "record.json").write_text(json.dumps(record, indent=1))


class Tuning:
    """nDCG@5 of a peer's settings on the validation points, kept in a file."""

    def __init__(self, data: Data, contestant: str) -> None:
        self._file = folder_of(data, contestant) / "tuning.jsonl"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._found = {_key(settings): value for settings, value in map(json.loads, lines)}
        self._name = f"{data.name} {contestant}"

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, settings: dict[str, Any]) -> bool:
        return _key(settings) in self._found

    def __getitem__(self, settings: dict[str, Any]) -> float:
        return self._found[_key(settings)]

    def keep(self, settings: dict[str, Any], value: float) -> None:
        """Keep a measurement."""
        self._found[_key(settings)] = value
        with self._file.open("a") as file:
            file.write(json.dumps([settings, value]) + "\n")
        print(f"{self._name} {settings}: {value:.4f}", file=sys.stderr, flush=True)

    def best(self) -> dict[str, Any]:
        """Return the settings with the highest value."""
        return dict(json.loads(max(self._found, key=lambda key: self._found[key])))


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def hits_of(data: Data, contestant: str, k: int) -> Any:
    """Return the precision at k of each test point."""
    labels = np.load(folder_of(data, contestant) / "labels.npy")[:, :k]
    true = data.test.Y
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    found = np.asarray(true[rows, np.maximum(labels, 0).ravel()]).reshape(labels.shape) > 0
    return (found & (labels >= 0)).mean(axis=1)
