"""Shards of a log: each contains all events of its contexts."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl

from labeltrees.data.logs.reading import collect

# 4 million events with short texts take about 0.5 GiB while they are summed.
MAX_EVENTS_PER_SHARD = 4_000_000
_SEED = 7  # of the hash that assigns contexts to shards; results do not depend on it
EVENTS_DONE = "events.done"  # this file exists when all shards are written


class Shards:
    """Frames by shard: in memory if there is one shard, else in files of a folder.

    A file has its final name only when it is complete. A second run in the same folder reuses complete files.

    Parameters
    ----------
    n_events : int
    folder : path
    """

    def __init__(self, n_events: int, folder: Path) -> None:
        self.count = max(1, -(-n_events // MAX_EVENTS_PER_SHARD))
        self._folder = folder
        self._in_memory: dict[str, pl.LazyFrame] = {}

    def split(self, events: pl.LazyFrame) -> list[pl.LazyFrame]:
        """Shard events by the hash of their context, in one pass."""
        if self.count == 1:
            return [collect(events).lazy()]
        base = self._folder / "events"
        if not (self._folder / EVENTS_DONE).exists():
            shutil.rmtree(base, ignore_errors=True)
            base.mkdir()
            number = pl.col("context").hash(_SEED) % self.count
            target = pl.PartitionBy(base, key={"shard": number.cast(pl.UInt32)}, include_key=False)
            events.sink_parquet(target, compression="lz4", maintain_order=False, engine="streaming")
            (self._folder / EVENTS_DONE).touch()
        folders = sorted(path for path in base.iterdir() if path.is_dir())
        return [pl.scan_parquet(sorted(folder.rglob("*.parquet")), hive_partitioning=False) for folder in folders]

    def keep(self, name: str, number: int, frame: pl.DataFrame) -> pl.LazyFrame:
        """Keep a frame of one shard, in a file if there are several shards, and return it."""
        if self.count == 1:
            self._in_memory[name] = frame.lazy()
        else:
            path = self._path(name, number)
            frame.write_parquet(path.with_suffix(".part"), compression="lz4", statistics=False)
            os.replace(path.with_suffix(".part"), path)
        return self.frame(name, number)

    def frame(self, name: str, number: int) -> pl.LazyFrame:
        """Return a frame that was kept."""
        return self._in_memory[name] if self.count == 1 else pl.scan_parquet(self._path(name, number))

    def is_kept(self, name: str, number: int) -> bool:
        """Whether this run or an earlier one has kept a frame."""
        return self.count > 1 and self._path(name, number).exists()

    def finish(self, name: str, number: int, record: dict[str, Any]) -> None:
        """Note that all frames of a step are kept for one shard, with what else is known of it."""
        if self.count > 1:
            path = self._path(name, number).with_suffix(".json")
            path.with_suffix(".part").write_text(json.dumps(record))
            os.replace(path.with_suffix(".part"), path)

    def finished(self, name: str, number: int) -> dict[str, Any] | None:
        """Return the record of a finished step of one shard, None if it is not finished."""
        path = self._path(name, number).with_suffix(".json")
        if self.count == 1 or not path.exists():
            return None
        record: dict[str, Any] = json.loads(path.read_text())
        return record

    def _path(self, name: str, number: int) -> Path:
        return self._folder / f"{name}-{number:05d}.parquet"
