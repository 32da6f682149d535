"""Shards of a log: each contains all events of its contexts."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

import polars as pl

# 4 million events with short texts take about 0.5 GiB while they are summed.
MAX_EVENTS_PER_SHARD = 4_000_000
EVENTS = "events"


class Shards:
    """Frames by shard: in memory if there is one shard, else in files of a folder.

    A file has its final name only when it is complete. A second run in the same folder reuses complete files, and so
    do other processes.

    Parameters
    ----------
    n_events : int
    folder : path
    at_least : int
        The least number of shards, for work in several processes.
    """

    def __init__(self, n_events: int, folder: Path, at_least: int = 1) -> None:
        self.n_buckets = max(at_least, -(-n_events // MAX_EVENTS_PER_SHARD))
        self.in_memory = self.n_buckets == 1
        self.folder = folder
        self._frames: dict[str, pl.LazyFrame] = {}
        self._event_files: list[list[Path]] = []

    @property
    def count(self) -> int:
        """Number of shards that have events."""
        return 1 if self.in_memory else len(self._event_files)

    def set_event_files(self, files: list[list[Path]]) -> None:
        """Name the files with the events of each shard."""
        self._event_files = files

    def keep(self, name: str, number: int, frame: pl.DataFrame) -> pl.LazyFrame:
        """Keep a frame of one shard, in a file if there are several shards, and return it."""
        if self.in_memory:
            self._frames[name] = frame.lazy()
        else:
            new = self._new_file()
            frame.write_parquet(new, compression="lz4", statistics=False)
            os.replace(new, self._path(name, number))
        return self.frame(name, number)

    def frame(self, name: str, number: int) -> pl.LazyFrame:
        """Return a frame that was kept."""
        if self.in_memory:
            return self._frames[name]
        if name == EVENTS:
            return pl.scan_parquet(self._event_files[number], hive_partitioning=False)
        return pl.scan_parquet(self._path(name, number))

    def frames(self, name: str) -> list[pl.LazyFrame]:
        """Return the frames of all shards."""
        return [self.frame(name, number) for number in range(self.count)]

    def finish(self, name: str, number: int, record: dict[str, Any]) -> None:
        """Note that all frames of a step are kept for one shard, with what else is known of it."""
        if not self.in_memory:
            new = self._new_file()
            new.write_text(json.dumps(record))
            os.replace(new, self._record(name, number))

    def finished(self, name: str, number: int) -> dict[str, Any] | None:
        """Return the record of a finished step of one shard, None if it is not finished."""
        path = self._record(name, number)
        if self.in_memory or not path.exists():
            return None
        record: dict[str, Any] = json.loads(path.read_text())
        return record

    def _new_file(self) -> Path:
        # A name of its own: two workers may do the same step at the same time.
        return self.folder / f"{uuid.uuid4().hex}.part"

    def _path(self, name: str, number: int) -> Path:
        return self.folder / f"{name}-{number:05d}.parquet"

    def _record(self, name: str, number: int) -> Path:
        return self.folder / f"{name}-{number:05d}.json"
