"""The online shop, split by time: our model with the settings of PECOS, one difference after the other.

    python -m benchmarks.online_shop_settings [--only "fanout 64"] [--jobs 1]

Prints P@1, P@3 and P@5 on the test points for trees of different seeds. This explains a result of
benchmarks/online_shop.py. It is no way to choose settings: that needs validation points.
"""

from __future__ import annotations

import argparse
from typing import Any

import labeltrees as lt
from benchmarks.online_shop import KS, prepared
from benchmarks.tables import print_head

LEAVES_OF_100 = {"fanout": 64, "leaf_size": 100}  # PECOS was best with these and C=0.3
VARIANTS: dict[str, tuple[dict[str, Any], int]] = {  # settings and number of seeds
    "default": ({}, 2),
    "C 0.3": ({"C": 0.3}, 2),
    "no weights dropped": ({"prune_below": 0.0}, 1),
    "fanout 64, C 0.3": ({"fanout": 64, "C": 0.3}, 1),
    "fanout 64, leaves of 100": (LEAVES_OF_100, 1),
    "fanout 64, leaves of 100, C 0.3": (LEAVES_OF_100 | {"C": 0.3}, 2),
    "the same, tradeoff 0, beam 20": (LEAVES_OF_100 | {"C": 0.3, "tradeoff": 0, "beam": 20}, 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="variants whose name contains this")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    train, test = prepared("time")
    print_head("variant | seed | P@1 | P@3 | P@5")
    for name, (settings, n_seeds) in VARIANTS.items():
        for seed in range(n_seeds if options.only in name else 0):
            model = lt.LabelTreeClassifier(n_jobs=options.jobs, random_state=seed, **settings).fit(train.X, train.Y)
            labels, _ = model.predict_topk(test.X, max(KS))
            cells = [f"{100 * lt.metrics.precision_at_k(test.Y, labels, k):.1f}" for k in KS]
            print(f"| {name} | {seed} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
