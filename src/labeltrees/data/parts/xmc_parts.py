"""From a file in XMC format to a dataset in parts, some thousand points at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._files import refuse_file
from labeltrees.data.encoders import Encoder
from labeltrees.data.files import FilePath, open_any
from labeltrees.data.parts.writer import POINTS_PER_PART, PartsWriter
from labeltrees.data.point_weights import weights_beside
from labeltrees.data.xmc_blocks import IndexBase, open_xmc_blocks


def xmc_to_parts(
    path: FilePath,
    folder: FilePath,
    *,
    index_base: IndexBase = "auto",
    weights: FilePath | None = "auto",
    points_per_part: int = POINTS_PER_PART,
    label_names: Any = None,
    feature_names: Any = None,
    encoder: Encoder | None = None,
    times: Any = None,
    groups: Any = None,
) -> None:
    """Write a file in XMC format as a folder of parts; `read_xmc` explains the first parameters.

    Parameters
    ----------
    points_per_part : int
    label_names, feature_names, encoder, times, groups
        As of `Dataset`; the file itself has none of them.
    """
    weights_file = weights_beside(Path(path)) if weights == "auto" else weights
    with open_xmc_blocks(path, index_base) as blocks, _open_weights(weights_file) as read_weights:
        with PartsWriter(
            folder,
            blocks.n_features,
            blocks.n_labels,
            points_per_part=points_per_part,
            label_names=label_names,
            feature_names=feature_names,
            encoder=encoder,
        ) as writer:
            first = 0
            for block in blocks:
                last = first + block.n_points
                writer.add(
                    block.X,
                    block.Y,
                    None if read_weights is None else read_weights.take(block.n_points),
                    times=None if times is None else times[first:last],
                    groups=None if groups is None else groups[first:last],
                )
                first = last
            if read_weights is not None:
                read_weights.finish(first)


class _Weights:
    """Weights read from a file, one line per point, as many at a time as are needed."""

    def __init__(self, path: FilePath, stream: Any) -> None:
        self._path, self._lines, self._n = path, iter(stream), 0

    def take(self, n: int) -> NDArray[np.float64]:
        lines = list(itertools.islice(self._lines, n))
        self._n += len(lines)
        if len(lines) < n:
            refuse_file(self._path, f"{self._n} weights are fewer than the points; it must have one line per point")
        try:
            return np.array([float(line) for line in lines])
        except ValueError as error:
            refuse_file(self._path, f"not a number ({error}); each line must be a finite number of at least 0")

    def finish(self, n_points: int) -> None:
        if any(line.strip() for line in self._lines):
            refuse_file(self._path, f"more weights than the {n_points} points; it must have one line per point")


@contextmanager
def _open_weights(path: FilePath | None) -> Iterator[_Weights | None]:
    if path is None:
        yield None
        return
    with open_any(path) as stream:
        yield _Weights(path, stream)
