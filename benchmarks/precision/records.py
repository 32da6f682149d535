"""Measurements that are kept between runs: one folder per dataset and contestant, with a record and the lists."""

from __future__ import annotations

import json
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


def hits_of(data: Data, contestant: str, k: int) -> Any:
    """Return the precision at k of each test point."""
    labels = np.load(folder_of(data, contestant) / "labels.npy")[:, :k]
    true = data.test.Y
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    found = np.asarray(true[rows, np.maximum(labels, 0).ravel()]).reshape(labels.shape) > 0
    return (found & (labels >= 0)).mean(axis=1)
