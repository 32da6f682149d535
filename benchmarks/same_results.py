"""Check that two builds compute the same: trees, saved files and predictions, byte for byte.

    python -m benchmarks.same_results --base PYTHON [--sets bundled eurlex4k debian-depends]

PYTHON is an executable that has the other build of labeltrees installed, or a folder that contains its package. Both
builds run the same script (`builds/digests.py`) in their own process. It reads the data, builds trees, trains models on
one thread, saves them and predicts with them, and returns a SHA-256 digest of each result. In a manifest, the training
times and the manifest's own checksum are left out. The exit code is 1 if a digest differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.builds.build import BUNDLED, Build, source_of
from benchmarks.tables import print_head

SCRIPT = Path(__file__).parent / "builds" / "digests.py"

Digests = dict[str, dict[str, str]]  # group -> item -> digest


def run_builds(builds: list[Build], source: str) -> list[dict[str, Any]]:
    """Return what the script prints under each build; the builds run at the same time."""
    processes = [
        subprocess.Popen([build.python, str(SCRIPT), source], env=build.environment, stdout=subprocess.PIPE, text=True)
        for build in builds
    ]
    outputs = [process.communicate()[0] for process in processes]
    for build, process in zip(builds, processes, strict=True):
        if process.returncode != 0:
            message = f"{build.python} ended with exit code {process.returncode}; its error is printed above"
            raise SystemExit(message)
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def differences(base: Digests, new: Digests) -> dict[str, list[str]]:
    """Return for each group the items that differ, or that only one build has."""
    groups = list(dict.fromkeys([*base, *new]))
    found = {}
    for group in groups:
        ours, theirs = new.get(group, {}), base.get(group, {})
        found[group] = [item for item in dict.fromkeys([*theirs, *ours]) if theirs.get(item) != ours.get(item)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True, metavar="PYTHON", help="the build to compare with")
    parser.add_argument("--new", metavar="PYTHON", help="the build that is checked; by default the one that runs this")
    parser.add_argument(
        "--sets", nargs="+", default=[BUNDLED], help='"bundled", or names of folders of the shared data'
    )
    options = parser.parse_args()
    builds = [Build.of(options.base), Build.of(options.new)]
    n_items = n_different = 0
    for name in options.sets:
        base, new = run_builds(builds, source_of(name))
        if name == options.sets[0]:
            print(f"base: {base['version']} in {base['package']}\nnew:  {new['version']} in {new['package']}\n")
            print_head("data | results | compared | different")
        for group, items in differences(base["digests"], new["digests"]).items():
            n_group = len(base["digests"].get(group, {}).keys() | new["digests"].get(group, {}).keys())
            print(f"| {name} | {group} | {n_group} | {len(items)} |", flush=True)
            for item in items:
                print(f"|  |  |  | {item} |", flush=True)
            n_items += n_group
            n_different += len(items)
    print(f"\n{n_items} results compared, {n_different} differ.")
    raise SystemExit(1 if n_different else 0)


if __name__ == "__main__":
    main()
