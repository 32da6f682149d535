"""Fuzz the readers of untrusted bytes.

    python -m tests.fuzz.run [--targets xmc,tree] [--seconds 60] [--executions 100000] [--seed 0] [--atheris]
    python -m tests.fuzz.run --seconds 0 --executions 0 --results benchmarks/results/fuzz.md

Starts from the files in corpus/ and prints one line of JSON per target: executions, how many were refused, lines of
Python reached, and crashes, which are anything but an error of ours within 256
MiB and 10 s. A crash is written to corpus/<target>/, where the
ordinary tests read it from then on. Each line is added to build/fuzz.jsonl; --results writes a table of the sums over
all runs. With --atheris, Atheris drives the first target instead of our own engine.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import sys
from pathlib import Path
from typing import Any

from tests.results import add_record, records_of, write_table

CORPUS = Path(__file__).parent / "corpus"


def seeds_of(target: str) -> list[bytes]:
    """Return the inputs of the corpus for a target."""
    return [path.read_bytes() for path in sorted((CORPUS / target).glob("*")) if path.is_file()]


def _run_atheris(name: str, seconds: float) -> None:
    import atheris  # type: ignore[import-not-found]

    with atheris.instrument_imports(include=["labeltrees"]):
        from labeltrees.errors import LabelTreesError
        from tests.fuzz.targets import TARGETS

    def run(data: bytes) -> None:
        try:
            TARGETS[name](data)
        except LabelTreesError:
            pass

    atheris.Setup([sys.argv[0], str(CORPUS / name), f"-max_total_time={int(seconds)}"], run)
    atheris.Fuzz()


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", help="names, separated by commas")
    parser.add_argument("--seconds", type=float, default=60, help="per target")
    parser.add_argument("--executions", type=int, default=10**9, help="the most per target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--results", type=Path, help="write the table to this file")
    options = parser.parse_args()
    logging.getLogger("labeltrees").setLevel(logging.CRITICAL)
    names = options.targets.split(",") if options.targets else None
    if options.atheris:
        _run_atheris((names or ["xmc"])[0], options.seconds)
        return 0
    import labeltrees
    from tests.fuzz.engine import fuzz
    from tests.fuzz.targets import TARGETS

    package = Path(labeltrees.__file__).parent
    n_crashes = 0
    for name in names or TARGETS:
        if options.executions == 0:
            break
        found = fuzz(TARGETS[name], seeds_of(name), package, options.seconds, options.executions, options.seed)
        for data, _ in found.crashes[:20]:
            path = CORPUS / name / f"crash-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
        n_crashes += len(found.crashes)
        record = {
            "target": name,
            "sanitized": "libasan" in os.environ.get("LD_PRELOAD", ""),
            "executions": found.executions,
            "refused": found.refused,
            "covered": len(found.covered),
            "inputs_kept": len(found.kept),
            "crashes": sorted({fault for _, fault in found.crashes})[:10],
        }
        add_record("fuzz", record)
    if options.results:
        write_table(options.results, "Fuzzing", "make fuzz", _sums(names or list(TARGETS)))
    return int(n_crashes > 0)


def _sums(targets: list[str]) -> list[dict[str, Any]]:
    """Return one row per target: the sums over all runs, and the most lines that one run reached."""
    runs = records_of("fuzz")
    rows = []
    for target in targets:
        own = [run for run in runs if run["target"] == target]
        rows.append(
            {
                "target": target,
                "executions": sum(run["executions"] for run in own),
                "with_sanitizers": sum(run["executions"] for run in own if run["sanitized"]),
                "refused": sum(run["refused"] for run in own),
                "covered": max((run["covered"] for run in own), default=0),
                "crashes": sorted({fault for run in own for fault in run["crashes"]}),
            }
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
