"""Precision, ours by default and by `choose`, and the peers', each tuned on the same validation points.

    python -m benchmarks.precision [--sets bibtex eurlex4k] [--contestants "ours, choose" PECOS] [--report]

PECOS, omikuji and napkinXC are tuned over C (0.1, 0.3, 1, 3, 10: from 1 on in the direction that gains, until it
loses), loss (squared hinge and logistic; PECOS: squared and plain hinge) and beam (10, 30; napkinXC's search is exact)
for nDCG@5 on a fifth of the training points, at most 5,000, then trained on all of them. arxiv-authors is a tenth of
its points. `choose` has 20 times the time of a plain fit, at least 20 seconds, for its search and the final training.
On sets of texts, "ours, choose with features" may also choose the kind of features, where the peers have words only.
Everyone has one thread. Finished measurements, also those of tuning, are kept in build/benchmark-cache and not
repeated; `--report` only prints them.

    python -m benchmarks.precision --exhaustive [--texts] [--sets bibtex] [--seconds 600] [--again] [--report]

compares `choose` with every combination of its changes instead. With `--texts` it starts from raw texts, and the
combinations are those of features, stems, number of trees and evidence. Times are processor times. `--again` measures
the choice only.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.precision import exhaustive
from benchmarks.precision.contestants import ALL, measure
from benchmarks.precision.datasets import RAW_SETS, SETS, load_data, load_raw
from benchmarks.precision.records import read_record
from benchmarks.precision.report import report


def main() -> None:
    """Measure what is not measured yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, metavar="SET")
    parser.add_argument("--contestants", nargs="+", default=list(ALL), choices=ALL, metavar="NAME")
    parser.add_argument("--report", action="store_true", help="only print what is measured")
    parser.add_argument("--exhaustive", action="store_true", help="compare choose with all combinations of its changes")
    parser.add_argument("--texts", action="store_true", help="raw texts instead of features, with --exhaustive")
    parser.add_argument("--again", action="store_true", help="measure the choice only, with --exhaustive")
    parser.add_argument("--seconds", type=float, help="for the combinations of each set")
    options = parser.parse_args()
    for name in options.sets if not options.texts else [name for name in options.sets if name in RAW_SETS]:
        data = load_raw(name) if options.texts else load_data(name)
        if options.exhaustive:
            if not options.report:
                exhaustive.measure_choice(data)
            if not (options.report or options.again):
                exhaustive.measure_all(data, options.seconds)
            exhaustive.report(data)
            continue
        for contestant in options.contestants:
            if not options.report and read_record(data, contestant) is None:
                print(f"{name}: {contestant}", file=sys.stderr, flush=True)
                measure(data, contestant)
        report(data)


if __name__ == "__main__":
    main()
