"""The paper's claims about Parabel, checked on real data.

    python -m benchmarks.paper [--sets eurlex4k debian-depends delicious] [--seeds 3] [--jobs 2]

Parabel's settings (binary trees, leaves of 100 labels, beam of 10) over the paper's grid of tradeoffs: P@k and expected
depth@k of its four curves; the result for each claim; and for which labels a small tradeoff raises recall (head: at
least 100 training points, tail: fewer than 10). `benchmarks.text_models` checks the claims about fastText,
`examples/online_shop.py` those about logs.
"""

from __future__ import annotations

import argparse

from benchmarks.paper.claims import print_claims, print_groups
from benchmarks.paper.curves import measure, print_curves
from benchmarks.paper.datasets import print_datasets
from benchmarks.shared_data import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "debian-depends", "delicious"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    data = {name: load(name) for name in options.sets}
    print(f"Means of {options.seeds} seeds; ± is half of the 95% interval over seeds.\n")
    print_datasets(data)
    for name, (train, test) in data.items():
        print(f"\n## {name}\n", flush=True)
        curves = measure(train, test, range(options.seeds), options.jobs)
        print_curves(curves)
        print()
        print_claims(curves)
        print_groups(train, test, 2 / 3, options.jobs)


if __name__ == "__main__":
    main()
