"""A folder with training and test data: the names of its files, the encoder, and times and groups of points.

`PreparedLogs.save` writes such a folder (`logs/folder.py`), and every command reads it as DATA.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._files import refuse_file
from labeltrees.data.encoder_file import ENCODER_FILE, read_encoder
from labeltrees.data.encoders import Encoder
from labeltrees.data.files import read_lines
from labeltrees.errors import InputError

TRAIN, TEST = "train", "test"
POINT_FILES = (".times.txt", ".groups.txt")  # with one line per point, beside a file in XMC format
ITEM_NAMES = "item_names.txt"  # id and name of each item that has a name; a vocabulary for `read_vocabulary`
SUMMARY_FILE = "summary.json"  # of a prepared log
SUMMARY_FORMAT = "labeltrees logs summary"
FOLDER_VERSION = 2  # of a prepared log; version 1 had no encoder, and weights that were not scaled


def parts_name(part: str) -> str:
    """Return the folder name of a training or test part that is written as a dataset in parts.

    Examples
    --------
    >>> parts_name(TRAIN)
    'train.parts'
    """
    return f"{part}.parts"


def folder_encoder(folder: Path) -> Encoder | None:
    """Return the encoder of a folder with train.txt and test.txt, None if it has none."""
    path = folder / ENCODER_FILE
    return read_encoder(path) if path.exists() else None


def folder_label_texts(folder: Path, label_names: list[str]) -> dict[str, list[str]] | None:
    """Return the names of the items of a folder, by id; None if it has none."""
    path = folder / ITEM_NAMES
    if not path.exists():
        return None
    known = set(label_names)
    rows = (line.split("\t", 1) for line in read_lines(path))
    return {row[0]: [row[1]] for row in rows if len(row) == 2 and row[0] in known}


def folder_points(folder: Path, part: str, n_points: int) -> dict[str, NDArray[Any] | None]:
    """Return the times and groups of the points of a part; None where the folder has no such file."""
    return {
        "times": _point_lines(folder / f"{part}.times.txt", n_points, "time", "datetime64[us]"),
        "groups": _point_lines(folder / f"{part}.groups.txt", n_points, "group", "int64"),
    }


def _point_lines(path: Path, n_points: int, kind: str, dtype: str) -> NDArray[Any] | None:
    if not path.exists():
        return None
    lines = read_lines(path)
    if len(lines) != n_points:
        refuse_file(path, f"{len(lines)} {kind}s for {n_points} points; it must have one line per point")
    try:
        return np.array(lines, dtype=dtype)
    except (ValueError, OverflowError) as error:
        refuse_file(path, f"not a {kind} ({error})")


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Return the summary of a prepared log as JSON values, None if the folder has none."""
    try:
        record = json.loads((folder / SUMMARY_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    is_summary = isinstance(record, dict) and record.get("format") == SUMMARY_FORMAT
    return record if is_summary else None


def check_version(folder: Path) -> None:
    """Refuse a folder that was prepared with another version of the folder format."""
    record = read_summary(folder)
    version = FOLDER_VERSION if record is None else record.get("version", 1)
    if version != FOLDER_VERSION:
        age = "newer" if isinstance(version, int) and version > FOLDER_VERSION else "older"
        message = (
            f"{folder}: prepared by {'a' if age == 'newer' else 'an'} {age} version of labeltrees (folder version "
            f"{version}, this one reads {FOLDER_VERSION}); run labeltrees logs prepare again"
        )
        raise InputError(message)
