"""Lists weighted by inverse propensity: propensity-scored precision, precision, and the time per query.

    python -m benchmarks.label_weight [--sets eurlex4k delicious] [--repeats 5]

Searches are exact and use one thread; times are the best of the repeats, which take turns. "weighted later" is what is
possible without weights inside the search: the 20 best labels by score, ordered by score times weight.
"""

from __future__ import annotations

import argparse

import numpy as np

import labeltrees as lt
from benchmarks.measures import best_times, precisions
from benchmarks.shared_data import load
from benchmarks.tables import print_head, slashed

LATER = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["eurlex4k", "delicious"])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print_head("data | lists | PSP@1 / 3 / 5 | P@1 / 3 / 5 | us per query")
    for name in options.sets:
        train, test = load(name)
        model = lt.LabelTreeClassifier(random_state=0, n_jobs=1).fit(train.X, train.Y)
        gain = lt.metrics.inverse_propensity(train.Y)
        weights = model.label_weights(gain)
        searches = {
            "by score": lambda model=model, X=test.X: model.predict_topk(X, 5, beam=None)[0],
            "weighted inside": lambda model=model, X=test.X, w=weights: model.predict_topk(X, 5, label_weight=w)[0],
            f"weighted later, of {LATER}": lambda model=model, X=test.X, g=gain: weigh_later(model, X, g),
        }
        times = best_times(list(searches.values()), options.repeats)
        for (title, search), seconds in zip(searches.items(), times, strict=True):
            labels = search()
            psp = [100 * lt.metrics.psp_at_k(test.Y, labels, k, propensities=1 / gain) for k in (1, 3, 5)]
            us = seconds.processor / test.n_points * 1e6
            print(
                f"| {name} | {title} | {slashed(psp)} | {slashed(precisions(test.Y, labels))} | {us:.1f} |", flush=True
            )


def weigh_later(model: lt.LabelTreeClassifier, X: object, gain: np.ndarray) -> np.ndarray:
    """Return the 5 best of the 20 best labels by score, ordered by score times gain."""
    labels, scores = model.predict_topk(X, LATER, beam=None)
    order = np.argsort(-scores * gain[labels], axis=1, kind="stable")[:, :5]
    return np.take_along_axis(labels, order, axis=1)


if __name__ == "__main__":
    main()
