"""PreparedLogs: train and test with their encoder and summary, and the folder that every command accepts as DATA."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labeltrees._files import refuse_file, replacing_folder, write_atomically
from labeltrees.data.data_folder import (
    FOLDER_VERSION,
    ITEM_NAMES,
    POINT_FILES,
    SUMMARY_FILE,
    SUMMARY_FORMAT,
    TEST,
    TRAIN,
    check_version,
    folder_encoder,
    folder_label_texts,
    folder_points,
    parts_name,
    read_summary,
)
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoder_file import ENCODER_FILE, write_encoder
from labeltrees.data.encoders import Encoder
from labeltrees.data.files import MissingFileError, read_lines
from labeltrees.data.parts import open_parts
from labeltrees.data.xmc import read_xmc, write_xmc
from labeltrees.errors import InputError

_SPLITS = (TRAIN, TEST)
_FILES = {
    *map(parts_name, _SPLITS),
    *(f"{split}{ending}" for split in _SPLITS for ending in (".txt", ".weights.txt", *POINT_FILES)),
    "labels.txt",
    "features.txt",
    ITEM_NAMES,
    ENCODER_FILE,
    SUMMARY_FILE,
}


@dataclass(frozen=True)
class LogSummary:
    """How the events of a log were used: ``events_read`` = sum of ``events_dropped`` + sum of ``events_used``.

    Attributes
    ----------
    events_read : int
    events_dropped : dict
        Number of events by reason, in the order in which reasons are checked; 0 for a reason that did not occur.
    events_used : dict
        Number of events used for "labels" and, if features come from the history, for "history".
    pairs, items, contexts : dict
        How many there were, how many were dropped by reason, and how many are used. A split by time can make two
        points from one context.
    train, test : dict
        n_points, n_features, n_labels, n_labels_with_points, and means: labels_a_point, features_a_point.
    first_event, last_event : str or None
        The range of times of the valid events.
    columns : dict
        The column of the log for each role.
    notes : dict
        Counts of changes that did not drop an event.
    leakage : dict
        Number of test events that are older than a training event: of the same context, and of any context. Both are 0
        in a split by time, unless a session crosses the split. Empty if the log has no times or there are no test
        points.
    settings : dict
        The settings as used: `min_engagement` is the threshold that "auto" chose.
    files : list of str
    files_left_out : list of str
    """

    events_read: int
    events_dropped: dict[str, int]
    events_used: dict[str, int]
    pairs: dict[str, int]
    items: dict[str, int]
    contexts: dict[str, int]
    train: dict[str, Any]
    test: dict[str, Any]
    first_event: str | None
    last_event: str | None
    columns: dict[str, str]
    notes: dict[str, int]
    leakage: dict[str, int]
    settings: dict[str, Any]
    files: list[str]
    files_left_out: list[str]

    def __repr__(self) -> str:
        used = sum(self.events_used.values())
        parts = f"{self.train['n_points']:,} training points, {self.test['n_points']:,} test points"
        return f"LogSummary({self.events_read:,} events read, {used:,} used; {parts}; rows() has all steps)"

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {"format": SUMMARY_FORMAT, "version": FOLDER_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> LogSummary:
        """Make a summary from the values that `to_json` returned."""
        return cls(**{item.name: record[item.name] for item in fields(cls)})

    def rows(self) -> list[tuple[str, int]]:
        """Return the steps as a table: name of the step, number of events."""
        rows = [("events read", self.events_read)]
        rows += [(f"- {reason}", count) for reason, count in self.events_dropped.items()]
        rows += [(f"= used for {what}", count) for what, count in self.events_used.items()]
        return rows


class PreparedLogs(tuple[Dataset, Dataset]):
    """The pair (train, test), with the encoder of their features and the summary of how they were made.

    Attributes
    ----------
    train, test : Dataset
        Both have the encoder as `encoder`, so that a model fitted on `train` keeps it.
    encoder : Encoder or None
        Turns a new context (a query, a list of items, a value of the feature column) into features. None if a
        vectorizer of another library made the features.
    summary : LogSummary
    """

    encoder: Encoder | None
    summary: LogSummary

    def __new__(cls, train: Dataset, test: Dataset, encoder: Encoder | None, summary: LogSummary) -> PreparedLogs:
        """Make the pair."""
        prepared = super().__new__(cls, (train, test))
        prepared.encoder, prepared.summary = encoder, summary
        return prepared

    @property
    def train(self) -> Dataset:
        """The training points."""
        return self[0]

    @property
    def test(self) -> Dataset:
        """The test points."""
        return self[1]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that every command accepts as DATA: points, names, weights, encoder and summary.json.

        The folder replaces an earlier one in one step; an error leaves the earlier one.
        """
        with replacing_folder(check_dataset_folder(folder)) as new:
            for split, points in zip(_SPLITS, self, strict=True):
                write_xmc(points, new / f"{split}.txt")
                if points.sample_weight is not None:
                    _write_lines(new / f"{split}.weights.txt", (f"{w:.17g}" for w in points.sample_weight.tolist()))
                if points.times is not None:
                    _write_lines(new / f"{split}.times.txt", np.datetime_as_string(points.times, "us"))
                if points.groups is not None:
                    _write_lines(new / f"{split}.groups.txt", map(str, points.groups.tolist()))
            names = self.train.label_names
            _write_lines(new / "labels.txt", [] if names is None else names.tolist())
            texts = self.train.label_texts
            if texts is not None and names is not None:
                titles = zip(names.tolist(), texts.titles(np.arange(len(names))).tolist(), strict=True)
                _write_lines(new / ITEM_NAMES, (f"{name}\t{title}" for name, title in titles if title is not None))
            if self.train.feature_names is not None:
                _write_lines(new / "features.txt", self.train.feature_names.tolist())
            if self.encoder is not None:
                write_encoder(self.encoder, new / ENCODER_FILE)
            write_summary(self.summary, new)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> PreparedLogs:
        """Read a folder that `save` or ``labeltrees logs prepare`` wrote. The texts of points are not saved."""
        path = Path(folder)
        check_version(path)
        record = read_summary(path)
        if record is None:
            message = f"{path}: no prepared log: a folder written by PreparedLogs.save or labeltrees logs prepare"
            raise MissingFileError(message)
        try:
            summary = LogSummary.from_json(record)
        except KeyError as missing:
            refuse_file(path / SUMMARY_FILE, f"{missing} is missing; run labeltrees logs prepare again")
        if (path / parts_name(TRAIN)).is_dir():
            train, test = _open_parts(path)
            return cls(train, test, train.encoder, summary)
        encoder = folder_encoder(path)
        label_names = read_lines(path / "labels.txt")
        feature_names = read_lines(path / "features.txt") if (path / "features.txt").exists() else None
        pair = []
        for split in _SPLITS:
            read = read_xmc(path / f"{split}.txt", 0)
            others: dict[str, Any] = {"encoder": encoder, **folder_points(path, split, read.n_points)}
            others["label_texts"] = folder_label_texts(path, label_names)
            pair.append(Dataset(read.X, read.Y, label_names, feature_names, read.sample_weight, **others))
        return cls(pair[0], pair[1], encoder, summary)

    def __repr__(self) -> str:
        events = f"{self.summary.events_read:,} events read"
        return f"PreparedLogs({events}\n  train={self.train!r},\n  test={self.test!r})"

    def __reduce__(self) -> Any:
        return PreparedLogs, (self.train, self.test, self.encoder, self.summary)


def check_dataset_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder as a path; refuse a folder that holds anything but a prepared log."""
    target = Path(os.path.abspath(folder))
    if not os.path.lexists(target):
        return target
    if target.is_dir():
        names = {entry.name for entry in os.scandir(target)}
        if not names or (names <= _FILES and read_summary(target) is not None):
            return target
    message = f"{target} exists and is not a prepared log; choose another folder or delete it"
    raise InputError(message)


def write_summary(summary: LogSummary, folder: Path) -> None:
    """Write summary.json, which marks a folder as a prepared log."""
    text = json.dumps(summary.to_json(), indent=2, ensure_ascii=False)
    write_atomically(folder / SUMMARY_FILE, [text.encode(), b"\n"])


def _open_parts(folder: Path) -> tuple[Dataset, Dataset]:
    train = open_parts(folder / parts_name(TRAIN))
    if (folder / parts_name(TEST)).is_dir():
        return train, open_parts(folder / parts_name(TEST))
    X, Y = (sparse.csr_array((0, n), dtype=np.float32) for n in (train.n_features, train.n_labels))
    return train, Dataset(X, Y, train.label_names, train.feature_names, encoder=train.encoder)


def _write_lines(path: Path, texts: Iterable[str]) -> None:
    text = "\n".join(texts)
    write_atomically(path, [f"{text}\n".encode() if text else b""])
