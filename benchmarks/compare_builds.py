"""Compare the speed of two builds: reading, building trees, training and searching.

    python -m benchmarks.compare_builds --base PYTHON [--sets bundled eurlex4k debian-depends] [--turns 9]

PYTHON is an executable that has the other build of labeltrees installed, or a folder that contains its package
(``pip install --no-deps --target FOLDER .`` makes one). One process per build trains the same models and then takes
turns with the other, task by task, on one thread. A time is the best of all turns: processor time, or for single calls
the median time of a call.

- ratio: best time of the new build divided by that of the base; below 1 the new build is faster.
- spread: the lowest and the highest ratio that a third of the turns gives by itself. A ratio is beyond noise if this
  range does not contain 1. To see the noise of the machine alone, pass the same build as --base and --new.
- same: whether both builds gave the same result in every turn.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.builds.build import BUNDLED, Build, source_of
from benchmarks.peers.worker import PeerWorker
from benchmarks.tables import print_head, slashed

SCRIPT = Path(__file__).parent / "builds" / "timings.py"
N_GROUPS = 3


def ratios(times: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the ratio of best times (2, turns), and the lowest and highest ratio of the thirds of the turns."""
    best = times.min(axis=1)
    groups = [times[:, first::N_GROUPS].min(axis=1) for first in range(min(N_GROUPS, times.shape[1]))]
    spread = [group[1] / group[0] for group in groups]
    return best[1] / best[0], min(spread), max(spread)


def compare(name: str, builds: list[Build], turns: int, only: list[str]) -> None:
    """Print the rows of one dataset."""
    with contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(PeerWorker(SCRIPT, source_of(name), python=build.python, environment=build.environment))
            for build in builds
        ]
        about = [worker.ask() for worker in workers]
        print(f"\n## {name}\n\nbase: {about[0]['package']}\nnew:  {about[1]['package']}\n")
        print_head("task | base | new | ratio | spread | same")
        for task in about[0]["tasks"]:
            if only and not any(word in task for word in only):
                continue
            times, digests = measure(workers, task, turns)
            base, new = times.min(axis=1)
            ratio, lowest, highest = ratios(times)
            same = "yes" if len(digests) == 1 else "no"
            print(
                f"| {task} | {base:.4g} | {new:.4g} | {ratio:.3f} | {lowest:.3f} to {highest:.3f} | {same} |",
                flush=True,
            )
        print()
        print_head("model | P@1 / 3 / 5: base | new")
        for model in about[0]["precision"]:
            cells = [slashed(build["precision"][model]) for build in about]
            print(f"| {model} | {cells[0]} | {cells[1]} |", flush=True)


def measure(workers: list[PeerWorker], task: str, turns: int) -> tuple[NDArray[np.float64], set[str]]:
    """Return the times (builds, turns) of a task, and the digests of its results; who starts a turn alternates."""
    times = np.empty((len(workers), turns))
    digests: set[str] = set()
    for worker in workers:
        worker.ask(task=task)  # to warm up
    for turn in range(turns):
        order: Any = range(len(workers)) if turn % 2 == 0 else reversed(range(len(workers)))
        for i in order:
            answer = workers[i].ask(task=task)
            times[i, turn] = answer["time"]
            digests.add(answer["digest"])
    return times, digests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True, metavar="PYTHON", help="the build to compare with")
    parser.add_argument("--new", metavar="PYTHON", help="the build to judge; by default the one that runs this")
    parser.add_argument(
        "--sets", nargs="+", default=[BUNDLED], help='"bundled", or names of folders of the shared data'
    )
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only tasks whose name contains a WORD")
    options = parser.parse_args()
    print(f"One thread, best of {options.turns} turns.")
    for name in options.sets:
        compare(name, [Build.of(options.base), Build.of(options.new)], options.turns, options.only)


if __name__ == "__main__":
    main()
