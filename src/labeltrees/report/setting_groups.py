"""The measurements of one setting in groups, for a table: which columns are side by side."""

from __future__ import annotations

from typing import Any

from labeltrees.tuning.result import SweepResult

_QUALITY = {
    "p": "precision",
    "recall": "recall",
    "fscore": "F1",
    "ndcg": "nDCG",
    "coverage": "coverage",
    "psp": "propensity-scored precision",
    "weighted_p": "weighted precision",
    "weighted_recall": "weighted recall",
    "weighted_ndcg": "weighted nDCG",
}
_WORK = {"chunks": "nodes opened per query", "classifiers": "classifiers evaluated per query"}
_MODEL = {
    "tree_seconds": "building the tree (s)",
    "training_seconds": "training, with the tree (s)",
    "model_bytes": "size on disk (MB)",
}


def setting_groups(result: SweepResult) -> list[dict[str, Any]]:
    """Return groups: a title, headings, and rows of a name and the columns of the table (None for an empty cell)."""
    known = set(result.table[0])
    ks, timed = result.ks, [k for k in sorted({1, *result.ks}) if f"top{k}_p50_us" in known]
    heads = [f"@{k}" for k in ks]
    return [
        {
            "title": "Quality (%), with 95 % intervals",
            "heads": heads,
            "rows": [[name, [f"{key}{k}" for k in ks]] for key, name in _QUALITY.items() if f"{key}{ks[0]}" in known],
        },
        {
            "title": "Time (µs)",
            "heads": [f"top {k}" for k in timed],
            "rows": [
                ["single call, median", [f"top{k}_p50_us" for k in timed]],
                ["single call, 99th percentile", [f"top{k}_p99_us" for k in timed]],
                ["per point in a batch", [None] * (len(timed) - 1) + ["batch_us"]],
            ],
        },
        {
            "title": "Search",
            "heads": heads,
            "rows": [
                ["expected depth", [f"depth{k}" for k in ks]],
                *([name, [None] * (len(ks) - 1) + [key]] for key, name in _WORK.items()),
            ],
        },
        {"title": "Model", "heads": [""], "rows": [[name, [key]] for key, name in _MODEL.items()]},
    ]
