"""Time TfidfVectorizer against scikit-learn's, on single texts and on a corpus, and the way from string to labels.

    python -m benchmarks.vectorizer [--repeats 5]

Both take turns, and the best time of each counts; both must give the same rows. The short texts are 200 cooking
questions, one call each; the corpus is debian-depends.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

import labeltrees as lt
from benchmarks.shared_data import data_folder
from labeltrees.data.text_files import read_table

WORDS = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
SETTINGS: dict[str, dict[str, Any]] = {
    "words": WORDS,
    "words and pairs": {**WORDS, "ngram_range": (1, 2)},
    "characters in words, 2 to 4": {**WORDS, "analyzer": "char_wb", "ngram_range": (2, 4)},
}
FEW = 10_000  # texts for character n-grams, which take scikit-learn a minute otherwise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    cooking = read_table(data_folder("cooking") / "train.jsonl.xz")
    questions, tags = cooking.texts, cooking.labels
    new = read_table(data_folder("cooking") / "test.jsonl.xz").texts[:200]
    single_texts(questions, new, repeats)
    corpus(read_table(data_folder("debian-depends") / "train.jsonl.xz").texts, repeats)
    string_to_labels(questions, tags, new, repeats)


def best_times(functions: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the least wall-clock time of each function; they take turns."""
    times = np.full(len(functions), np.inf)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[i] = min(times[i], time.perf_counter() - start)
    return times.tolist()


def check_equal(ours: Any, theirs: Any) -> None:
    theirs.sort_indices()
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-6, atol=1e-6)


def single_texts(train: list[str], new: list[str], repeats: int) -> None:
    mean_length = np.mean([len(text) for text in new])
    print(f"Single texts: {len(new)} questions of {mean_length:.0f} characters on average, one call each.\n")
    print("| terms | labeltrees, us a text | scikit-learn, us a text | times as fast |")
    print("| --- | --- | --- | --- |")
    for name, setting in SETTINGS.items():
        ours, theirs = lt.TfidfVectorizer(**setting).fit(train), Theirs(**setting).fit(train)
        check_equal(ours.transform(new), theirs.transform(new))
        our_time, their_time = best_times([one_by_one(ours, new), one_by_one(theirs, new)], repeats)
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
    print(f"\nA corpus: {len(texts):,} texts, {sum(map(len, texts)) / 1e6:.1f} million characters ", end="")
    print(f"({FEW:,} of them for characters).\n")
    print("| terms | work | labeltrees, 1 thread | 2 threads | scikit-learn, s | times as fast, 1 thread | 2 threads |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, setting in SETTINGS.items():
        some = texts[:FEW] if "analyzer" in setting else texts
        one, two = (lt.TfidfVectorizer(**setting, n_jobs=n_jobs) for n_jobs in (1, 2))
        theirs = Theirs(**setting)
        check_equal(two.fit_transform(some), theirs.fit_transform(some))
        one.fit(some)
        turns = repeats if setting is WORDS else max(repeats // 2, 1)
        for work in ("fit_transform", "transform"):
            calls = [functools.partial(getattr(v, work), some) for v in (one, two, theirs)]
            first, second, other = best_times(calls, turns)
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

    times = best_times([from_features, from_strings, two_steps], repeats)
    features, strings, steps = (seconds * 1e6 / len(new) for seconds in times)
    print("\nFrom a cooking question to its 5 best tags, one call each, us:\n")
    print("| from two arrays | from the string | scikit-learn's vectorizer, then the search | times as fast |")
    print("| --- | --- | --- | --- |")
    print(f"| {features:.1f} | {strings:.1f} | {steps:.0f} | {steps / strings:.0f} |")


if __name__ == "__main__":
    main()
