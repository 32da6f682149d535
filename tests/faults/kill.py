"""Kill an operation that writes files at a random moment, many times.

    python -m tests.faults.kill [--operations save,calibrate] [--times 200] [--seed 0]

After each kill every target must be the old one or a complete new one, and the same operation must then succeed and
leave nothing behind. It prints one line of JSON per operation; the exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.faults import operations as module
from tests.faults.operations import OPERATIONS, check_whole, fresh, paths_in, state_of

CHILD = """
import sys
from pathlib import Path
from tests.faults.operations import OPERATIONS
print("ready", flush=True)
OPERATIONS[sys.argv[1]].run(Path(sys.argv[2]))
"""


def start(name: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start an operation in another process and wait until it begins."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, name, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


def kill_often(name: str, times: int, seed: int, folder: Path) -> dict[str, Any]:
    """Kill an operation `times` times; return how often it was still running, and what was wrong."""
    rng = random.Random(seed)
    template, work = folder / "template", folder / "work"
    template.mkdir(parents=True)
    OPERATIONS[name].prepare(template)
    fresh(template, work)
    began = time.perf_counter()
    with start(name, work) as child:
        child.wait()
    duration = time.perf_counter() - began
    n_killed, problems = 0, []
    for number in range(times):
        before, files = fresh(template, work)
        child = start(name, work)
        time.sleep(rng.uniform(0, duration))
        n_killed += child.poll() is None
        child.kill()
        child.wait()
        child.stdout.close()  # type: ignore[union-attr]
        wrong = _what_is_wrong(name, work, before, files)
        if wrong is not None:
            problems.append(f"kill {number}: {wrong}")
    return {"operation": name, "times": times, "killed": n_killed, "problems": problems}


def _what_is_wrong(name: str, folder: Path, before: dict[str, str | None], files: set[str]) -> str | None:
    try:
        for target in OPERATIONS[name].targets:
            if state_of(folder / target) != before[target]:
                check_whole(folder / target)
        # Temporary names are removed only once they are two seconds old: until then their owner may not have locked
        # them yet.
        for path in paths_in(folder):
            if ".new-" in path:
                _make_old(folder / path)
        OPERATIONS[name].run(folder)
        module.check_after_failure(name, folder, before, files)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _make_old(path: Path) -> None:
    """Wait until a temporary path counts as old."""
    age = time.time() - os.lstat(path).st_ctime
    time.sleep(max(0.0, 2.1 - age))


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", help="names, separated by commas")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = options.operations.split(",") if options.operations else list(OPERATIONS)
    wrong = 0
    for name in names:
        with tempfile.TemporaryDirectory() as temporary:
            outcome = kill_often(name, options.times, options.seed, Path(temporary))
        print(json.dumps(outcome), flush=True)
        wrong += len(outcome["problems"])
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
