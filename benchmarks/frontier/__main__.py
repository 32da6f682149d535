"""Precision against time: ours, PECOS, omikuji, napkinXC, LibMultiLabel and fastText with many settings.

    python -m benchmarks.frontier [--sets eurlex4k debian-depends delicious arxiv-authors]
        [--steps train,measure,report] [--repeats 3] [--cache FOLDER]

`train` trains the models that are not in the cache folder: peers once, ours again for every version of the library.
`measure` opens all models and lets them take turns: batches of all queries on one and on two threads, single calls on
one. `report` prints the tables, checks the goal and draws the charts benchmarks/results/frontier-*.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.frontier import grid
from benchmarks.frontier.cache import FOLDER, SetCache
from benchmarks.frontier.measure import measure_all
from benchmarks.frontier.pictures import draw
from benchmarks.frontier.report import report, summary
from benchmarks.frontier.train import train_all

SETS = ["eurlex4k", "debian-depends", "delicious", "arxiv-authors"]
STEPS = ("train", "measure", "report")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="threads for training")
    parser.add_argument("--max-seconds", type=float, default=900, help="leave out models that train longer")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="only models whose contestant or name contains one of these"
    )
    parser.add_argument("--cache", type=Path, default=FOLDER, help="folder for models and measurements")
    options = parser.parse_args()
    steps = options.steps.split(",")
    if not set(steps) <= set(STEPS):
        parser.error(f"--steps must be a comma-separated list of {', '.join(STEPS)}, got {options.steps!r}")
    for name in options.sets:
        cache = SetCache(options.cache, name)
        cache.make_data()
        everyone = grid.models(name, cache.facts())
        wanted = [m for m in everyone if any(word in f"{m.contestant}: {m.name}" for word in options.only)]
        if "train" in steps:
            train_all(cache, wanted, options.jobs, options.max_seconds)
        if "measure" in steps:
            measure_all(cache, wanted, options.repeats)
    if "report" in steps:
        measured = {name: SetCache(options.cache, name).measured() for name in options.sets}
        summary(measured)
        for name, of_set in measured.items():
            report(name, of_set)
            draw(name, of_set["points"])


if __name__ == "__main__":
    main()
