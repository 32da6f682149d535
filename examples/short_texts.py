"""From short texts to tags: which terms to use as features, the effect of the tradeoff, and single predictions.

    python examples/short_texts.py TRAIN.jsonl [TEST.jsonl] [--jobs 2]

Each line of a file is ``{"text": "...", "labels": ["...", ...]}``; files may be compressed (.xz). Without TEST, a tenth
of TRAIN is used for testing. benchmarks/results/short_texts.md shows its output.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time

import numpy as np

import labeltrees as lt

WORDS = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
VECTORIZERS = {
    "words": lt.TfidfVectorizer(**WORDS),
    "words and pairs": lt.TfidfVectorizer(**WORDS, ngram_range=(1, 2)),
    "characters in words, 2 to 5": lt.TfidfVectorizer(**WORDS, analyzer="char_wb", ngram_range=(2, 5)),
    "words and pairs, hashed to 2^16": lt.TfidfVectorizer(**{**WORDS, "min_df": 1}, ngram_range=(1, 2), hashing=2**16),
}

Records = tuple[list[str], list[list[str]]]  # texts, and the names of the labels of each text


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test", nargs="?")
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    train = read_records(arguments.train)
    train, test = split(train) if arguments.test is None else (train, read_records(arguments.test))
    texts, labels = train
    n_labels = len({name for names in labels for name in names})
    print(f"{len(texts):,} texts to train on, {len(test[0]):,} to test, {n_labels:,} labels\n")

    print("| terms | features | P@1 / 3 / 5 (%) | MB of weights | us from string to 5 labels |")
    print("| --- | --- | --- | --- | --- |")
    for name, vectorizer in VECTORIZERS.items():
        model = lt.LabelTreeClassifier(vectorizer=vectorizer, n_jobs=arguments.jobs).fit(texts, labels)
        size, microseconds = model.stats_["bytes"] / 1e6, latency(model, test)
        print(f"| {name} | {model.n_features_in_:,} | {precisions(model, test)} | {size:.1f} | {microseconds:.1f} |")

    print("\n| tradeoff | P@1 / 3 / 5 (%) | expected depth@1 | us from string to 5 labels |")
    print("| --- | --- | --- | --- |")
    for tradeoff in (0.0, 0.5, 1.0, 1.5, 2.0):
        model = lt.LabelTreeClassifier(tradeoff=tradeoff, fanout=16, n_jobs=arguments.jobs).fit(texts, labels)
        predictor = model.predictor(k=1)
        best = np.array([predictor(text)[0] for text in test[0]])
        depth = lt.metrics.expected_depth_at_k(model.tree_, best, 1)
        print(f"| {tradeoff:g} | {precisions(model, test)} | {depth:.2f} | {latency(model, test):.1f} |")

    model = lt.LabelTreeClassifier(n_jobs=arguments.jobs).fit(texts, labels)
    predictor = model.predictor(k=3)  # for serving: a string in, label ids and scores out
    print()
    for text, names in zip(test[0][:4], test[1], strict=False):
        ids, scores = predictor(text)
        found = ", ".join(f"{model.classes_[i]} {score:.2f}" for i, score in zip(ids, scores, strict=True))
        print(f"- {text}\n  found: {found}; true: {', '.join(names)}")


def read_records(path: str) -> Records:
    """Return the texts and labels of a file."""
    with lzma.open(path, "rt", encoding="utf-8") if path.endswith(".xz") else open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record["text"] for record in records], [record["labels"] for record in records]


def split(records: Records) -> tuple[Records, Records]:
    """Return a random nine tenths of the records for training and the rest for testing."""
    texts, labels = records
    order = np.random.default_rng(0).permutation(len(texts))
    n_test = round(len(texts) / 10)
    train, test = (
        ([texts[row] for row in rows], [labels[row] for row in rows])
        for rows in (np.sort(order[n_test:]), np.sort(order[:n_test]))
    )
    return train, test


def precisions(model: lt.LabelTreeClassifier, test: Records) -> str:
    """Return the precision at 1, 3 and 5 in percent."""
    found, _ = model.predict_topk(test[0], 5)
    hits = np.array([[name in names for name in row] for row, names in zip(found, test[1], strict=True)])
    return " / ".join(f"{100 * hits[:, :k].mean():.1f}" for k in (1, 3, 5))


def latency(model: lt.LabelTreeClassifier, test: Records) -> float:
    """Return the median microseconds of one call for one text, the best of three rounds."""
    predictor = model.predictor(k=5)
    medians = []
    for _ in range(3):
        times = []
        for text in test[0][:1000]:
            start = time.perf_counter()
            predictor(text)
            times.append(time.perf_counter() - start)
        medians.append(1e6 * float(np.median(times)))
    return min(medians)


if __name__ == "__main__":
    main()
