"""A prepared log as a folder that every command accepts as DATA."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from labeltrees._files import replacing_folder, write_atomically
from labeltrees.data.dataset import Dataset
from labeltrees.data.logs.summary import SUMMARY_FORMAT, LogSummary
from labeltrees.data.xmc import write_xmc
from labeltrees.errors import InputError

SUMMARY_FILE = "summary.json"
_PARTS = ("train", "test")
_FILES = {
    *(f"{part}{ending}" for part in _PARTS for ending in (".txt", ".weights.txt")),
    "labels.txt",
    "features.txt",
    SUMMARY_FILE,
}


def check_dataset_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder as a path; refuse a folder that holds anything but a prepared log."""
    target = Path(os.path.abspath(folder))
    if not os.path.lexists(target):
        return target
    if target.is_dir():
        names = {entry.name for entry in os.scandir(target)}
        if not names:
            return target
        try:
            known = json.loads((target / SUMMARY_FILE).read_bytes())["format"] == SUMMARY_FORMAT
        except (OSError, ValueError, KeyError, TypeError):
            known = False
        if known and names <= _FILES:
            return target
    message = f"{target} exists and is not a prepared log; choose another folder or delete it"
    raise InputError(message)


def save_prepared(train: Dataset, test: Dataset, summary: LogSummary, folder: str | os.PathLike[str]) -> None:
    """Write train and test in XMC format, the names of labels and features, the point weights and the summary."""
    target = check_dataset_folder(folder)
    with replacing_folder(target) as new:
        for name, part in zip(_PARTS, (train, test), strict=True):
            write_xmc(part, new / f"{name}.txt")
            if part.sample_weight is not None:
                write_atomically(
                    new / f"{name}.weights.txt", [_lines(f"{w:.17g}" for w in part.sample_weight.tolist())]
                )
        write_atomically(new / "labels.txt", [_lines(_names(train.label_names))])
        write_atomically(new / "features.txt", [_lines(_names(train.feature_names))])
        text = json.dumps(summary.to_json(), indent=2, ensure_ascii=False)
        write_atomically(new / SUMMARY_FILE, [text.encode(), b"\n"])


def _names(names: Any) -> list[str]:
    return [] if names is None else names.tolist()


def _lines(texts: Any) -> bytes:
    text = "\n".join(texts)
    return f"{text}\n".encode() if text else b""
