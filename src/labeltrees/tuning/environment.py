"""Facts that a result records about the data and the machine; nothing that identifies the machine's owner."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._matrices import Float64s
from labeltrees.labels.imbalance import imbalance
from labeltrees.tuning.tuning_data import TuningData

_CURVE_POINTS = 60


def data_facts(train: TuningData, validation: TuningData) -> dict[str, Any]:
    """Return the shapes of the data."""
    n_features = None if train.is_text else int(train.points.shape[1])
    return {
        "n_points": train.n_points,
        "n_validation_points": validation.n_points,
        "n_features": n_features,
        "n_labels": int(train.Y.shape[1]),
        "n_labels_with_points": len(np.unique(train.Y.indices)),
        "labels_per_point": train.Y.nnz / max(train.n_points, 1),
    }


def machine_facts() -> dict[str, Any]:
    """Return the processor, cores, memory and versions, which times depend on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "vector_instructions": _core.active_kernels(),
        "python": platform.python_version(),
        "labeltrees": version("labeltrees"),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def frequency_facts(train: TuningData, frequencies: Float64s, covers: dict[str, Float64s]) -> dict[str, Any]:
    """Return the label frequencies by rank, and the share of points that the most frequent labels serve.

    Parameters
    ----------
    train : TuningData
    frequencies : array (L,)
    covers : dict of arrays (L,)
        Cover frequencies by method.
    """
    curves = {"f": frequencies} | {f"f~ {method}": cover for method, cover in covers.items()}
    by_rank = [
        {"curve": name, "rank": int(rank), "frequency": float(falling[rank - 1])}
        for name, values in curves.items()
        for falling in [np.sort(values)[::-1]]
        for rank in _ranks(int(np.count_nonzero(falling)))
    ]
    return {"by_rank": by_rank, "served": imbalance(train.Y, train.sample_weight).table()}


def _ranks(count: int) -> Any:
    return np.unique(np.rint(np.geomspace(1, max(count, 1), _CURVE_POINTS)).astype(np.int64))
