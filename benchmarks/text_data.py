"""The text sets as files in fastText's form, made once in build/benchmark-cache."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.shared_data import CACHE, data_folder
from labeltrees.data.text_files import read_table


class TextSet(NamedTuple):
    """A training file with labels, a file of test texts, and the labels of these."""

    name: str
    train: Path
    texts: Path
    labels: list[set[str]]


def load_texts(name: str) -> TextSet:
    """Return the set `name`; blanks in label names become underscores, and all blanks in texts single spaces."""
    folder, target = data_folder(name), CACHE / "text" / name
    train, texts = target / "train.txt", target / "texts.txt"
    train, test = read_table(folder / "train.jsonl.xz"), read_table(folder / "test.jsonl.xz")
    test_texts, test_labels = test.texts, test.labels
    if not texts.exists():
        target.mkdir(parents=True, exist_ok=True)
        with open(train, "w", encoding="utf-8") as file:
            for text, labels in zip(train.texts, train.labels, strict=True):
                tokens = [f"__label__{_joined(label)}" for label in labels]
                file.write(" ".join([*tokens, *text.split()]) + "\n")
        texts.write_text("".join(" ".join(text.split()) + "\n" for text in test_texts), encoding="utf-8")
    return TextSet(name, train, texts, [{_joined(label) for label in labels} for labels in test_labels])


def _joined(label: str) -> str:
    return "_".join(label.split())
