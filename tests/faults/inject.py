"""Let the n-th call of a kind fail, for n = 1, 2, ..., in the operations that write files.

    python -m tests.faults.inject [--operations save,calibrate] [--kinds write,fsync] [--most 20]

It compiles shim.c, starts itself with it preloaded, and prints one line of JSON per operation and kind: how many calls
there are, how many of them were let fail, and what was wrong after it. The exit code is 1 if anything was. Lines are
added to build/faults.jsonl; --results writes a table of the last run of each operation and kind.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.results import add_record, records_of, write_table

HERE = Path(__file__).parent
KINDS = ("write", "fsync", "rename", "mmap", "malloc")


def compile_shim(folder: Path) -> Path:
    """Compile the shim and return the library."""
    library = folder / "shim.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, HERE / "shim.c", "-ldl"], check=True)
    return library


def preloaded(library: Path, **variables: str) -> dict[str, str]:
    """Return an environment with the shim preloaded."""
    return {**os.environ, "LD_PRELOAD": str(library), "POLARS_MAX_THREADS": "1", **variables}


def inject(name: str, kind: str, most: int | None, template: Path, folder: Path) -> dict[str, Any]:
    """Run an operation once for each of its calls of a kind, with that call failing; return what came of it."""
    from tests.faults.operations import OPERATIONS, check_after_failure, fresh

    shim = ctypes.CDLL(None)
    shim.fault_disarm.restype = ctypes.c_long

    def attempt(n: int) -> tuple[int, str | None]:
        before, files = fresh(template, folder)
        shim.fault_arm(kind.encode(), ctypes.c_long(n))
        fault: BaseException | None = None
        try:
            OPERATIONS[name].run(folder)
        except BaseException as error:
            fault = error
        n_calls = shim.fault_disarm()
        return n_calls, _what_is_wrong(name, fault, folder, before, files, check_after_failure)

    attempt(0)  # the first run does things only once, such as imports
    n_calls, wrong = attempt(0)
    problems = [] if wrong is None else [f"without a fault: {wrong}"]
    tried = list(range(1, n_calls + 1))
    if most is not None and n_calls > most:  # evenly spaced
        tried = sorted({1 + round(place * (n_calls - 1) / max(most - 1, 1)) for place in range(most)})
    n_failed = 0
    for n in tried:
        n_made, wrong = attempt(n)
        n_failed += n_made >= n
        if wrong is not None:
            problems.append(f"call {n}: {wrong}")
    return {"operation": name, "kind": kind, "calls": n_calls, "failed": n_failed, "problems": problems}


def _what_is_wrong(name: str, fault: Any, folder: Path, before: Any, files: Any, check: Any) -> str | None:
    from labeltrees.errors import LabelTreesError
    from tests.faults.operations import OPERATIONS, CommandError, state_of

    if fault is not None and not isinstance(fault, LabelTreesError | CommandError | OSError | MemoryError):
        return f"{type(fault).__name__}: {fault}"
    try:
        if fault is None and any(state_of(folder / target) == before[target] for target in OPERATIONS[name].targets):
            return "it reported success, but the old state is still there"
        check(name, folder, before, files)
    except Exception as error:
        return f"after {type(fault).__name__}: {error}"
    return None


def run_all(operations: list[str], kinds: list[str], most: int | None) -> Iterator[dict[str, Any]]:
    """Yield the outcome of every operation and kind."""
    from tests.faults.operations import OPERATIONS

    with tempfile.TemporaryDirectory() as temporary:
        for name in operations:
            template = Path(temporary, "template", name)
            template.mkdir(parents=True)
            OPERATIONS[name].prepare(template)
            for kind in kinds:
                yield inject(name, kind, most, template, Path(temporary, "work"))


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", help="names, separated by commas")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--most", type=int, help="calls to let fail per operation and kind")
    parser.add_argument("--results", type=Path, help="write the table to this file")
    options = parser.parse_args()
    if "shim.so" not in os.environ.get("LD_PRELOAD", ""):
        with tempfile.TemporaryDirectory() as temporary:
            library = compile_shim(Path(temporary))
            return subprocess.run(
                [sys.executable, "-m", "tests.faults.inject", *sys.argv[1:]], env=preloaded(library), check=False
            ).returncode
    from tests.faults.operations import OPERATIONS

    names = options.operations.split(",") if options.operations else list(OPERATIONS)
    wrong = 0
    for outcome in run_all(names, options.kinds.split(","), options.most):
        add_record("faults", outcome)
        wrong += len(outcome["problems"])
    if options.results:
        last = {(record["operation"], record["kind"]): record for record in records_of("faults")}
        write_table(options.results, "Faults on purpose", "python -m tests.faults.inject", list(last.values()))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
