"""From short texts to tags: which terms to use, what the tradeoff does, and answers one at a time.

    python examples/short_texts.py TRAIN.jsonl [TEST.jsonl] [--jobs 2]

Lines of the files are ``{"text": "...", "labels": ["...", ...]}``, plain or compressed. Without TEST, a tenth of TRAIN
is kept for testing. docs/examples/short-texts.md shows what it prints.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import labeltrees as lt
from labeltrees.data.text_dataset import label_matrix
from labeltrees.data.text_files import TextTable, read_table

WORDS = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
VECTORIZERS = {
    "words": lt.TfidfVectorizer(**WORDS),
    "words and pairs": lt.TfidfVectorizer(**WORDS, ngram_range=(1, 2)),
    "characters in words, 2 to 5": lt.TfidfVectorizer(**WORDS, analyzer="char_wb", ngram_range=(2, 5)),
    "words and pairs, hashed to 2^16": lt.TfidfVectorizer(**{**WORDS, "min_df": 1}, ngram_range=(1, 2), hashing=2**16),
}


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test", nargs="?")
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    train = read_table(arguments.train)
    if arguments.test is None:
        train, test = train.split(0.1, seed=0)
    else:
        test = read_table(arguments.test)
    print(f"{len(train.texts):,} texts to train on, {len(test.texts):,} to test, {len(train.label_names()):,} labels\n")

    print("| terms | features | P@1 / 3 / 5 (%) | MB of weights | us from string to 5 labels |")
    print("| --- | --- | --- | --- | --- |")
    for name, vectorizer in VECTORIZERS.items():
        model = lt.LabelTreeClassifier(vectorizer=vectorizer, n_jobs=arguments.jobs).fit(train.texts, train.labels)
        size, microseconds = model.stats_["bytes"] / 1e6, latency(model, test)
        print(f"| {name} | {model.n_features_in_:,} | {precisions(model, test)} | {size:.1f} | {microseconds:.1f} |")

    print("\n| tradeoff | P@1 / 3 / 5 (%) | expected depth@1 | us from string to 5 labels |")
    print("| --- | --- | --- | --- |")
    for tradeoff in (0.0, 0.5, 1.0, 1.5, 2.0):
        model = lt.LabelTreeClassifier(tradeoff=tradeoff, fanout=16, n_jobs=arguments.jobs)
        model.fit(train.texts, train.labels)
        found = model.searcher_.topk(model.vectorizer_.transform(test.texts), 1, beam=model.beam).labels
        depth = lt.metrics.expected_depth_at_k(model.tree_, found, 1)
        print(f"| {tradeoff:g} | {precisions(model, test)} | {depth:.2f} | {latency(model, test):.1f} |")

    model = lt.LabelTreeClassifier(n_jobs=arguments.jobs).fit(train.texts, train.labels)
    answer = model.predictor(k=3)  # for serving: a string in, label ids and scores out
    print()
    for text, labels in list(zip(test.texts, test.labels, strict=True))[:4]:
        ids, scores = answer(text)
        found = ", ".join(f"{model.classes_[i]} {score:.2f}" for i, score in zip(ids, scores, strict=True))
        print(f"- {text}\n  found: {found}; true: {', '.join(labels)}")


def precisions(model: lt.LabelTreeClassifier, test: TextTable) -> str:
    """Return the precision at 1, 3 and 5 in percent."""
    names = model.label_names_.tolist()
    unknown = sorted(set(test.label_names()) - set(names))
    Y = label_matrix(test.labels, [*names, *unknown])
    found = model.searcher_.topk(model.vectorizer_.transform(test.texts), 5, beam=model.beam).labels
    return " / ".join(f"{100 * lt.metrics.precision_at_k(Y, found, k):.1f}" for k in (1, 3, 5))


def latency(model: lt.LabelTreeClassifier, test: TextTable) -> float:
    """Return the median microseconds of one call for one text, the best of three rounds."""
    answer = model.predictor(k=5)
    medians = []
    for _ in range(3):
        times = []
        for text in test.texts[:1000]:
            start = time.perf_counter()
            answer(text)
            times.append(time.perf_counter() - start)
        medians.append(1e6 * float(np.median(times)))
    return min(medians)


if __name__ == "__main__":
    main()
