r"""The uses of texts of labels: in the tree, as training points, and for labels without training points.

    python -m benchmarks.label_texts [--sets debian-depends] [--points 20000] [--features words]

The text of a label is its name with punctuation and digits set apart ("libgtk-3-0" becomes "libgtk 3 0"). The first
table compares models with and without texts: P@1/3/5 and PSP@5 in percent, the difference of P@1 with the interval of
the paired bootstrap, the nodes that a search opens and its processor time per query.

For the second table a tenth of the labels lose all their training points. It shows the share of the test points' lost
labels that are among the first 5 and the first 20 predictions, and P@1 of all labels.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

import numpy as np

import labeltrees as lt
from benchmarks.features import Texts, gain, read
from benchmarks.measures import best_times
from benchmarks.tables import print_head, slashed
from labeltrees.data.texts import label_matrix
from labeltrees.data.tfidf import PRESETS, preset_vectorizer

USES: dict[str, dict[str, Any]] = {
    "no texts": {"points": "none"},
    "embedding 0.5": {"points": "none", "embedding": 0.5},
    "embedding 1": {"points": "none", "embedding": 1.0},
    "embedding 2": {"points": "none", "embedding": 2.0},
    "points of weight 0.1": {"points": "all", "weight": 0.1},
    "points of weight 0.5": {"points": "all", "weight": 0.5},
    "points of weight 1": {"points": "all", "weight": 1.0},
    "points of weight 0.5, embedding 1": {"points": "all", "weight": 0.5, "embedding": 1.0},
}
ROUNDS = 3


def text_of(name: str) -> str:
    """Return the words of a label's name."""
    return " ".join(re.findall(r"[^\W\d_]+|\d+", name))


def right(truth: Any, labels: Any) -> Any:
    """Return whether each returned label (n, k) is right; -1 is not."""
    sets = [set(row.tolist()) for row in np.split(truth.indices, truth.indptr[1:-1])]
    return np.array([[label in own for label in found] for found, own in zip(labels.tolist(), sets, strict=True)])


def matrices(train: Texts, test: Texts) -> tuple[list[str], Any, Any]:
    """Return the names of the training labels, and the labels of the training and test points."""
    names = sorted({label for labels in train.labels for label in labels})
    known = set(names)
    test_labels = [[name for name in labels if name in known] for labels in test.labels]
    return names, label_matrix(train.labels, names), label_matrix(test_labels, names)


def fit(train: Texts, Y: Any, texts: list[str], features: str, parameters: dict[str, Any]) -> Any:
    """Fit a model on texts."""
    model = lt.LabelTreeClassifier(vectorizer=preset_vectorizer(features), label_texts=parameters, n_jobs=1)
    return model.fit(train.texts, Y, label_texts=texts)


def compare(train: Texts, test: Texts, features: str) -> None:
    """Print the table of the uses."""
    names, Y, truth = matrices(train, test)
    texts = [text_of(name) for name in names]
    print_head("use | P@1 / 3 / 5 | PSP@5 | P@1 against no texts | nodes | search us")
    rows, calls = [], []
    for use, parameters in USES.items():
        model = fit(train, Y, texts, features, parameters)
        queries = model.vectorizer_.transform(test.texts)
        labels, _, stats = model.predict_topk(queries, 5, n_jobs=1, return_stats=True)
        psp = 100 * lt.metrics.psp_at_k(truth, labels, 5, Y_train=Y)
        rows.append((use, right(truth, labels), psp, float(stats.chunks.mean())))
        calls.append(lambda model=model, queries=queries: model.predict_topk(queries, 5, n_jobs=1))
    times = best_times(calls, ROUNDS)
    for number, ((use, hits, psp, chunks), took) in enumerate(zip(rows, times, strict=True)):
        against = gain(hits, rows[0][1]) if number else ""
        precision = slashed((100 * hits[:, :k].mean() for k in (1, 3, 5)), ".1f")
        us = 1e6 * took.processor / len(test.texts)
        print(f"| {use} | {precision} | {psp:.1f} | {against} | {chunks:.1f} | {us:.1f} |", flush=True)


def without_points(train: Texts, test: Texts, features: str) -> None:
    """Print how well labels that lost their training points are found."""
    names, Y, truth = matrices(train, test)
    texts = [text_of(name) for name in names]
    lost = np.random.default_rng(1).random(len(names)) < 0.1
    Y = Y.tocsc(copy=True)
    Y.data[np.repeat(lost, np.diff(Y.indptr))] = 0
    Y = Y.tocsr()
    Y.eliminate_zeros()
    of_lost = truth[:, np.flatnonzero(lost)]
    wanted = np.flatnonzero(np.diff(of_lost.indptr))
    print_head("texts | found among 5 | among 20 | P@1 of all points")
    for use, which, weight in (("none", "none", 1.0), ("points", "missing", 1.0), ("points", "missing", 0.2)):
        model = fit(train, Y, texts, features, {"points": which, "weight": weight})
        queries = model.vectorizer_.transform(test.texts)
        labels, _ = model.predict_topk(queries, 20, n_jobs=1)
        hits = right(truth, labels)
        is_lost = np.append(lost, False)[labels] & hits
        found = [100 * is_lost[wanted, :k].sum() / of_lost.nnz for k in (5, 20)]
        title = use if use == "none" else f"as points of weight {weight:g}"
        print(f"| {title} | {found[0]:.1f} % | {found[1]:.1f} % | {100 * hits[:, 0].mean():.1f} |", flush=True)


def main() -> None:
    """Print two tables per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["debian-depends"])
    parser.add_argument("--features", default="words", choices=list(PRESETS))
    parser.add_argument("--points", type=int, default=10**9)
    parser.add_argument("--queries", type=int, default=10**9)
    options = parser.parse_args()
    for name in options.sets:
        train, test = read(name, options.points, options.queries)
        print(f"\n**{name}**, {options.features}: {len(train.texts):,} texts, {len(test.texts):,} queries\n")
        compare(train, test, options.features)
        print("\nLabels without training points:\n")
        without_points(train, test, options.features)


if __name__ == "__main__":
    main()
