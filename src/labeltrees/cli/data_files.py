"""DATA as several files, folders of files, or standard input: joined into one temporary file of JSON lines.

Commands read one file or folder. What a user gives beyond that is written to a temporary folder, block by block, so
that it may be larger than memory.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from labeltrees.data.files import MissingDataError
from labeltrees.data.read_data import BUNDLED, DataOptions, find_parts
from labeltrees.data.text_formats import (
    LABEL_PREFIX,
    TEXT_SUFFIXES,
    TextFields,
    format_of,
    is_document_folder,
    suffix_of,
)
from labeltrees.data.texts import read_blocks
from labeltrees.errors import InputError

STDIN = "-"
_NAME, _PREFIX = "standard input", "labeltrees-"
_FIRST_BYTES = 1 << 16


@contextmanager
def one_file(data: Sequence[str], reading: DataOptions) -> Iterator[tuple[str, DataOptions]]:
    """Yield DATA as one path, and how to read it.

    Parameters
    ----------
    data : sequence of str
        Paths; ``-`` is standard input. A folder stands for its files of texts, unless it has a training or test part.
    reading : DataOptions
    """
    if len(data) == 1 and data[0] != STDIN and not _files_of_folder(data[0]):
        yield data[0], reading
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as temporary:
        if list(data) == [STDIN]:
            path, format = _save_input(Path(temporary), reading)
            yield str(path), replace(reading, format=format)
            return
        if STDIN in data:
            message = "- (standard input) cannot be combined with other DATA: join them first, for example with cat"
            raise InputError(message)
        paths = [path for one in data for path in _files_of_folder(one) or [Path(one)]]
        joined = Path(temporary) / f"{len(paths)} files.jsonl"
        yield str(joined), _join(paths, joined, reading)


def _files_of_folder(data: str) -> list[Path]:
    """Return the files of texts of a folder that has several and no training or test part; empty for other DATA."""
    folder = Path(data)
    if data == BUNDLED or not folder.is_dir() or find_parts(data, "train") is not None or is_document_folder(folder):
        return []
    files = sorted(path for path in folder.iterdir() if path.is_file() and suffix_of(path) in TEXT_SUFFIXES)
    named = [path for path in files if path.name.startswith(("train", "test"))]
    return [] if named else files


def _save_input(folder: Path, reading: DataOptions) -> tuple[Path, str]:
    """Copy standard input to a file; return the file and the format of its texts."""
    stream = sys.stdin.buffer
    first = stream.read(_FIRST_BYTES)
    if not first:
        message = "standard input is empty"
        raise InputError(message)
    format = reading.format if reading.format != "auto" else _guess(first, reading.fields)
    path = folder / f"{_NAME}.{format}"
    with open(path, "wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file)
    return path, format


def _guess(first: bytes, fields: TextFields) -> str:
    """Return the format of texts by their first bytes: JSON lines, CSV or TSV with the columns named, or lines."""
    line = first.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if line.startswith(("{", "[")):
        return "jsonl"
    if LABEL_PREFIX not in line:
        for format, mark in (("tsv", "\t"), ("csv", ",")):
            columns = [name.strip().strip('"') for name in line.split(mark)]
            if set(fields.text) <= set(columns):
                return format
    return "fasttext"  # one text per line


def _join(paths: list[Path], joined: Path, reading: DataOptions) -> DataOptions:
    """Write the records of several files of texts to one file; return how to read it."""
    fields = reading.fields
    with open(joined, "w", encoding="utf-8") as stream:
        for path in paths:
            if not path.exists():
                message = f"{path}: no such file or folder"
                raise MissingDataError(message)
            format = format_of(path, reading.format)
            if format is None:
                message = f"{path}: several DATA must be files of texts, and this is none; give one file in XMC format"
                raise InputError(message)
            for block in read_blocks(path, replace(fields, labels_required=False), format):
                for row, text in enumerate(block.texts):
                    record: dict[str, Any] = {"text": text}
                    if block.labels:
                        record["labels"] = block.labels[row]
                    if block.weights:
                        record["weight"] = block.weights[row]
                    stream.write(json.dumps(record) + "\n")
    weight = None if fields.weight is None else "weight"
    return replace(reading, fields=replace(TextFields(), weight=weight), format="jsonl")


def shown(data: str) -> str:
    """Return DATA for a message: a temporary file without its folder."""
    path = Path(data)
    return (
        path.stem
        if path.parent.name.startswith(_PREFIX) and path.parent.parent == Path(tempfile.gettempdir())
        else data
    )


def data_files(command: Any) -> Any:
    """Decorate a command whose DATA may be several: it gets one path as `data`, and how to read it as `reading`."""

    @functools.wraps(command)
    def with_one_file(*arguments: Any, data: tuple[str, ...], reading: DataOptions, **given: Any) -> Any:
        if not data:
            return command(*arguments, data=None, reading=reading, **given)
        with one_file(data, reading) as (path, how):
            return command(*arguments, data=path, reading=how, **given)

    return with_one_file


several_data_argument = click.argument("data", metavar="DATA...", nargs=-1, required=True)
