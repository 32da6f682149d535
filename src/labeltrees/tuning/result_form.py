"""The file format of a SweepResult: JSON with a version, checked when it is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from labeltrees._files import refuse_file

if TYPE_CHECKING:
    from labeltrees.tuning.result import SweepResult

FORMAT, VERSION = "labeltrees sweep result", 1
_KEYS = {"format", "version", "table", "facts", "details", "chosen", "explanation"}
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
    """Return a result as one record."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "facts": result.facts,
        "chosen": result.chosen,
        "explanation": result.explanation,
        "table": result.table,
        "details": result.details,
    }


def from_record(record: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of a `SweepResult` from the record of a file; errors name the file."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        refuse_file(path, "not a sweep result; labeltrees sweep and choose write them")
    if record.get("version") != VERSION:
        refuse_file(path, f"format version {record.get('version')!r}; this labeltrees reads version {VERSION}")
    if set(record) != _KEYS:
        refuse_file(path, f"keys missing or unknown: {sorted(set(record) ^ _KEYS)}")
    _check_types(path, "facts", record["facts"], _FACTS)
    _check_types(path, "details", record["details"], _DETAILS)
    ks = record["facts"]["k"]
    if not ks or not all(type(k) is int and k >= 1 for k in ks):
        refuse_file(path, "facts.k is not a list of positive integers")
    names = _check_table(path, record["table"], ks)
    for name in names:
        _check_types(path, f"the details of {name}", record["details"]["settings"].get(name), _DETAILS_OF_SETTING)
    for key in ("chosen", "explanation"):
        if not isinstance(record[key], str | None):
            refuse_file(path, f"{key} is not a string")
    if record["chosen"] is not None and record["chosen"] not in names:
        refuse_file(path, f"the chosen setting {record['chosen']!r} is not in the table")
    return {key: record[key] for key in ("table", "facts", "details", "chosen", "explanation")}


def _check_table(path: Any, table: Any, ks: list[int]) -> list[str]:
    if not isinstance(table, list) or not table:
        refuse_file(path, "the table is empty or not a list")
    needed = {"setting", "tradeoff", "fanout", "cover", "path", "chunks", "classifiers", "batch_us", "tree_seconds"}
    needed |= {"training_seconds", "model_bytes", *(f"{name}{k}" for k in ks for name in ("p", "ndcg", "psp", "depth"))}
    needed |= {f"top{k}_p{percentile}_us" for k in {1, max(ks)} for percentile in (50, 99)}
    texts = {"setting", "cover", "path"}
    for number, row in enumerate(table):
        if not isinstance(row, dict) or set(row) != needed:
            odd = sorted(set(row) ^ needed) if isinstance(row, dict) else row
            refuse_file(path, f"record {number}: columns missing or unknown: {odd}"[:300])
        for name, value in row.items():
            sound = isinstance(value, str) if name in texts else _is_number(value)
            sound = sound or (name == "fanout" and value == "auto")
            if not sound and (value is not None or name in ("setting", "tradeoff")):
                refuse_file(path, f"record {number}: {name} is {value!r}"[:300])
    names = [row["setting"] for row in table]
    if len(set(names)) < len(names):
        refuse_file(path, "a setting occurs twice in the table")
    return names


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_types(path: Any, what: str, mapping: Any, types: dict[str, Any]) -> None:
    if not isinstance(mapping, dict):
        refuse_file(path, f"{what}: missing, or not an object")
    for name, kind in types.items():
        if not isinstance(mapping.get(name), kind):
            refuse_file(path, f"{what}: {name} is missing, or not of type {kind.__name__}")
