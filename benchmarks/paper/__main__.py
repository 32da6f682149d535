"""The paper, reproduced: every claim tested as stated and every figure drawn, from records of trained models.

    python -m benchmarks.paper [--sets debian eurlex4k ...] [--seeds 5] [--tradeoffs ...] [--jobs 1] [--minutes 60]
    python -m benchmarks.paper --figures-only      # train nothing; analyse and draw what the records have
    python -m benchmarks.paper --quick             # bundled data only, under a minute; writes to build/paper-quick
    python -m benchmarks.paper.text_claim          # trains the models of figure 4 (fastText)

Models use the preset `LabelTreeClassifier.parabel` on the paper's grid of tradeoffs. Each finished run is one line of
benchmarks/results/paper/runs.jsonl, so an interrupted command continues. From the records it makes claims.json, the
table at the top of docs/paper.md, and the pictures docs/pictures/paper-figure-1.svg to -6.svg.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.paper.claims import record_imbalance
from benchmarks.paper.datasets import DEFAULT_SETS, IMBALANCE_SETS
from benchmarks.paper.page import publish
from benchmarks.paper.quick import quick
from benchmarks.paper.records import PARTS, VARIANTS
from benchmarks.paper.train import missing_runs, train_missing

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "paper"
PAGE = ROOT / "docs" / "paper.md"
PICTURES = ROOT / "docs" / "pictures"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=DEFAULT_SETS, help="also arxiv-authors and amazon-1m-shape")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default: %(default)s)")
    parser.add_argument("--tradeoffs", nargs="+", type=float, help="only these tradeoffs of the paper's grid")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), help="only these curves of figure 3")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, help="test points, validation points or both"
    )
    parser.add_argument("--jobs", type=int, default=1, help="threads (default: %(default)s)")
    parser.add_argument("--minutes", type=float, help="start no run after this time; run again to continue")
    parser.add_argument("--quick", action="store_true", help="a small run on bundled data that touches every step")
    parser.add_argument("--figures-only", action="store_true", help="train nothing")
    parser.add_argument("--train-only", action="store_true", help="add records; do not analyse or draw them")
    parser.add_argument("--output", type=Path, help="folder for the results of --quick (default: build/paper-quick)")
    options = parser.parse_args()
    if options.output is not None and not options.quick:
        parser.error("--output needs --quick; the other runs write to benchmarks/results/paper and docs")
    if options.quick:
        quick(options.output or ROOT / "build" / "paper-quick", options.jobs)
        return
    if not options.figures_only:
        until = None if options.minutes is None else time.time() + 60 * options.minutes
        if not options.train_only:
            record_imbalance(RESULTS / "imbalance.jsonl", IMBALANCE_SETS)
        runs = missing_runs(
            RESULTS / "runs.jsonl",
            options.sets,
            range(options.seeds),
            options.tradeoffs,
            options.variants,
            options.parts,
        )
        train_missing(RESULTS / "runs.jsonl", runs, options.jobs, until)
    if not options.train_only:
        publish(RESULTS, PAGE, PICTURES)


if __name__ == "__main__":
    main()
