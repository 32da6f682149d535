"""The file format of a SweepResult: JSON with a version, checked when it is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from labeltrees._files import refuse_file
from labeltrees.baselines.table import BASELINES
from labeltrees.metrics.table import find_metric

if TYPE_CHECKING:
    from labeltrees.tuning.result import SweepResult

FORMAT, VERSION = "labeltrees sweep result", 3  # 2: more metrics, baselines; 3: columns of other parameters
_METRICS = {1: ("p", "ndcg", "psp", "depth"), 2: ("p", "ndcg", "psp", "depth", "recall", "fscore", "coverage")}
_OF_BASELINES = ("p", "recall", "fscore", "ndcg", "coverage")
_KEYS = {"format", "version", "table", "facts", "details", "chosen", "explanation"}
_SINCE_2: dict[str, Any] = {"baselines": [], "comparison": None}  # with the values that a file of version 1 gets
_FACTS = {"data": dict, "machine": dict, "estimator": dict, "k": list, "measured": dict}
_DETAILS = {"settings": dict, "frequencies": dict, "examples": list}
_DETAILS_OF_SETTING = {
    "height": int,
    "n_nodes": int,
    "labels_per_depth": list,
    "mass_per_depth": list,
    "top": dict,
    "looks": list,
}


def to_record(result: SweepResult) -> dict[str, Any]:
    """Return a result as one record; a result read from a file of version 1 is written as version 1."""
    is_old = f"recall{result.ks[0]}" not in result.table[0]
    return {
        "format": FORMAT,
        "version": 1 if is_old else 3 if result.facts.get("varied") else 2,
        "facts": result.facts,
        "chosen": result.chosen,
        "explanation": result.explanation,
        **({} if is_old else {"comparison": result.comparison, "baselines": result.baselines}),
        "table": result.table,
        "details": result.details,
    }


def from_record(record: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of a `SweepResult` from the record of a file; errors name the file."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        refuse_file(path, "not a sweep result; labeltrees sweep and choose write them")
    version = record.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        refuse_file(path, f"format version {version!r}; this labeltrees reads versions 1 to {VERSION}")
    keys = _KEYS if version == 1 else _KEYS | _SINCE_2.keys()
    if set(record) != keys:
        refuse_file(path, f"keys missing or unknown: {sorted(set(record) ^ keys)}")
    record = _SINCE_2 | record
    _check_types(path, "facts", record["facts"], _FACTS)
    _check_types(path, "details", record["details"], _DETAILS)
    ks = record["facts"]["k"]
    if not ks or not all(type(k) is int and k >= 1 for k in ks):
        refuse_file(path, "facts.k is not a list of positive integers")
    names = _check_table(path, record["table"], ks, version, record["facts"].get("varied", []))
    types = _DETAILS_OF_SETTING if version == 1 else _DETAILS_OF_SETTING | {"intervals": dict}
    for name in names:
        details = record["details"]["settings"].get(name)
        _check_types(path, f"the details of {name}", details, types)
        _check_intervals(path, f"the details of {name}", details.get("intervals", {}))
    _check_baselines(path, record["baselines"], ks)
    for key in ("chosen", "explanation", "comparison"):
        if not isinstance(record[key], str | None):
            refuse_file(path, f"{key} is not a string")
    if record["chosen"] is not None and record["chosen"] not in names:
        refuse_file(path, f"the chosen setting {record['chosen']!r} is not in the table")
    return {key: record[key] for key in ("table", "facts", "details", "chosen", "explanation", *_SINCE_2)}


def _check_table(path: Any, table: Any, ks: list[int], version: int, varied: Any) -> list[str]:
    if not isinstance(table, list) or not table:
        refuse_file(path, "the table is empty or not a list")
    if not isinstance(varied, list) or not all(isinstance(name, str) for name in varied):
        refuse_file(path, "facts.varied is not a list of names")
    needed = {"setting", "tradeoff", "fanout", "cover", "path", "chunks", "classifiers", "batch_us", "tree_seconds"}
    needed |= {"training_seconds", "model_bytes", *varied, *_columns(_METRICS[min(version, 2)], ks)}
    needed |= {f"top{k}_p{percentile}_us" for k in {1, max(ks)} for percentile in (50, 99)}
    texts = {"setting", "cover", "path"}
    known = set(table[-1]) if isinstance(table[-1], dict) else needed
    for number, row in enumerate(table):
        odd = (
            row
            if not isinstance(row, dict)
            else sorted((needed - set(row)) | _unknown(row, needed) | (set(row) ^ known))
        )
        if odd or not isinstance(row, dict):
            refuse_file(path, f"record {number}: columns missing or unknown: {odd}"[:300])
        for name, value in row.items():
            sound = isinstance(value, str) if name in texts else _is_number(value)
            sound = (
                sound or (name == "fanout" and value == "auto") or (name in varied and isinstance(value, str | bool))
            )
            if not sound and (value is not None or name in ("setting", "tradeoff")):
                refuse_file(path, f"record {number}: {name} is {value!r}"[:300])
    names = [row["setting"] for row in table]
    if len(set(names)) < len(names):
        refuse_file(path, "a setting occurs twice in the table")
    return names


def _columns(names: tuple[str, ...], ks: list[int]) -> set[str]:
    return {f"{name}{k}" for name in names for k in ks}


def _unknown(row: dict[str, Any], needed: set[str]) -> set[str]:
    """Return the columns that are neither needed nor a metric."""
    return {name for name in row if name not in needed and find_metric(name) is None}


def _check_baselines(path: Any, baselines: Any, ks: list[int]) -> None:
    if not isinstance(baselines, list):
        refuse_file(path, "baselines is not a list")
    needed = {"baseline", "intervals", *_columns(_OF_BASELINES, ks)}
    for number, row in enumerate(baselines):
        if not isinstance(row, dict) or not needed <= set(row) or _unknown(row, needed):
            refuse_file(path, f"baseline {number}: columns missing or unknown")
        numbers = [value for name, value in row.items() if name not in ("baseline", "intervals")]
        if row["baseline"] not in BASELINES or not all(map(_is_number, numbers)):
            refuse_file(path, f"baseline {number}: damaged")
        _check_intervals(path, f"baseline {number}", row["intervals"])


def _check_intervals(path: Any, what: str, intervals: Any) -> None:
    sound = isinstance(intervals, dict) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) for pair in intervals.values()
    )
    if not sound:
        refuse_file(path, f"{what}: intervals are damaged")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_types(path: Any, what: str, mapping: Any, types: dict[str, Any]) -> None:
    if not isinstance(mapping, dict):
        refuse_file(path, f"{what}: missing, or not an object")
    for name, kind in types.items():
        if not isinstance(mapping.get(name), kind):
            refuse_file(path, f"{what}: {name} is missing, or not of type {kind.__name__}")
