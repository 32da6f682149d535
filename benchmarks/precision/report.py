"""The tables of the comparison, and which of its goals are met."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from benchmarks.precision.contestants import ALL, BASELINES, CHOOSE, CHOOSE_TEXTS, OURS, PEERS
from benchmarks.precision.datasets import Data
from benchmarks.precision.records import KS, hits_of, read_record
from benchmarks.tables import print_head, slashed


def report(data: Data) -> None:
    """Print the table of one dataset, and the differences between ours and the best peer."""
    records = {name: record for name in ALL if (record := read_record(data, name)) is not None}
    print(
        f"\n## {data.name}: {data.train.n_points:,} points, {data.train.n_features:,} features, "
        f"{data.train.n_labels:,} labels, {data.test.n_points:,} test points\n"
    )
    print_head("model | P@1 / 3 / 5 | 95 % interval of P@1 | PSP@1 / 3 / 5 | us per query | training s | settings")
    for name, record in records.items():
        precision = [100 * record["p"][str(k)][0] for k in KS]
        low, high = (100 * bound for bound in record["p"]["1"][1:])
        print(
            f"| {name} | {slashed(precision)} | {low:.2f} to {high:.2f} "
            f"| {slashed([100 * record['psp'][str(k)] for k in KS])} | {record['us']:.1f} "
            f"| {record['seconds']:.1f} | {_settings(record['settings'])} |"
        )
    missing = [name for name in ALL if name not in records]
    if missing:
        print(f"\nNot measured: {', '.join(missing)}.")
    peers = [name for name in PEERS if name in records]
    for ours in OURS:
        if ours in records and peers:
            print(f"\n{ours} minus the best peer: {_differences(data, records, ours, peers)}.")
        for baseline in BASELINES:
            if ours in records and baseline in records and _value(records, ours, 1) <= _value(records, baseline, 1):
                print(f"\n{ours} does not beat {baseline} at P@1.")
    for name in (CHOOSE, CHOOSE_TEXTS):
        if name in records:
            print(f"\n{name}, in words: {records[name]['explanation']}")


def _differences(data: Data, records: dict[str, Any], ours: str, peers: list[str]) -> str:
    parts = []
    for k in KS:
        best = max(peers, key=lambda name: _value(records, name, k))
        difference = 100 * (hits_of(data, ours, k) - hits_of(data, best, k))
        half = stats.t.ppf(0.975, len(difference) - 1) * stats.sem(difference)
        parts.append(f"P@{k} {np.mean(difference):+.2f} ± {half:.2f} ({best})")
    fastest = min(records[name]["us"] for name in peers)
    return ", ".join(parts) + f"; the fastest of them takes {fastest / records[ours]['us']:.1f} times as long per query"


def _value(records: dict[str, Any], name: str, k: int) -> float:
    return float(records[name]["p"][str(k)][0])


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "-"
