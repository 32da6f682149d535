"""A prepared log as a folder that every command accepts as DATA."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labeltrees._files import refuse_file, replacing_folder, write_atomically
from labeltrees.data.data_folder import (
    POINT_FILES,
    SUMMARY_FILE,
    TEST,
    TRAIN,
    check_version,
    folder_encoder,
    folder_points,
    parts_name,
    read_summary,
)
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoders import Encoder
from labeltrees.data.encoders.encoder_file import ENCODER_FILE, write_encoder
from labeltrees.data.files import MissingFileError, read_lines
from labeltrees.data.parts import open_parts
from labeltrees.data.xmc import read_xmc, write_xmc
from labeltrees.errors import InputError
from labeltrees.logs.summary import LogSummary

_PARTS = (TRAIN, TEST)
_FILES = {
    *map(parts_name, _PARTS),
    *(f"{part}{ending}" for part in _PARTS for ending in (".txt", ".weights.txt", *POINT_FILES)),
    "labels.txt",
    "features.txt",
    ENCODER_FILE,
    SUMMARY_FILE,
}


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


def save_prepared(
    train: Dataset, test: Dataset, encoder: Encoder | None, summary: LogSummary, folder: str | os.PathLike[str]
) -> None:
    """Write train and test in XMC format, the names of labels and features, weights, encoder and summary."""
    target = check_dataset_folder(folder)
    with replacing_folder(target) as new:
        for name, part in zip(_PARTS, (train, test), strict=True):
            write_xmc(part, new / f"{name}.txt")
            if part.sample_weight is not None:
                weights = (f"{weight:.17g}" for weight in part.sample_weight.tolist())
                write_atomically(new / f"{name}.weights.txt", [_lines(weights)])
            if part.times is not None:
                write_atomically(new / f"{name}.times.txt", [_lines(np.datetime_as_string(part.times, "us"))])
            if part.groups is not None:
                write_atomically(new / f"{name}.groups.txt", [_lines(map(str, part.groups.tolist()))])
        write_atomically(new / "labels.txt", [_lines(_names(train.label_names))])
        if train.feature_names is not None:
            write_atomically(new / "features.txt", [_lines(_names(train.feature_names))])
        if encoder is not None:
            write_encoder(encoder, new / ENCODER_FILE)
        write_summary(summary, new)


def write_summary(summary: LogSummary, folder: Path) -> None:
    """Write the file that makes a folder a prepared log."""
    text = json.dumps(summary.to_json(), indent=2, ensure_ascii=False)
    write_atomically(folder / SUMMARY_FILE, [text.encode(), b"\n"])


def load_prepared(folder: str | os.PathLike[str]) -> tuple[Dataset, Dataset, Encoder | None, LogSummary]:
    """Read what `save_prepared` wrote."""
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
        return *_open_parts(path), summary
    encoder = folder_encoder(path)
    label_names = read_lines(path / "labels.txt")
    has_names = (path / "features.txt").exists()
    feature_names = read_lines(path / "features.txt") if has_names else None
    parts = []
    for name in _PARTS:
        read = read_xmc(path / f"{name}.txt", 0)
        others: dict[str, Any] = {"encoder": encoder, **folder_points(path, name, read.n_points)}
        parts.append(Dataset(read.X, read.Y, label_names, feature_names, read.sample_weight, **others))
    return parts[0], parts[1], encoder, summary


def _open_parts(folder: Path) -> tuple[Dataset, Dataset, Encoder | None]:
    train = open_parts(folder / parts_name(TRAIN))
    if (folder / parts_name(TEST)).is_dir():
        return train, open_parts(folder / parts_name(TEST)), train.encoder
    X, Y = (sparse.csr_array((0, n), dtype=np.float32) for n in (train.n_features, train.n_labels))
    return train, Dataset(X, Y, train.label_names, train.feature_names, encoder=train.encoder), train.encoder


def _names(names: Any) -> list[str]:
    return [] if names is None else names.tolist()


def _lines(texts: Any) -> bytes:
    text = "\n".join(texts)
    return f"{text}\n".encode() if text else b""
