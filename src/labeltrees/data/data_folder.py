"""DATA as files: which file or folder it names, and what a folder with training and test data has beside the points.

`PreparedLogs.save` writes such a folder (`logs/folder.py`), and every command reads it as DATA.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._files import refuse_file
from labeltrees._names import did_you_mean
from labeltrees.data.encoder_file import ENCODER_FILE, read_encoder
from labeltrees.data.encoders import Encoder
from labeltrees.data.files import COMPRESSED, MissingDataError, read_lines
from labeltrees.data.parts.part import MANIFEST_FILE
from labeltrees.data.text_formats import TEXT_SUFFIXES, is_document_folder
from labeltrees.data.xmc import is_weights_file
from labeltrees.errors import FileFormatError, InputError

BUNDLED = "debian"
TRAIN, TEST = "train", "test"
_FOLDER_ENDINGS = (".txt", *TEXT_SUFFIXES)
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


def find_file(data: str, part: str, format: str = "auto") -> Path | None:
    """Return the file, or the folder of documents, that DATA names; None for the bundled data."""
    if data == BUNDLED:
        return None
    path = Path(data)
    if path.is_dir():
        check_version(path)
        return _documents(path, part, format) or _part_file(path, part)
    if not path.exists():
        message = f"{data}: no such file or folder{_beside(path)} (the bundled data is called {BUNDLED})"
        raise MissingDataError(message)
    return path


def _beside(path: Path) -> str:
    """Return the end of a message about a missing file: similar names in its folder."""
    folder = path.parent
    names = [other.name for other in islice(folder.iterdir(), 10_000)] if folder.is_dir() else []
    return did_you_mean(path.name, names)


def find_parts(data: str, part: str) -> Path | None:
    """Return the dataset in parts that DATA is, or that a folder has for a part; None if there is none."""
    if data == BUNDLED:
        return None
    folder = Path(data)
    found = next((path for path in (folder, folder / parts_name(part)) if (path / MANIFEST_FILE).is_file()), None)
    if found is not None:
        check_version(folder)
    return found


def has_test_file(data: str, format: str = "auto") -> bool:
    """Whether DATA has separate files for training and testing: the bundled data, or a folder with such files."""
    if not Path(data).is_dir():
        return data == BUNDLED
    return find_parts(data, TRAIN) is not None or find_file(data, TRAIN, format) != Path(data)


def has_test_part(data: str, format: str) -> bool:
    """Whether DATA has a test part beside the training part."""
    if not has_test_file(data, format):
        return False
    if find_parts(data, TRAIN) is not None:
        return find_parts(data, TEST) not in (None, Path(data))
    return data == BUNDLED or _documents(Path(data), TEST, format) is not None or bool(_part_files(Path(data), TEST))


def name_of_data(data: str) -> str:
    """Return the name of DATA for a report: the name of the file or folder, without the path to it."""
    return data if data == BUNDLED else Path(data).resolve().name


def in_folder(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder whose names match a pattern, plain or compressed."""
    return sorted(path for ending in ("", *COMPRESSED) for path in folder.glob(pattern + ending) if path.is_file())


def _documents(folder: Path, part: str, format: str) -> Path | None:
    """Return the folder of documents: FOLDER/train or FOLDER/test, or FOLDER itself if it has no file of the part."""
    for found in (folder / part, folder):
        if is_document_folder(found) or (format == "annif" and any(found.glob("*.txt"))):
            return None if found == folder and format != "annif" and _part_files(folder, part) else found
    return None


def _part_files(folder: Path, part: str) -> list[Path]:
    found = [path for ending in _FOLDER_ENDINGS for path in in_folder(folder, f"{part}*{ending}")]
    return [path for path in found if not is_weights_file(path) and not path.name.endswith(POINT_FILES)]


def _part_file(folder: Path, part: str) -> Path:
    found = _part_files(folder, part)
    if not found:
        if any(folder.glob("*.txt")):
            message = (
                f"{folder}: has documents without labels: write the labels of NAME.txt to NAME.tsv or NAME.key. Only "
                "predict needs no labels; if it does not accept the folder, add --data-format annif"
            )
            raise FileFormatError(message)
        endings = ", ".join(_FOLDER_ENDINGS[1:])
        message = f"{folder}: no file {part}*.txt (or {endings}; plain, .gz, .xz or .zst) in this folder"
        raise FileFormatError(message)
    if len(found) > 1:
        names = ", ".join(sorted(path.name for path in found))
        kind = "training" if part == TRAIN else "test"
        message = f"{folder}: more than one {kind} file, use one of {names} as DATA"
        raise InputError(message)
    return found[0]
