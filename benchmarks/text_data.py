"""Datasets of texts as files in fastText's format, written once to build/benchmark-cache."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.shared_data import CACHE, data_folder, read_records


class TextSet(NamedTuple):
    """A training file with labels, a file of test texts, and the labels of the test texts."""

    name: str
    train: Path
    texts: Path
    labels: list[set[str]]


def load_texts(name: str) -> TextSet:
    """Return the set `name`; whitespace becomes underscores in label names and single spaces in texts."""
    folder, target = data_folder(name), CACHE / "text" / name
    train, texts = target / "train.txt", target / "texts.txt"
    test_texts, test_labels = read_records(folder / "test.jsonl.xz")
    if not texts.exists():
        target.mkdir(parents=True, exist_ok=True)
        with open(train, "w", encoding="utf-8") as file:
            for text, labels in zip(*read_records(folder / "train.jsonl.xz"), strict=True):
                tokens = [f"__label__{_joined(label)}" for label in labels]
                file.write(" ".join([*tokens, *text.split()]) + "\n")
        texts.write_text("".join(" ".join(text.split()) + "\n" for text in test_texts), encoding="utf-8")
    return TextSet(name, train, texts, [{_joined(label) for label in labels} for labels in test_labels])


def _joined(label: str) -> str:
    return "_".join(label.split())
