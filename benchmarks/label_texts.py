r"""How well labels without training points are found by their texts, and what that does to other labels.

    python -m benchmarks.label_texts [--sets cooking debian-depends] [--points 20000] [--queries 3000] [--seeds 1]

The text of a label is the words of its name ("libgtk-3-0" becomes "libgtk 3 0"). A tenth of the labels, drawn at
random, lose all their training points. The table has the share of the test points' lost labels among the first 5 and
the first 20 predictions with its 95 % interval (bootstrap over labels), the same for lost labels that had at most 20
points, P@1 / 3 / 5 of points that have none of the lost labels with the difference of P@5 to the first row, P@1 of
all points, the processor time of a search for 20 labels, and the processor time of `fit`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.measures import best_times
from benchmarks.resampling import interval, resampled
from benchmarks.tables import print_head, slashed
from benchmarks.variants import known, read, text_of
from labeltrees.data.label_sets import has_label
from labeltrees.data.texts import label_matrix

USES: dict[str, dict[str, Any]] = {
    "none": {"label_texts": "none"},
    "as points": {"label_texts": "missing"},
    "names (default)": {},
}
FEW = 20  # points


def lose(Y: Any, seed: int) -> tuple[Any, Any]:
    """Return which labels lose their points, and the labels of the points without them."""
    lost = np.random.default_rng([seed, 1]).random(Y.shape[1]) < 0.1
    kept = Y.copy()
    kept.data = np.where(lost[kept.indices], 0, kept.data)
    kept.eliminate_zeros()
    return lost, kept


def hits_of(truth: Any, labels: Any) -> Any:
    """Return whether each returned label (n, k) is right; -1 is not."""
    hits = np.zeros(labels.shape, bool)
    at = np.nonzero(labels >= 0)
    hits[at] = has_label(truth, at[0], labels[at])
    return hits


def recall(truth: Any, labels: Any, hits: Any, wanted: Any, k: int) -> tuple[float, str]:
    """Return the share of the wanted labels (L,) of the points that are among the first k, and its interval."""
    n_labels = truth.shape[1]
    found = np.bincount(labels[:, :k][hits[:, :k]], minlength=n_labels)[wanted].astype(float)
    there = np.bincount(truth.indices, minlength=n_labels)[wanted].astype(float)
    found, there = found[there > 0], there[there > 0]
    return 100 * found.sum() / max(there.sum(), 1), interval(resampled((found / there)[None], there, 0), "")


def compare(train: Any, test: Any, seed: int, n_jobs: int, repeats: int) -> None:
    """Print a row per use of the texts."""
    (X, Y), (queries, wanted) = ((texts.tolist(), labels.tolist()) for texts, labels in (train, test))
    names = sorted({name for own in Y for name in own})
    truth = label_matrix(known(wanted, names), names)
    all_labels = label_matrix(Y, names)
    lost, matrix = lose(all_labels, seed)
    few = lost & (np.bincount(all_labels.indices, minlength=len(names)) <= FEW)
    without = np.asarray(truth @ lost.astype(np.float32)) == 0
    rows, calls = [], []
    for parameters in USES.values():
        start = time.process_time()
        model = lt.LabelTreeClassifier(n_jobs=n_jobs, **parameters)
        model.fit(X, matrix, label_texts=[text_of(name) for name in names])
        seconds = time.process_time() - start
        encoded = model.check_queries(queries)
        labels, _ = model.predict_topk(encoded, 20)
        rows.append((labels, hits_of(truth, labels), seconds))
        calls.append(lambda model=model, encoded=encoded: model.predict_topk(encoded, 20, n_jobs=1))
    print_head(
        "texts | lost labels in 5 | in 20 | rare ones in 20 | P@1 / 3 / 5 of others | P@5 | P@1 of all | us | fit s"
    )
    for name, (labels, hits, seconds), took in zip(USES, rows, best_times(calls, repeats), strict=True):
        shares = [recall(truth, labels, hits, *asked) for asked in ((lost, 5), (lost, 20), (few, 20))]
        others = hits[without]
        gain = (others[:, :5].mean(axis=1) - rows[0][1][without][:, :5].mean(axis=1))[None]
        against = f"{100 * gain.mean():+.2f} ({interval(resampled(gain, np.ones(gain.shape[1]), 0), '+')})"
        print(
            f"| {name} | {' | '.join(f'{share:.1f} % ({bounds})' for share, bounds in shares)} "
            f"| {slashed([100 * others[:, :k].mean() for k in (1, 3, 5)])} | {against} | {100 * hits[:, 0].mean():.1f} "
            f"| {1e6 * took.processor / len(queries):.1f} | {seconds:.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["cooking", "debian-depends"])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for name in options.sets:
        train, test = read(name, True, options.points, options.queries, validation=False)
        for seed in range(options.seeds):
            print(f"\n**{name}**: {len(train[0]):,} texts, {len(test[0]):,} queries, lost labels of seed {seed}\n")
            compare(train, test, seed, options.jobs, options.repeats)


if __name__ == "__main__":
    main()
