"""Titles of columns and names of curves in charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_TITLES = {
    "chunks": "nodes opened per query",
    "classifiers": "classifiers per query",
    "batch_us": "time per point in a batch (µs)",
    "tree_seconds": "building the tree (s)",
    "training_seconds": "training (s)",
    "model_bytes": "size on disk (bytes)",
    "tradeoff": "tradeoff",
    "fanout": "fanout",
    "cover": "cover",
    "path": "path",
}
_KINDS = {
    "p": "P@{} (%)",
    "recall": "recall@{} (%)",
    "fscore": "F1@{} (%)",
    "ndcg": "nDCG@{} (%)",
    "coverage": "coverage@{} (%)",
    "psp": "PSP@{} (%)",
    "weighted_p": "weighted P@{} (%)",
    "weighted_recall": "weighted recall@{} (%)",
    "weighted_ndcg": "weighted nDCG@{} (%)",
    "depth": "expected depth@{}",
}


def column_title(column: str) -> str:
    """Return the title of a column of the table, with its unit.

    Examples
    --------
    >>> column_title("ndcg5"), column_title("top1_p99_us")
    ('nDCG@5 (%)', 'single call for 1 label, 99th percentile (µs)')
    """
    if column in _TITLES:
        return _TITLES[column]
    if column.startswith("top"):
        k, percentile = column.removeprefix("top").removesuffix("_us").split("_")
        which = "median" if percentile == "p50" else "99th percentile"
        return f"single call for {k} label{'' if k == '1' else 's'}, {which} (µs)"
    kind = column.rstrip("0123456789")
    return _KINDS[kind].format(column[len(kind) :]) if kind in _KINDS else column


def series_name(record: dict[str, Any], table: Sequence[dict[str, Any]]) -> str:
    """Return the name of the curve of a record: its fanout and, if they vary in the table, cover and path.

    Examples
    --------
    >>> table = [{"fanout": 2, "cover": "marginal", "path": path} for path in ("weighted", "direct")]
    >>> series_name(table[1], table)
    'fanout 2, direct path'
    """
    parts = [] if record["fanout"] is None else [f"fanout {record['fanout']}"]
    for name in ("cover", "path"):
        if record[name] is not None and len({row[name] for row in table}) > 1:
            parts.append(f"{record[name]} {name}")
    return ", ".join(parts) or "binary trees"
