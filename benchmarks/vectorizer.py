"""Time of TfidfVectorizer, compared with scikit-learn's, and time from a string to its labels.

    python -m benchmarks.vectorizer [--repeats 5]

Both vectorizers take turns and must return the same rows; the best time of each counts. Short texts are 200 cooking
questions, with one call per question; the corpus is debian-depends.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

import labeltrees as lt
from benchmarks.measures import best_times
from benchmarks.shared_data import data_folder, read_records
from benchmarks.tables import print_head

WORDS = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
SETTINGS: dict[str, dict[str, Any]] = {
    "words": WORDS,
    "words and pairs": {**WORDS, "ngram_range": (1, 2)},
    "characters in words, 2 to 4": {**WORDS, "analyzer": "char_wb", "ngram_range": (2, 4)},
}
N_FOR_CHARACTERS = 10_000  # texts for character n-grams; scikit-learn takes a minute for all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    questions, tags = read_records(data_folder("cooking") / "train.jsonl.xz")
    new = read_records(data_folder("cooking") / "test.jsonl.xz")[0][:200]
    single_texts(questions, new, repeats)
    corpus(read_records(data_folder("debian-depends") / "train.jsonl.xz")[0], repeats)
    string_to_labels(questions, tags, new, repeats)


def wall_times(functions: list[Callable[[], Any]], repeats: int) -> list[float]:
    return [seconds.wall for seconds in best_times(functions, repeats)]


def check_equal(ours: Any, theirs: Any) -> None:
    theirs.sort_indices()
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-6, atol=1e-6)


def single_texts(train: list[str], new: list[str], repeats: int) -> None:
    mean_length = np.mean([len(text) for text in new])
    print(f"Single texts: {len(new)} questions of {mean_length:.0f} characters on average, one call per question.\n")
    print_head("terms | labeltrees, us per text | scikit-learn, us per text | times as fast")
    for name, setting in SETTINGS.items():
        ours, theirs = lt.TfidfVectorizer(**setting).fit(train), Theirs(**setting).fit(train)
        check_equal(ours.transform(new), theirs.transform(new))
        our_time, their_time = wall_times([one_by_one(ours, new), one_by_one(theirs, new)], repeats)
        scale = 1e6 / len(new)
        print(
            f"| {name} | {our_time * scale:.1f} | {their_time * scale:.0f} | {their_time / our_time:.0f} |", flush=True
        )


def one_by_one(vectorizer: Any, texts: list[str]) -> Callable[[], None]:
    def run() -> None:
        for text in texts:
            vectorizer.transform([text])

    return run


def corpus(texts: list[str], repeats: int) -> None:
    print(f"\nA corpus of {len(texts):,} texts with {sum(map(len, texts)) / 1e6:.1f} million characters ", end="")
    print(f"({N_FOR_CHARACTERS:,} texts for character n-grams), seconds.\n")
    print_head(
        "terms | work | labeltrees, 1 thread | 2 threads | scikit-learn, s | times as fast: 1 thread | 2 threads"
    )
    for name, setting in SETTINGS.items():
        some = texts[:N_FOR_CHARACTERS] if "analyzer" in setting else texts
        one, two = (lt.TfidfVectorizer(**setting, n_jobs=n_jobs) for n_jobs in (1, 2))
        theirs = Theirs(**setting)
        check_equal(two.fit_transform(some), theirs.fit_transform(some))
        one.fit(some)
        turns = repeats if setting is WORDS else max(repeats // 2, 1)
        for work in ("fit_transform", "transform"):
            calls = [functools.partial(getattr(v, work), some) for v in (one, two, theirs)]
            first, second, other = wall_times(calls, turns)
            ratios = f"{other / first:.1f} | {other / second:.1f}"
            print(f"| {name} | {work} | {first:.2f} | {second:.2f} | {other:.2f} | {ratios} |", flush=True)


def string_to_labels(texts: list[str], tags: list[list[str]], new: list[str], repeats: int) -> None:
    model = lt.LabelTreeClassifier(n_jobs=2).fit(texts, tags)
    predictor = model.predictor(5)
    rows = model.vectorizer_.transform(new)
    queries = [(rows[[i]].indices, rows[[i]].data) for i in range(len(new))]
    stock = Theirs(**WORDS).fit(texts)
    for text, query in zip(new, queries, strict=True):
        np.testing.assert_array_equal(predictor(text)[0], predictor(*query)[0])

    def from_features() -> None:
        for indices, values in queries:
            predictor(indices, values)

    def from_strings() -> None:
        for text in new:
            predictor(text)

    def two_steps() -> None:
        for text in new:
            predictor(stock.transform([text]))

    times = wall_times([from_features, from_strings, two_steps], repeats)
    features, strings, steps = (seconds * 1e6 / len(new) for seconds in times)
    print("\nFrom a cooking question to its 5 best tags, microseconds per call:\n")
    print_head("from two arrays | from the string | scikit-learn's vectorizer, then the search | times as fast")
    print(f"| {features:.1f} | {strings:.1f} | {steps:.0f} | {steps / strings:.0f} |")


if __name__ == "__main__":
    main()
