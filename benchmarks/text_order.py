"""What shuffling every epoch costs and gains in the text model, and what early stopping would gain.

    python -m benchmarks.text_order [--sets cooking debian-depends] [--parts speed order epochs]

All parts use one thread, Huffman's tree, lr 0.5, dim 128, min_count 2 and word_ngrams 2. `speed` trains with and
without shuffling in turns and reports the ratio of their processor time, from memory, from a file, and from a file that
is read in blocks (the file repeated until it exceeds the buffer). `order` gives P@1 for lines in the order of the file,
sorted by their first label, and shuffled once. `epochs` holds out a tenth of the lines, keeps the vectors that are best
on them while training runs, and compares their P@1 on the test texts with that of the final vectors.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

import labeltrees as lt
from benchmarks.paper.text_claim import split_texts
from benchmarks.tables import print_head
from benchmarks.text_data import load_texts
from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.store import TextStore, zero_rows
from labeltrees.models.text.training import count_words, train_vectors

BUFFER = 2**24


def p1(best: Any, truth: list[set[Any]]) -> float:
    """Return P@1 in percent."""
    return float(100 * np.mean([label in right for label, right in zip(best, truth, strict=True)]))


def speed(name: str, options: argparse.Namespace) -> None:
    """Print the ratio of processor time, with shuffling to without."""
    data = load_texts(name)
    with tempfile.TemporaryDirectory() as temporary:
        large = Path(temporary) / "large.txt"
        content = data.train.read_bytes()
        large.write_bytes(content * (BUFFER // len(content) + 1))
        texts, Y = from_lines(content)
        kinds: dict[str, tuple[Any, str, Any]] = {
            "memory": (texts, "", Y),
            "file": (None, str(data.train), None),
            "file in blocks": (None, str(large), None),
        }
        print_head("source | MB | words/s in order | words/s shuffled | time, shuffled / in order")
        for kind, (memory, path, labels) in kinds.items():
            n_bytes = Path(path).stat().st_size if path else len(content)
            settings = TextSettings(epochs=max(1, round(options.epochs * len(content) / n_bytes)))
            corpus = count_words(memory, path, settings)
            counts = corpus.counts[corpus.n_words :] if labels is None else labels.sum(axis=0)
            tree = lt.huffman_tree(counts / counts.sum())
            seconds: dict[bool, list[float]] = {True: [], False: []}
            for repeat in range(options.repeats):
                for shuffle in (True, False) if repeat % 2 else (False, True):
                    settings.shuffle = shuffle
                    started = time.process_time()
                    train_vectors(corpus, settings, tree, labels)
                    seconds[shuffle].append(time.process_time() - started)
            words = corpus.n_tokens * settings.epochs
            in_order, shuffled = words / min(seconds[False]), words / min(seconds[True])
            ratios = np.array(seconds[True]) / np.array(seconds[False])
            print(
                f"| {kind} | {n_bytes / 1e6:.1f} | {in_order:,.0f} | {shuffled:,.0f} "
                f"| {np.median(ratios):.3f} ({ratios.min():.3f} to {ratios.max():.3f}) |",
                flush=True,
            )


def from_lines(content: bytes) -> tuple[tuple[str, ...], Any]:
    """Return the texts and the labels (CSR) of fastText's lines."""
    numbers: dict[str, int] = {}
    texts, rows, columns = [], [], []
    for row, line in enumerate(content.decode().splitlines()):
        words = line.split()
        marks = [word for word in words if word.startswith("__label__")]
        texts.append(" ".join(words[len(marks) :]))
        columns += [numbers.setdefault(mark, len(numbers)) for mark in marks]
        rows += [row] * len(marks)
    Y = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(texts), len(numbers)))
    return tuple(texts), Y


def order(name: str, options: argparse.Namespace) -> None:
    """Print P@1 by the order of the lines."""
    data = load_texts(name)
    texts = data.texts.read_text(encoding="utf-8").split("\n")[: len(data.labels)]
    lines = data.train.read_bytes().splitlines(keepends=True)
    orders = {
        "as in the file": lines,
        "sorted by first label": sorted(lines),
        "shuffled once": [lines[row] for row in np.random.default_rng(0).permutation(len(lines))],
    }
    print_head(f"order of the lines, {options.epochs} epochs | P@1 in order (fastText) | P@1 shuffled every epoch")
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "train.txt"
        for kind, ordered in orders.items():
            path.write_bytes(b"".join(ordered))
            cells = []
            for shuffle in (False, True):
                scores = []
                for seed in range(options.seeds):
                    model = lt.TextLabelTreeClassifier(
                        tree="huffman", epochs=options.epochs, shuffle=shuffle, random_state=seed
                    ).fit_file(path)
                    best = model.predict_topk(texts, 1)[0][:, 0]
                    scores.append(
                        100 * np.mean([label in right for label, right in zip(best, data.labels, strict=True)])
                    )
                cells.append(f"{np.mean(scores):.2f} ± {np.std(scores):.2f}")
            print(f"| {kind} | {' | '.join(cells)} |", flush=True)


def epochs(name: str, options: argparse.Namespace) -> None:
    """Print P@1 of the final vectors and of those that were best on held-out lines."""
    splits = split_texts(name)
    texts, labels = splits["train"]
    names = sorted({label for row in labels for label in row})
    number = {label: place for place, label in enumerate(names)}
    columns = [number[label] for row in labels for label in row]
    rows = np.repeat(np.arange(len(labels)), [len(row) for row in labels])
    Y = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(texts), len(names)))
    truth = {
        split: [{number.get(label, -1) for label in row} for row in splits[split][1]]
        for split in ("validation", "test")
    }
    frequencies = np.asarray(Y.sum(axis=0), dtype=np.float64)
    tree = lt.huffman_tree(frequencies / frequencies.sum())
    print_head("epochs | P@1 of the final vectors | P@1 of the best on held-out lines | difference | best epoch")
    for n_epochs in options.lengths:
        finals, bests, places = [], [], []
        for seed in range(options.seeds):
            final, best, place = with_snapshots(tuple(texts), Y, tree, n_epochs, seed, splits, truth)
            finals.append(final), bests.append(best), places.append(place)
        change = np.array(bests) - np.array(finals)
        print(
            f"| {n_epochs} | {np.mean(finals):.2f} ± {np.std(finals):.2f} | {np.mean(bests):.2f} ± {np.std(bests):.2f} "
            f"| {change.mean():+.2f} ± {change.std():.2f} | {np.mean(places):.1f} |",
            flush=True,
        )


def with_snapshots(
    texts: Any, Y: Any, tree: lt.LabelTree, n_epochs: int, seed: int, splits: Any, truth: Any
) -> tuple[float, float, float]:
    """Return P@1 on test of the final vectors, of the best on validation, and the epoch of these."""
    settings = TextSettings(epochs=n_epochs)
    corpus = count_words(texts, "", settings)
    vectors: list[Any] = []  # those in training: train_vectors makes the input rows first, then the nodes
    copies: list[tuple[float, Any]] = []

    def kept(n_rows: int, dim: int) -> Any:
        vectors.append(zero_rows(n_rows, dim))
        return vectors[-1]

    def snapshot(done: int, total: int) -> None:
        if 10 * done >= (len(copies) + 1) * total and done < total:  # ten times; training goes on during the copy
            copies.append((n_epochs * done / total, [array.copy() for array in vectors]))

    with mock.patch("labeltrees.models.text.training.zero_rows", kept):
        final = train_vectors(corpus, settings, tree, Y, random_state=seed, progress=snapshot)
    stores = [(epoch, replace(final, input=rows, output=nodes)) for epoch, (rows, nodes) in copies]

    def share(store: TextStore, split: str) -> float:
        return p1(TextSearcher(store).topk(Texts(splits[split][0]), 1).labels[:, 0], truth[split])

    epoch, best = max([*stores, (n_epochs, final)], key=lambda entry: share(entry[1], "validation"))
    return share(final, "test"), share(best, "test"), epoch


PARTS = {"speed": speed, "order": order, "epochs": epochs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["cooking", "debian-depends"])
    parser.add_argument(
        "--parts", nargs="+", choices=["speed", "order", "epochs"], default=["speed", "order", "epochs"]
    )
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lengths", nargs="+", type=int, default=[5, 15, 25, 50], help="epochs to stop early in")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=6)
    options = parser.parse_args()
    for name in options.sets:
        for part in options.parts:
            print(f"\n## {name}: {part}\n", flush=True)
            PARTS[part](name, options)


if __name__ == "__main__":
    main()
