"""What a setting gains and what it costs: models that differ in one setting, side by side.

    python -m benchmarks.variants QUESTION [--sets bibtex cooking eurlex4k] [--points 20000] [--seeds 1] [--validation]

QUESTION is one of those in `QUESTIONS`. Its variants are trained on the same points (at most --points of them, a random
sample) with --jobs threads and searched on one. The table has P@1 / 3 / 5 in percent, the difference of P@1 to the
first variant with the 95 % interval of the paired bootstrap, the expected depth of the best label, the nodes that a
search for 5 labels opens, the processor time of a search per query (the best of the repeats, in turns), the size of the
model and the processor time of `fit`. "x" is a time divided by that of the first variant. Figures are means over seeds.

With `--shares 0.01 0.1`, there is one row per set and share of its points instead: P@1 of every variant, and the first
minus the best of the others. Each seed has its own sample. The set "debian-closure" is debian-depends with all packages
that are needed, directly or not: 44 labels per point.
"""

from __future__ import annotations

import argparse
import itertools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import labeltrees as lt
from benchmarks.measures import best_times, precisions
from benchmarks.resampling import interval, precision_of_points, resampled
from benchmarks.shared_data import data_folder, load, read_records
from benchmarks.tables import print_head, slashed
from labeltrees.data.texts import label_matrix
from labeltrees.data.tfidf import PRESETS, preset_vectorizer
from labeltrees.models.linear import embeddings
from labeltrees.search.request import SearchRequest

VALIDATION_SHARE = 0.2
CLOSURE_STEPS = 3
GRID = [2 * t / (1 + t) for t in (0, 0.5, 1, 2, 6, 10, 30, 100, 300, 1000, 1e5)]  # the paper's


@dataclass
class Question:
    """Variants by name: parameters of a model. `needs_texts`: the models are fitted on texts instead of features."""

    variants: dict[str, dict[str, Any]]
    make: Callable[..., Any] = lt.LabelTreeClassifier
    needs_texts: bool = False
    has_label_texts: bool = False


def with_values(per_label: int | None, **parameters: Any) -> Any:
    """Return a model whose tree is built from the largest values of the labels' embeddings."""
    model: Any = lt.LabelTreeClassifier(**parameters)
    fit = model.fit

    def fit_with(X: Any, Y: Any) -> Any:
        embeddings.MOST_VALUES = 2**62 if per_label is None else per_label * Y.shape[1]
        return fit(X, Y)

    model.fit = fit_with
    return model


QUESTIONS = {
    "evidence": Question({str(kind): {"evidence": kind} for kind in (None, "neighbours", "centroids", "both", "auto")}),
    "cost": Question({f"C = {C}": {"C": C} for C in ("auto", 0.03, 0.1, 0.3, 1.0, 3.0)}),
    "tradeoff": Question({f"{t:.4g}": {"tradeoff": t, "beam": None} for t in (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2)}),
    "paper-tradeoff": Question({f"{t:.4g}": {"tradeoff": t} for t in GRID}, lt.LabelTreeClassifier.parabel),
    "tolerance": Question(
        {
            f"tradeoff {t:.4g}, {tolerance:g}": {"tradeoff": t, "tree": lt.TreeBuilder(tolerance=tolerance)}
            for t in (0.0, 1.0, GRID[4])
            for tolerance in (1e-4, 1e-5, 0.0)
        },
        lt.LabelTreeClassifier.parabel,
    ),
    "values": Question(
        {"all values": {"per_label": None}} | {f"{n} largest": {"per_label": n} for n in (128, 64)}, with_values
    ),
    "features": Question({name: {"vectorizer": preset_vectorizer(name)} for name in PRESETS}, needs_texts=True),
    "label-texts": Question(
        {
            "no texts": {"label_texts": {"points": "none"}},
            **{f"embedding {w}": {"label_texts": {"points": "none", "embedding": w}} for w in (0.5, 1.0, 2.0)},
            "names (default)": {},
            **{f"points of weight {w}": {"label_texts": {"points": "all", "weight": w}} for w in (0.1, 0.5, 1.0)},
        },
        needs_texts=True,
        has_label_texts=True,
    ),
}


def read(name: str, texts: bool, n_points: int, n_queries: int, validation: bool) -> list[tuple[Any, Any]]:
    """Return samples of the training and test (or validation) points: features or texts, and labels."""
    if texts:
        found = [read_records(data_folder(name) / f"{part}.jsonl.xz") for part in ("train", "test")]
        parts: list[tuple[Any, Any]] = [
            (np.array(texts, dtype=object), np.array(labels, dtype=object)) for texts, labels in found
        ]
    else:
        parts = [(dataset.X, dataset.Y) for dataset in load(name)]
    if validation:
        X, Y = parts[0]
        held_out = np.random.default_rng(1).random(X.shape[0]) < VALIDATION_SHARE
        parts = [(X[rows], Y[rows]) for rows in (np.flatnonzero(~held_out), np.flatnonzero(held_out))]
    sizes = zip(parts, (n_points, n_queries), strict=True)
    rows = [np.sort(np.random.default_rng(0).permutation(X.shape[0])[:most]) for (X, _), most in sizes]
    return [(X[kept], Y[kept]) for (X, Y), kept in zip(parts, rows, strict=True)]


def fit(question: Question, parameters: dict[str, Any], X: Any, Y: Any, **fixed: Any) -> tuple[Any, float]:
    """Return a model and the processor seconds of its fit. The text of a label is the words of its name."""
    own: dict[str, Any] = {}
    if question.needs_texts:
        X, Y = X.tolist(), Y.tolist()
    if question.has_label_texts:
        names = {name for labels in Y for name in labels}
        own["label_texts"] = {name: text_of(name) for name in names}
    start = time.process_time()
    model = question.make(**parameters, **fixed).fit(X, Y, **own)
    return model, time.process_time() - start


def text_of(name: str) -> str:
    """Return the words of a label's name."""
    return " ".join(re.findall(r"[^\W\d_]+|\d+", name))


def measure(question: Question, train: Any, test: Any, options: argparse.Namespace, seed: int) -> list[Any]:
    """Return for every variant: precision, whether the best label of each query is right, and other figures."""
    rows, calls = [], []
    for parameters in question.variants.values():
        model, seconds = fit(question, parameters, *train, random_state=seed, n_jobs=options.jobs)
        X, Y = test
        if question.needs_texts:
            X, Y = model.vectorizer_.transform(X.tolist()), label_matrix(known(Y, model.classes_), model.classes_)
        request = model.complete_request(SearchRequest(5))
        found = model.searcher_.topk(model.check_queries(X), request, n_jobs=1, stats=True)
        depth = lt.metrics.expected_depth_at_k(model.tree_, found.labels, 1)
        figures = [depth, float(found.stats.chunks.mean()), 0.0, model.stats_["bytes"] / 1e6, seconds]
        rows.append((precisions(Y, found.labels), precision_of_points(Y, found.labels[None], 1)[0], figures))
        calls.append(lambda model=model, X=X: model.predict_topk(X, 5, n_jobs=1))
    for (_, hits, figures), took in zip(rows, best_times(calls, options.repeats), strict=True):
        figures[2] = 1e6 * took.processor / len(hits)
    return rows


def known(labels: Any, names: Any) -> list[list[str]]:
    """Return the labels of each point that a model knows."""
    of_model = set(names)
    return [[name for name in own if name in of_model] for own in labels]


def report(question: Question, seeds: list[list[Any]]) -> None:
    """Print a row per variant."""
    print_head("variant | P@1 / 3 / 5 | P@1 against the first | depth@1 | nodes | search us | x | MB | fit s | x")
    hits = [np.array([rows[place][1] for rows in seeds]) for place in range(len(question.variants))]
    figures = np.mean([[row[2] for row in rows] for rows in seeds], axis=0)
    for place, name in enumerate(question.variants):
        precision = slashed(np.mean([rows[place][0] for rows in seeds], axis=0))
        gain = hits[place] - hits[0]
        against = f"{100 * gain.mean():+.1f} ({interval(resampled(gain, np.ones(gain.shape[1]), 0), '+')})"
        depth, nodes, us, size, seconds = figures[place]
        print(
            f"| {name} | {precision} | {against if place else ''} | {depth:.2f} | {nodes:.1f} "
            f"| {us:.2f} | {us / figures[0, 2]:.2f} | {size:.2f} | {seconds:.2f} | {seconds / figures[0, 4]:.2f} |",
            flush=True,
        )


def load_set(name: str) -> list[Any]:
    """Return the training and the test set; of "debian-closure", labels are all packages that are needed."""
    if name != "debian-closure":
        return list(load(name))
    train, test = load("debian-depends")
    texts, _ = read_records(data_folder("debian-depends") / "train.jsonl.xz")
    by_word: dict[str, list[int]] = {}
    for point, text in enumerate(texts):
        by_word.setdefault(text.partition(" ")[0], []).append(point)
    needs = np.full(train.n_labels, -1)  # the point of each label: its text begins with the words of its name
    for label, package in enumerate(train.label_names):
        words = package.replace("-", " ") + " "
        same = [point for point in by_word.get(words.partition(" ")[0], []) if texts[point].startswith(words)]
        needs[label] = same[0] if same else -1
    known = np.flatnonzero(needs >= 0)
    direct = sparse.csr_array((np.ones(len(known), np.float32), (known, needs[known])), (len(needs), len(texts)))
    step = direct @ train.Y  # the packages that each package needs
    closed = []
    for part in (train, test):
        Y = part.Y
        for _ in range(CLOSURE_STEPS):
            Y = sparse.csr_array((Y + Y @ step) > 0).astype(np.float32)
        closed.append(lt.Dataset(part.X, Y))
    return closed


def report_shares(question: Question, options: argparse.Namespace) -> None:
    """Print a row per set and share: P@1 of every variant, and the first minus the best of the others."""
    print_head(f"set | points | {' | '.join(question.variants)} | first minus best other")
    for name, share in itertools.product(options.sets, options.shares):
        train, test = load_set(name)
        n_points, hits = int(share * train.n_points), np.zeros((options.seeds, len(question.variants)))
        queries = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(test.Y.indptr)))[: options.queries]
        for seed in range(options.seeds):
            rows = np.sort(np.random.default_rng(seed).permutation(train.n_points)[:n_points])
            for place, own in enumerate(question.variants.values()):
                model, _ = fit(question, own, train.X[rows], train.Y[rows], random_state=seed, n_jobs=options.jobs)
                labels, _ = model.predict_topk(test.X[queries], 1, n_jobs=1)
                hits[seed, place] = lt.metrics.precision_at_k(test.Y[queries], labels, 1)
        found = 100 * hits.mean(axis=0)
        shown = " | ".join(f"{value:.2f}" for value in found)
        print(f"| {name} | {n_points:,} | {shown} | {found[0] - found[1:].max():+.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=list(QUESTIONS))
    parser.add_argument("--sets", nargs="+", default=["cooking", "debian-depends"])
    parser.add_argument("--points", type=int, default=10**9)
    parser.add_argument("--queries", type=int, default=10**9)
    parser.add_argument("--validation", action="store_true", help="search held-out training points, to choose by them")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shares", type=float, nargs="+", help="shares of the training points, one row for each")
    options = parser.parse_args()
    question = QUESTIONS[options.question]
    if options.shares:
        report_shares(question, options)
        return
    for name in options.sets:
        train, test = read(name, question.needs_texts, options.points, options.queries, options.validation)
        print(f"\n**{name}**: {train[0].shape[0]:,} points, {test[0].shape[0]:,} queries, {options.seeds} seeds\n")
        report(question, [measure(question, train, test, options, seed) for seed in range(options.seeds)])


if __name__ == "__main__":
    main()
