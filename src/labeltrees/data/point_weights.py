"""Point weights in a separate file: train.weights.txt for train.txt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeltrees._files import naming_file, refuse_file
from labeltrees._matrices import check_sample_weight
from labeltrees.data.files import COMPRESSED, FilePath, open_any

_ENDING = ".weights.txt"


def is_weights_file(path: Path) -> bool:
    """Whether a file holds weights, by its name."""
    return _plain_name(path).endswith(_ENDING)


def weights_beside(points: Path) -> Path | None:
    """Return the file with the weights of a file of points, None if there is no such file."""
    name = _plain_name(points)
    if not name.endswith(".txt"):
        return None
    base = points.with_name(name.removesuffix(".txt") + _ENDING)
    return next((path for ending in ("", *COMPRESSED) if (path := Path(f"{base}{ending}")).is_file()), None)


def read_weights(path: FilePath, n_points: int) -> NDArray[np.float64]:
    """Return the weights in a file, one per line, plain or compressed."""
    with open_any(path) as stream:
        lines = stream.read().split()
    if len(lines) != n_points:
        refuse_file(path, f"{len(lines)} weights for {n_points} points; it must have one line per point")
    try:
        weights = np.array(lines, dtype=np.bytes_).astype(np.float64) if lines else np.zeros(0)
    except ValueError as error:
        refuse_file(path, f"not a number ({error}); each line must be a finite number of at least 0")
    with naming_file(path):
        checked = check_sample_weight(weights, n_points, "weights")
    assert checked is not None
    return checked


def _plain_name(path: Path) -> str:
    return path.stem if path.suffix in COMPRESSED else path.name
