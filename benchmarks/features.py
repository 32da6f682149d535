"""Kinds of text features: precision, number of features and time per query of each preset.

    python -m benchmarks.features [--sets cooking debian-depends] [--presets words words+pairs+chars] [--points 50000]

Every preset is fitted on the same texts (at most --points of them, a random sample) and measured on the same test
texts (at most --queries), with one thread. The table has P@1/3/5 in percent, the difference of P@1 to the first row
with the interval of the paired bootstrap, the features per query, the chunks that a search opens, the features that it
looks up and the rows of weights that it finds and adds, the processor time of the vectorizer and of the search per
query in batches of all queries (the best of five rounds in turns), and the size of the model. --cut shortens every text
to at most this many characters, as titles. --ranges adds words, pairs and pieces of these lengths, such as 3-5.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import labeltrees as lt
from benchmarks.measures import best_times
from benchmarks.shared_data import data_folder, read_records
from benchmarks.tables import print_head, slashed
from labeltrees.data.tfidf import PRESETS, preset_vectorizer
from labeltrees.profiling import measure_work
from labeltrees.search.request import SearchRequest

ROUNDS = 5
RESAMPLES = 2000


class Texts(NamedTuple):
    """Texts with the names of their labels."""

    texts: list[str]
    labels: list[list[str]]


class Fitted(NamedTuple):
    """A model, its queries and what it returned for them."""

    name: str
    model: Any
    vectorizer: Any
    queries: Any
    hits: Any  # (n, 5) whether a returned label is right
    counts: dict[str, float]  # per query
    fit_seconds: float


def read(name: str, n_points: int, n_queries: int, cut: int = 10**9) -> tuple[Texts, Texts]:
    """Return a sample of the training texts and of the test texts, of at most `cut` characters."""
    parts = []
    for part, most in (("train", n_points), ("test", n_queries)):
        texts, labels = read_records(data_folder(name) / f"{part}.jsonl.xz")
        kept = np.sort(np.random.default_rng(0).permutation(len(texts))[:most])
        parts.append(Texts([_shortened(texts[i], cut) for i in kept], [labels[i] for i in kept]))
    return parts[0], parts[1]


def _shortened(text: str, cut: int) -> str:
    return text if len(text) <= cut else text[:cut].rsplit(" ", 1)[0]


def fit(name: str, vectorizer: Any, train: Texts, test: Texts, **parameters: Any) -> Fitted:
    """Fit a model on the features of a vectorizer and ask it for five labels per test text."""
    started = time.process_time()
    X = vectorizer.fit_transform(train.texts)
    model = lt.LabelTreeClassifier(n_jobs=1, **parameters).fit(X, train.labels)
    took = time.process_time() - started
    queries = vectorizer.transform(test.texts)
    labels, _ = model.predict_topk(queries, 5, n_jobs=1)
    request, rows = model.complete_request(SearchRequest(5)), np.arange(min(500, queries.shape[0]))
    each = measure_work(model, model.check_queries(queries), request, rows).counts
    counts = {name: float(values.mean()) for name, values in each.items()}
    hits = [
        [label in own for label in found] for found, own in zip(labels.tolist(), map(set, test.labels), strict=True)
    ]
    return Fitted(name, model, vectorizer, queries, np.array(hits), counts, took)


def gain(hits: Any, base: Any) -> str:
    """Return the difference of P@1 in percent points with its 95 % interval, by resampling points."""
    each = 100.0 * (hits[:, 0].astype(float) - base[:, 0])
    rows = np.random.default_rng(0).integers(0, len(each), (RESAMPLES, len(each)))
    low, high = np.percentile(each[rows].mean(axis=1), [2.5, 97.5])
    return f"{each.mean():+.1f} ({low:+.1f} to {high:+.1f})"


def report(fitted: list[Fitted], test: Texts) -> None:
    """Print one row per kind of features."""
    print_head(
        "features | P@1 / 3 / 5 | P@1 against the first | features of the model | per query | chunks | lookups | rows "
        "| vectorizer us | search us | MB | fit s"
    )
    calls: list[Any] = []
    for one in fitted:
        calls.append(lambda one=one: one.vectorizer.rows(test.texts, 1))
        calls.append(lambda one=one: one.model.predict_topk(one.queries, 5, n_jobs=1))
    times = [1e6 * seconds.processor / len(test.texts) for seconds in best_times(calls, ROUNDS)]
    for number, one in enumerate(fitted):
        precision = slashed((100 * one.hits[:, :k].mean() for k in (1, 3, 5)), ".1f")
        against = gain(one.hits, fitted[0].hits) if number else ""
        size = one.model.stats_["bytes"] / 1e6
        print(
            f"| {one.name} | {precision} | {against} | {one.queries.shape[1]:,} "
            f"| {one.queries.nnz / one.queries.shape[0]:.0f} | {one.counts['visits']:.1f} "
            f"| {one.counts['lookups']:.0f} | {one.counts['hits']:.0f} "
            f"| {times[2 * number]:.1f} | {times[2 * number + 1]:.1f} | {size:.1f} "
            f"| {one.fit_seconds:.1f} |",
            flush=True,
        )


def main() -> None:
    """Print one table per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["cooking", "debian-depends"])
    parser.add_argument("--presets", nargs="+", default=list(PRESETS), choices=list(PRESETS))
    parser.add_argument("--ranges", nargs="*", default=[])
    parser.add_argument("--points", type=int, default=10**9)
    parser.add_argument("--queries", type=int, default=10**9)
    parser.add_argument("--cut", type=int, default=10**9)
    options = parser.parse_args()
    for name in options.sets:
        train, test = read(name, options.points, options.queries, options.cut)
        length = np.mean([len(text) for text in test.texts])
        print(f"\n**{name}**: {len(train.texts):,} texts, {len(test.texts):,} queries of {length:.0f} characters\n")
        vectorizers = {preset: preset_vectorizer(preset) for preset in options.presets}
        for lengths in options.ranges:
            low, high = map(int, lengths.split("-"))
            pieces = {"analyzer": "char_wb", "ngram_range": (low, high)}
            whole = preset_vectorizer().set_params(union=[{"ngram_range": (1, 2)}, pieces])
            vectorizers[f"words, pairs, pieces of {lengths}"] = whole
        report([fit(preset, vectorizer, train, test) for preset, vectorizer in vectorizers.items()], test)


if __name__ == "__main__":
    main()
