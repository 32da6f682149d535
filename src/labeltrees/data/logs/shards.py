"""Events sharded by context: each shard fits in memory and has all events of its contexts."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from labeltrees.data.logs.reading import collect

# 4 million events with short texts take about 0.5 GiB while they are summed.
MAX_EVENTS_PER_SHARD = 4_000_000
_SEED = 7  # of the hash that assigns contexts to shards; results do not depend on it


class Shards:
    """Frames by shard: in memory if there is one shard, else in files of a temporary folder.

    Parameters
    ----------
    n_events : int
    folder : path
    """

    def __init__(self, n_events: int, folder: Path) -> None:
        self.count = max(1, -(-n_events // MAX_EVENTS_PER_SHARD))
        self._folder = folder

    def split(self, events: pl.LazyFrame) -> list[pl.LazyFrame]:
        """Shard events by the hash of their context, in one pass."""
        if self.count == 1:
            return [collect(events).lazy()]
        base = self._folder / "events"
        base.mkdir()
        number = pl.col("context").hash(_SEED) % self.count
        target = pl.PartitionBy(base, key={"shard": number.cast(pl.UInt32)}, include_key=False)
        events.sink_parquet(target, compression="lz4", maintain_order=False, engine="streaming")
        folders = sorted(path for path in base.iterdir() if path.is_dir())
        return [pl.scan_parquet(sorted(folder.rglob("*.parquet")), hive_partitioning=False) for folder in folders]

    def keep(self, name: str, number: int, frame: pl.DataFrame) -> pl.LazyFrame:
        """Return a frame of one shard, written to a file if there are several shards."""
        if self.count == 1:
            return frame.lazy()
        path = self._folder / f"{name}-{number:05d}.parquet"
        frame.write_parquet(path, compression="lz4", statistics=False)
        return pl.scan_parquet(path)
