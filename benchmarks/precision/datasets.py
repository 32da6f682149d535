"""The datasets of the comparison, each with a training, a validation and a test set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone

import labeltrees as lt
from benchmarks.builds import inputs
from benchmarks.paper.datasets import load_shop
from benchmarks.shared_data import (
    CACHE,
    VECTORIZER,
    data_folder,
    load,
    read_records,
    share_of,
    write_for_contestants,
)
from labeltrees.data.texts import text_dataset

SETS = ("bibtex", "cooking", "delicious", "online-retail", "eurlex4k", "debian-depends", "arxiv-authors")
SHARE = 0.2  # of the training points, for validation
MAX_VALIDATION = 5000  # points that peers are tuned on
TEXT_SETS = ("cooking", "debian-depends")  # whose features `choose` may choose
RAW_SETS = (*TEXT_SETS, "arxiv-authors")
TITLE = 12  # words of a title
PARTS = {"arxiv-authors": 0.1}  # random shares of sets that would take days to tune on


@dataclass(frozen=True)
class Data:
    """A dataset; the peers read the matrices from two folders: to tune (fit, validation) and to compare (train, test).

    `train` is `fit` and `validation` together.
    """

    name: str
    train: lt.Dataset
    fit: lt.Dataset
    validation: lt.Dataset
    test: lt.Dataset
    folder: Path

    @property
    def tuning(self) -> Path:
        """The folder with the matrices of `fit` and `validation`."""
        return self.folder / "tuning"

    @property
    def final(self) -> Path:
        """The folder with the matrices of `train` and `test`."""
        return self.folder / "final"


def load_data(name: str) -> Data:
    """Return the dataset `name`; test points without labels, or with labels unknown in training only, are left out."""
    train, test = load_shop(weighted=False) if name == "online-retail" else load(name)
    if name in PARTS:
        train, test = share_of(train, test, PARTS[name])
    train, test = lt.Dataset(train.X, train.Y), lt.Dataset(test.X, test.Y)
    test = test[np.flatnonzero(np.diff(test.Y.indptr) > 0)]
    order = np.random.default_rng(0).permutation(train.n_points)
    n_validation = min(round(SHARE * train.n_points), MAX_VALIDATION)
    fit, validation = train[np.sort(order[n_validation:])], train[np.sort(order[:n_validation])]
    data = Data(name, train, fit, validation, test, CACHE / "precision" / name)
    for folder, pair in ((data.tuning, (fit, validation)), (data.final, (train, test))):
        if not (folder / "train.txt").exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_for_contestants(*pair, folder)
    return data


def load_texts(name: str) -> tuple[lt.Dataset, list[str]]:
    """Return the training points of a set with their texts, and the texts of the test points of `load_data`."""
    train, test = inputs.load(data_folder(name), clone(VECTORIZER))
    kept = np.flatnonzero(np.diff(test.Y.indptr) > 0)
    return train, [str(test.texts[row]) for row in kept]


def load_raw(name: str) -> Data:
    """Return a set of texts as a user has it: raw texts, with the default features.

    "arxiv-authors" is a random tenth of its points, with the first words of each text, which are mostly its title.
    """
    (texts, labels), (test_texts, test_labels) = (
        read_records(data_folder(name) / f"{part}.jsonl.xz") for part in ("train", "test")
    )
    if name in PARTS:
        rows = np.sort(np.random.default_rng(1).permutation(len(texts))[: int(PARTS[name] * len(texts))])
        texts, labels = [texts[row] for row in rows], [labels[row] for row in rows]
        texts, test_texts = ([" ".join(text.split()[:TITLE]) for text in part] for part in (texts, test_texts))
    train = text_dataset(texts, labels)
    known = set(train.label_names.tolist())
    seen = [[label for label in own if label in known] for own in test_labels]
    kept = [row for row, own in enumerate(seen) if own]
    test = text_dataset(
        [test_texts[row] for row in kept], [seen[row] for row in kept], train.vectorizer, train.label_names
    )
    return Data(f"{name}, texts", train, train, train, test, CACHE / "precision" / f"{name}-texts")
