"""Shards of a log: each has all events of its contexts, so that any process can work on it alone.

Work on a shard is a `Task` whose result is a record. Its frames are kept in memory if there is one shard, else in
Parquet files beside the result; `Kept` finds them again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

import polars as pl

from labeltrees.errors import FileFormatError, InputError, Parameter
from labeltrees.logs.clean import CleanEvents
from labeltrees.logs.events import Events, collect, naming_events
from labeltrees.logs.settings import LogSettings
from labeltrees.tasks import FolderResults, LocalRunner, MemoryResults, Outcome, Results, Runner, Task

# 4 million events with short texts take about 0.5 GiB while they are summed.
MAX_EVENTS_PER_SHARD = 4_000_000
_SEED = 7  # of the hash that assigns contexts to shards; results do not depend on it
_FOLDER = "labeltrees-logs"

Report = Callable[[float], object]  # called with the share of the work that is done


@dataclass(frozen=True)
class Kept:
    """A frame that tasks have kept.

    Attributes
    ----------
    tasks : list of str
        The names of their results; the frame has the rows of all these results.
    name : str
        The name of the frame in these results.
    """

    tasks: list[str]
    name: str

    def frame(self, results: Results) -> pl.LazyFrame:
        """Return the frame."""
        records = [results[task].values for task in self.tasks]
        kept: list[Any] = [record[self.name] for record in records if self.name in record]
        if results.folder is None:
            whole: pl.LazyFrame = pl.concat(kept)
            return whole
        files = [results.folder / file for files in kept for file in files]
        return pl.scan_parquet(files, hive_partitioning=False)


def keep(results: Results, name: str, frame: pl.DataFrame) -> Any:
    """Keep a frame of a task; return the value that the task must store under `name`."""
    if not isinstance(results, FolderResults):
        return frame.lazy()
    path = results.new_path(name)
    frame.write_parquet(path, compression="lz4", statistics=False)
    return [path.name]


@dataclass(frozen=True)
class ShardWork:
    """Runs one function for every shard.

    Parameters
    ----------
    runner : Runner
    report : callable
        Called with the share of the stage that is done.
    """

    runner: Runner
    report: Report

    @property
    def results(self) -> Results:
        """The results of all tasks."""
        return self.runner.results

    def run(
        self, stage: str, function: Callable[..., Outcome], shards: Sequence[dict[str, Any]], **same: Any
    ) -> list[str]:
        """Run a function with the inputs of each shard and those that all share; return the names of the results."""
        tasks = [Task(function, {**inputs, **same}) for inputs in shards]
        self.runner.run(stage, tasks, progress=lambda done, total: self.report(done / total))
        return [task.name for task in tasks]

    def values(self, names: list[str]) -> list[dict[str, Any]]:
        """Return the records of results."""
        return [self.results[name].values for name in names]


def runner_of_shards(runner: Runner, n_events: int) -> tuple[Runner, int]:
    """Return the runner for a log of `n_events`, and the number of shards: one, in memory, if the log is small."""
    n_shards = max(runner.n_workers, -(-n_events // MAX_EVENTS_PER_SHARD))
    return (LocalRunner(MemoryResults()) if n_shards == 1 else runner), n_shards


def shard_events(
    opened: Events, cleaned: CleanEvents, settings: LogSettings, n_shards: int, work: ShardWork
) -> list[Kept]:
    """Return the valid events of each shard that has any."""
    inputs = {"log": fingerprint(opened.files), "settings": settings, "n_shards": n_shards}
    files = [str(path) for path in opened.files]
    tasks = [
        Task(write_shards, {**inputs, "group": [number, len(cleaned.sources)]}, {"events": source, "files": files})
        for number, source in enumerate(cleaned.sources)
    ]
    # A log given as a frame is in the memory of this process, so workers cannot read it.
    runner = work.runner if files or work.results.folder is None else LocalRunner(work.results)
    runner.run("sharding by context", tasks, progress=lambda done, total: work.report(done / total))
    names = [task.name for task in tasks]
    shards = sorted({shard for values in work.values(names) for shard in values}, key=int)
    return [Kept(names, shard) for shard in shards]


def write_shards(
    results: Results,
    *,
    log: str,
    settings: LogSettings,
    n_shards: int,
    group: list[int],
    events: pl.LazyFrame,
    files: list[str],
) -> Outcome:
    """Divide some events into shards, and keep each under its number."""
    with naming_events([Path(file) for file in files]):
        if not isinstance(results, FolderResults):
            return {}, {"0": collect(events).lazy()}
        folder = results.new_path("events")
        folder.mkdir()
        bucket = pl.col("context").hash(_SEED) % n_shards
        place = pl.PartitionBy(folder, key={"shard": bucket.cast(pl.UInt32)}, include_key=False)
        events.sink_parquet(place, compression="lz4", maintain_order=False, engine="streaming")
    shards = {path.name.rpartition("=")[2]: sorted(path.rglob("*.parquet")) for path in folder.iterdir()}
    return {}, {
        shard: [str(path.relative_to(results.folder)) for path in shards[shard]] for shard in sorted(shards, key=int)
    }


def fingerprint(files: list[Path]) -> str:
    """Return a text that changes with the files of a log: their paths, sizes and times."""
    stats = [(str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(json.dumps(stats).encode()).hexdigest()


@contextmanager
def work_folder(given: str | os.PathLike[str] | None, beside: Path | None = None) -> Iterator[Path]:
    """Yield a folder for results and copies of files, removed at the end.

    Parameters
    ----------
    given : path, optional
        The folder of the user. After an interruption its shards stay, so that the same call can continue; after an
        error in the input they are removed.
    beside : path, optional
        Where to make a temporary folder if `given` is None.
    """
    if given is None:
        with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}-", dir=beside, ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
        return
    parent = Path(os.path.abspath(given))
    folder = parent / _FOLDER
    existed = parent.exists() and not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        try:
            yield folder
        except BaseException as error:
            wrong = isinstance(error, InputError | FileFormatError)  # the same call would fail again
            if wrong or not any(folder.glob(f"{write_shards.__name__}-*")):
                _remove(folder, existed)
            raise
        _remove(folder, existed)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "{}: another run works in this folder; wait for it, or choose another {}"
            raise InputError(message, folder, Parameter("work_folder")) from None
        yield
    finally:
        os.close(descriptor)


def _remove(folder: Path, parent_existed: bool) -> None:
    rmtree(folder, ignore_errors=True)
    if not parent_existed:
        with suppress(OSError):
            folder.parent.rmdir()
