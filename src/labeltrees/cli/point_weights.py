"""Point weights in a separate file: train.weights.txt for train.txt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeltrees._files import naming_file, refuse_file
from labeltrees._matrices import check_sample_weight
from labeltrees.data.files import open_any

_COMPRESSED = (".gz", ".xz", ".zst")
_ENDING = ".weights.txt"


def is_weights_file(path: Path) -> bool:
    """Whether a file holds weights, by its name."""
    return _plain_name(path).endswith(_ENDING)


def read_weights(points: Path, n_points: int) -> NDArray[np.float64] | None:
    """Return the weights in the file next to a file of points, None if there is no such file."""
    name = _plain_name(points)
    if not name.endswith(".txt"):
        return None
    base = points.with_name(name.removesuffix(".txt") + _ENDING)
    path = next((path for ending in ("", *_COMPRESSED) if (path := Path(f"{base}{ending}")).is_file()), None)
    if path is None:
        return None
    with open_any(path) as stream:
        lines = stream.read().split()
    if len(lines) != n_points:
        refuse_file(path, f"{len(lines)} weights for {n_points} points; it must have one line per point")
    try:
        weights = np.array(lines, dtype=np.bytes_).astype(np.float64) if lines else np.zeros(0)
    except ValueError as error:
        refuse_file(path, f"not a number ({error})")
    with naming_file(path):
        return check_sample_weight(weights, n_points, "weights")


def _plain_name(path: Path) -> str:
    return path.stem if path.suffix in _COMPRESSED else path.name
