"""Sharding events by the hash of their context: one pass over the log, or one pass over each group of its files."""

from __future__ import annotations

import shutil
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl

from labeltrees.logs.reading import collect, naming_events
from labeltrees.logs.shards import EVENTS, Shards
from labeltrees.logs.steps import Report, SerialSteps, ShardStep, StepRunner

_SEED = 7  # of the hash that assigns contexts to shards; results do not depend on it
EVENTS_DONE = "events.done"  # this file exists when all shards are written


def shard_events(
    sources: list[pl.LazyFrame], files: list[Path], shards: Shards, runner: StepRunner, report: Report
) -> None:
    """Keep the events of each shard under the name EVENTS.

    Parameters
    ----------
    sources : list of frames
        The events: one frame of all, or one per group of files. Each is a step.
    files : list of paths
        That the events are read from; none for a frame.
    """
    if shards.in_memory:
        shards.keep(EVENTS, 0, collect(pl.concat(sources)))
        return
    if not (shards.folder / EVENTS_DONE).exists():
        steps = [
            ShardStep(
                "sharded", write_shards, shards, number, {"events": source, "files": [str(path) for path in files]}
            )
            for number, source in enumerate(sources)
        ]
        here = not files  # a frame is in the memory of this process
        (SerialSteps() if here else runner).run("sharding by context", steps, report)
        (shards.folder / EVENTS_DONE).touch()
    by_shard: dict[str, list[Path]] = defaultdict(list)
    for folder in sorted(path for path in (shards.folder / EVENTS).iterdir() if path.name.isdigit()):
        for shard in folder.iterdir():
            by_shard[shard.name] += sorted(shard.rglob("*.parquet"))
    shards.set_event_files([by_shard[name] for name in sorted(by_shard)])


def write_shards(shards: Shards, number: int, *, events: pl.LazyFrame, files: list[str]) -> dict[str, Any]:
    """Write some events to one folder per shard."""
    target = shards.folder / EVENTS / f"{number:05d}"
    new = target.with_name(f"{number:05d}-{uuid.uuid4().hex}")
    new.mkdir(parents=True)
    bucket = pl.col("context").hash(_SEED) % shards.n_buckets
    place = pl.PartitionBy(new, key={"shard": bucket.cast(pl.UInt32)}, include_key=False)
    with naming_events([Path(file) for file in files]):
        events.sink_parquet(place, compression="lz4", maintain_order=False, engine="streaming")
    try:
        new.rename(target)
    except OSError:  # another process has finished the same step
        shutil.rmtree(new)
    return {}
