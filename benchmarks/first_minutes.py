"""Time what a newcomer does first: install, import, run the README and the quickstart.

    python -m benchmarks.first_minutes [--before COMMIT] [--cases wheel source make]

Each column is one run of `scripts/first_minutes.sh`, in an empty home without caches except pip's: the wheel of dist/
(run `make wheel` first) on a path without compilers, `pip install .` in a clone, and `make quickstart` in a clone. With
--before, the last two also run at that commit. Seconds; the last row is in MB. The time to import and of --help is the
best of several runs.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from benchmarks.tables import print_head

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "first_minutes.sh"


def run(case: str, commit: str) -> dict[str, str]:
    """Return the figure of each step."""
    found = subprocess.run([SCRIPT, case, commit], stdout=subprocess.PIPE, text=True, check=True)
    return {step: figure for figure, _, step in (line.partition("\t") for line in found.stdout.splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", metavar="COMMIT", help="also run the cases of a clone at this commit")
    parser.add_argument("--cases", nargs="+", default=["wheel", "source", "make"], choices=["wheel", "source", "make"])
    options = parser.parse_args()
    columns = {case: run(case, "HEAD") for case in options.cases}
    for case in options.cases:
        if options.before and case != "wheel":
            columns[f"{case}, {options.before}"] = run(case, options.before)
    print_head(" | ".join(["step", *columns]))
    steps = list(dict.fromkeys(step for column in columns.values() for step in column))
    for step in sorted(steps, key=lambda step: step.startswith("MB")):
        print(" | ".join(["", step, *(column.get(step, "") for column in columns.values()), ""]).strip())


if __name__ == "__main__":
    main()
