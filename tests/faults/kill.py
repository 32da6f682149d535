"""Kill an operation that writes files at a random moment, many times.

    python -m tests.faults.kill [--operations save,calibrate] [--times 200] [--seed 0]

After each kill every target must be the old one or a complete new one, and the same operation must then succeed and
leave nothing behind. It prints one line of JSON per operation; the exit code is 1 if anything was wrong. Lines are
added to build/kills.jsonl; --results writes a table of their sums.

Every step runs in a fork of this process, which has imported everything and has started no threads.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import labeltrees as lt
from labeltrees import _files
from tests.faults.operations import OPERATIONS, check_after_failure, check_whole, fresh, state_of
from tests.results import add_record, records_of, write_table


def import_everything() -> None:
    """Import what the operations need, so that a fork starts at once; names of the package import lazily."""
    for name in lt.__all__:
        getattr(lt, name)
    for module in ("calibrate", "choose", "convert", "fit", "logs", "sweep"):
        import_module(f"labeltrees.cli.{module}")


def start(work: Callable[[], object], report: int) -> int:
    """Run a function in a fork, write its error, if any, to the descriptor `report`, and return the process id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException as error:
        os.write(report, f"{type(error).__name__}: {error}"[:2000].encode())
    finally:
        os._exit(0)


def run_whole(work: Callable[[], object]) -> str | None:
    """Run a function in a fork to its end, and return its error, None if there is none."""
    reading, writing = os.pipe()
    child = start(work, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        error = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return error or (f"ended with status {status}" if status else None)


def run_killed(work: Callable[[], object], seconds: float) -> bool:
    """Run a function in a fork and kill it after some time; return whether it was still running."""
    reading, writing = os.pipe()
    child = start(work, writing)
    time.sleep(seconds)
    is_running = os.waitpid(child, os.WNOHANG)[0] == 0
    if is_running:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    return is_running


def kill_often(name: str, times: int, seed: int, folder: Path) -> dict[str, Any]:
    """Run an operation until it was killed `times` times; return how often it ran, and what was wrong."""
    rng = random.Random(seed)
    operation = OPERATIONS[name]
    import_everything()
    template, work = folder / "template", folder / "work"
    template.mkdir(parents=True)
    error = run_whole(lambda: operation.prepare(template))
    durations = []
    for _ in range(5):
        fresh(template, work)
        began = time.perf_counter()
        error = error or run_whole(lambda: operation.run(work))
        durations.append(time.perf_counter() - began)
    duration = statistics.median(durations)  # the longest may have waited for another process
    n_killed = number = 0
    problems = [] if error is None else [f"without a kill: {error}"]
    while n_killed < times and number < 4 * times:
        number += 1  # some runs end before they are killed, so that the last step is tried, too
        before, files = fresh(template, work)
        n_killed += run_killed(lambda: operation.run(work), rng.uniform(0, 1.2 * duration))
        wrong = run_whole(lambda before=before, files=files: _check(name, work, before, files))  # type: ignore[misc]
        if wrong is not None:
            problems.append(f"kill {number}: {wrong}")
    return {"operation": name, "runs": number, "killed": n_killed, "problems": problems}


def _check(name: str, folder: Path, before: dict[str, str | None], files: set[str]) -> None:
    for target in OPERATIONS[name].targets:
        if state_of(folder / target) != before[target]:
            check_whole(folder / target)
    # A temporary name stays for two seconds, in which its owner may not have locked it yet. Here its owner is gone.
    _files._SECONDS_TO_LOCK = 0
    OPERATIONS[name].run(folder)
    check_after_failure(name, folder, before, files)


def _sums() -> list[dict[str, Any]]:
    """Return one row per operation: the sums over all runs."""
    rows: dict[str, dict[str, Any]] = {}
    for record in records_of("kills"):
        row = rows.setdefault(record["operation"], {**record, "runs": 0, "killed": 0, "problems": []})
        for name in ("runs", "killed", "problems"):
            row[name] += record[name]
    return list(rows.values())


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", help="names, separated by commas")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="write the table to this file")
    options = parser.parse_args()
    names = options.operations.split(",") if options.operations else list(OPERATIONS)
    wrong = 0
    for name in names:
        with tempfile.TemporaryDirectory() as temporary:
            outcome = kill_often(name, options.times, options.seed, Path(temporary))
        add_record("kills", outcome)
        wrong += len(outcome["problems"])
    if options.results:
        write_table(options.results, "Kills", "python -m tests.faults.kill --times 200", _sums())
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
