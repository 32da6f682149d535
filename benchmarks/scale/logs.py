"""A synthetic log of any size, and the time and memory of `prepare_logs` for it.

    python -m benchmarks.scale.logs [--events 100000000] [--contexts 4000000] [--items 1000000] [--parts]
    python -m benchmarks.scale.logs --write FOLDER --events 1000000000      # only write the log
    python -m benchmarks.scale.logs --log FOLDER --parts                    # measure on it; continue an interrupted run

The log has power-law items and contexts, seasons and drift (`synthetic_events`). It is written as Parquet files of 5
million events, each made from its own seed, so that a billion events need no more memory than 5 million. `prepare_logs`
runs in its own process, so that its peak memory can be measured. Features are the past items of each context. With
--parts the datasets are written in parts, and never in memory whole. --cluster N reads and sums shards on N workers.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import labeltrees as lt
from benchmarks.tables import print_head
from labeltrees.tasks.on_dask import connect

PART = 5_000_000
DAYS = 365
START = np.datetime64("2020-01-01", "ms")
CUT = "2020-10-01"  # events before are history (features); labels come from the last quarter
ITEMS_PER_TOPIC = 500
STAGES = ("reading events", "sharding by context", "summing pairs", "making points", "making features", "last stage")
DIRTY = 0.005  # share of events without context; also of those without item, and with a weight below 0


def power_law(rng: np.random.Generator, n: int, size: int, exponent: float) -> NDArray[np.int64]:
    """Draw `size` ranks from 0 to n - 1 whose frequency falls as rank^-exponent (exponent not 1)."""
    power = 1 - exponent
    draws = (1 + ((n + 1.0) ** power - 1) * rng.random(size)) ** (1 / power)
    return draws.astype(np.int64).clip(1, n) - 1


def synthetic_events(
    n_events: int, first_day: float, days: float, seed: tuple[int, ...], options: argparse.Namespace
) -> pl.DataFrame:
    """Make the events of a period: context, item, weight, time.

    Contexts follow a power law; each likes three topics. Topics have seasons: at the peak of a topic's season, nearly
    all events of contexts that like it are about it; half a year later hardly any. Items of a topic follow a power law
    that drifts: every week the ranks shift by one item, so that last year's best seller is not this year's.
    """
    rng = np.random.default_rng(seed)
    n_topics = max(1, options.items // ITEMS_PER_TOPIC)
    context = power_law(rng, options.contexts, n_events, 0.7)
    day = first_day + np.sort(rng.random(n_events)) * days
    # Fewer events at weekends: a third of those of the last two days of a week move two days back.
    weekend = (day % 7 >= 5) & (rng.random(n_events) < 1 / 3)
    day = np.where(weekend & (day >= first_day + 2), day - 2, day)
    liked = (context * 2654435761 + rng.integers(0, 3, n_events) * 40503) % n_topics
    season = 0.5 + 0.45 * np.cos(2 * np.pi * (day / DAYS - liked / n_topics))
    elsewhere = power_law(rng, n_topics, n_events, 1.2)
    topic = np.where(rng.random(n_events) < season, liked, elsewhere)
    size = min(ITEMS_PER_TOPIC, options.items)
    rank = power_law(rng, size, n_events, 1.1)
    item = topic * size + (rank + (day // 7).astype(np.int64)) % size
    weight = rng.geometric(0.5, n_events).astype(np.float64)
    weight[rng.random(n_events) < DIRTY] *= -1
    frame = pl.DataFrame(
        {
            "context": context,
            "item": item,
            "weight": weight,
            "time": START + (day * 86_400_000).astype("timedelta64[ms]"),
            "lost": rng.random(n_events),
        }
    )
    return frame.select(
        pl.when(pl.col("lost") >= DIRTY).then(pl.format("c{}", "context")).alias("context"),
        pl.when(pl.col("lost") < 1 - DIRTY).then(pl.format("i{}", "item")).alias("item"),
        "weight",
        "time",
    )


def write_log(folder: Path, options: argparse.Namespace) -> int:
    """Write the log to a folder in parts; return its size in bytes."""
    n_parts = -(-options.events // PART)
    total = 0
    for part in range(n_parts):
        n = min(PART, options.events - part * PART)
        days = DAYS * n / options.events
        first_day = DAYS * part * PART / options.events
        path = folder / f"part-{part:05d}.parquet"
        synthetic_events(n, first_day, days, (options.seed, part), options).write_parquet(path)
        total += path.stat().st_size
    return total


class StageMeter:
    """Notes wall time, processor time and peak memory at the end of each stage; it is a `progress` callback."""

    def __init__(self) -> None:
        self._ends: list[tuple[float, float, float]] = [self._now()]

    def __call__(self, done: int, total: int) -> None:
        """Note the stages that are done."""
        while len(self._ends) - 1 < done * len(STAGES) // total:
            self._ends.append(self._now())
            name, seconds, processor, peak = self.rows()[-1]
            print(f"{name}: {seconds:.1f} s, {processor:.1f} s of processor time, {peak:.2f} GiB", file=sys.stderr)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        return time.perf_counter(), time.process_time(), peak_gib()

    def rows(self) -> list[tuple[str, float, float, float]]:
        """Return stage, seconds, processor seconds and the peak so far in GiB."""
        pairs = zip(STAGES, self._ends[:-1], self._ends[1:], strict=False)
        return [(name, after[0] - before[0], after[1] - before[1], after[2]) for name, before, after in pairs]


def peak_gib() -> float:
    """Return the peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(folder: str, temporary: str, options: argparse.Namespace) -> dict[str, Any]:
    """Prepare the log in a folder; return time, memory and summary."""
    settings: dict[str, Any] = {"history_before": CUT, "min_engagement": 2, "min_item_contexts": 2}
    target = Path(temporary) / "dataset"
    with connect("local", options.cluster) if options.cluster else nullcontext() as client:
        start, cpu, meter = time.perf_counter(), time.process_time(), StageMeter()
        prepared = lt.prepare_logs(
            folder,
            **settings,
            work_folder=temporary,
            parts=target if options.parts else None,
            client=client,
            progress=meter,
        )
        seconds, processor = time.perf_counter() - start, time.process_time() - cpu
    start = time.perf_counter()
    if not options.parts:
        prepared.save(target)
    summary = prepared.summary.to_json()
    return {
        "seconds": seconds,
        "processor": processor,
        "save_seconds": time.perf_counter() - start,
        "peak_gib": peak_gib(),
        "stages": meter.rows(),
        "summary": summary,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--contexts", type=int, default=4_000_000)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="folder for the log and temporary files, which are removed afterwards")
    parser.add_argument("--write", metavar="FOLDER", type=Path, help="only write the log, to this folder")
    parser.add_argument("--log", metavar="FOLDER", type=Path, help="a log that --write has written")
    parser.add_argument("--parts", action="store_true", help="write the datasets in parts")
    parser.add_argument("--cluster", type=int, metavar="N", help="use a local Dask cluster of N processes")
    parser.add_argument("--one", nargs=2, metavar=("LOG", "TEMPORARY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options)))
        return
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        print(f"{write_log(options.write, options) / 1e9:.2f} GB")
        return
    if options.log:
        work = options.log.with_name(f"{options.log.name}.work")
        work.mkdir(exist_ok=True)
        report(run(options.log, work, options))
        shutil.rmtree(work)
        return
    with tempfile.TemporaryDirectory(prefix="labeltrees-scale-", dir=options.folder) as folder:
        log = Path(folder, "log")
        log.mkdir()
        start = time.perf_counter()
        n_bytes = write_log(log, options)
        seconds = time.perf_counter() - start
        size = f"{n_bytes / 1e9:.2f} GB of Parquet"
        print(f"{options.events:,} events, {size}, written in {seconds:.0f} s\n", flush=True)
        report(run(log, Path(folder), options))


def run(log: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run `measure` in its own process."""
    command = [sys.executable, "-m", "benchmarks.scale.logs", "--one", str(log), str(folder)]
    command += ["--parts"] if options.parts else []
    command += ["--cluster", str(options.cluster)] if options.cluster else []
    row: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return row


def report(row: dict[str, Any]) -> None:
    """Print time, memory and sizes."""
    summary = row["summary"]
    print_head("measurement | value")
    print(f"| prepare, seconds | {row['seconds']:.0f} |")
    print(f"| processor seconds | {row['processor']:.0f} |")
    print(f"| events per second | {summary['events_read'] / row['seconds']:,.0f} |")
    print(f"| writing the dataset, seconds | {row['save_seconds']:.0f} |")
    print(f"| peak memory, GiB | {row['peak_gib']:.2f} |")
    for part in ("train", "test"):
        shape = summary[part]
        print(
            f"| {part} | {shape['n_points']:,} points, {shape['n_features']:,} features, {shape['n_labels']:,} labels; "
            f"{shape['labels_a_point']:.1f} labels and {shape['features_a_point']:.1f} features per point |"
        )
    print()
    print_head("stage | seconds | processor seconds | peak memory so far, GiB")
    for name, seconds, processor, peak in row["stages"]:
        print(f"| {name} | {seconds:.1f} | {processor:.1f} | {peak:.2f} |")
    print()
    print_head("events | count")
    for reason, count in summary["events_dropped"].items():
        print(f"| {reason} | {count:,} |")
    for purpose, count in summary["events_used"].items():
        print(f"| used for {purpose} | {count:,} |")
    print(f"| total | {summary['events_read']:,} |")


if __name__ == "__main__":
    main()
