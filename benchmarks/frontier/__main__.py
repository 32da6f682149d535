"""Precision against microseconds: ours, PECOS, omikuji, napkinXC and fastText over their settings, taking turns.

    python -m benchmarks.frontier [--sets eurlex4k debian-depends delicious arxiv-authors]
        [--steps train,measure,report] [--repeats 3] [--cache FOLDER]

`train` trains every model that the cache folder does not have yet: peers once, ours again for every version of the
library. `measure` opens them all and lets them take turns: batches of all queries on one thread and on two, single
calls on one. `report` prints the tables, checks the goal and draws the pictures into benchmarks/results/frontier-*.png.
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
    parser.add_argument("--jobs", type=int, default=2, help="threads that train")
    parser.add_argument("--most-seconds", type=float, default=900, help="a model that trains longer is left out")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="models whose contestant or name has one of these words"
    )
    parser.add_argument("--cache", type=Path, default=FOLDER, help="where models and measurements are kept")
    options = parser.parse_args()
    steps = options.steps.split(",")
    if not set(steps) <= set(STEPS):
        parser.error(f"--steps takes {', '.join(STEPS)}")
    for name in options.sets:
        cache = SetCache(options.cache, name)
        cache.make_data()
        everyone = grid.models(name, cache.facts())
        wanted = [m for m in everyone if any(word in f"{m.contestant}: {m.name}" for word in options.only)]
        if "train" in steps:
            train_all(cache, wanted, options.jobs, options.most_seconds)
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
