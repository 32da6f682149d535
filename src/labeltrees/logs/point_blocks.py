"""Frames by point, put together for blocks of consecutive points: in memory if there is one block, else in files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from labeltrees.logs.reading import collect


class PointBlocks:
    """Blocks of points, and what is known of the points of each.

    The frames of a shard have points of all blocks. `scatter` writes them to one file per shard and block, so that
    memory is needed for one shard, and then for one block.

    Parameters
    ----------
    n_points : int
    size : int or None
        Points per block; None for one block of all points.
    folder : path
        For the files.
    """

    def __init__(self, n_points: int, size: int | None, folder: Path) -> None:
        self._size = max(n_points, 1) if size is None else size
        self.bounds = [*range(0, n_points, self._size), n_points]
        self._folder = folder
        self._frames: dict[str, list[pl.LazyFrame]] = {}
        for path in folder.glob("*-of-block-*"):  # of an interrupted run, perhaps with other blocks
            shutil.rmtree(path)

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.bounds) - 1

    def scatter(self, name: str, frames: Iterable[pl.LazyFrame]) -> None:
        """Sort frames with a column "point" into blocks."""
        if self.count == 1:
            self._frames[name] = list(frames)
            return
        for number, frame in enumerate(frames):
            block = (pl.col("point") // self._size).cast(pl.UInt32).alias("block")
            parts = collect(frame).with_columns(block).partition_by("block", as_dict=True, include_key=False)
            for key, own in parts.items():
                folder = self._folder / f"{name}-of-block-{key[0]:05d}"
                folder.mkdir(exist_ok=True)
                own.write_parquet(folder / f"{number:05d}.parquet", compression="lz4", statistics=False)

    def frames(self, name: str, block: int) -> Iterator[pl.DataFrame]:
        """Yield the frames of a block. Points are numbered from the first of the block."""
        if self.count == 1:
            yield from map(collect, self._frames[name])
            return
        start = self.bounds[block]
        for path in sorted((self._folder / f"{name}-of-block-{block:05d}").glob("*.parquet")):
            yield pl.read_parquet(path).with_columns(pl.col("point") - start)
