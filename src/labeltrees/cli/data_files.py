"""DATA as several files, folders of files, or standard input: joined into one temporary file of JSON lines.

Commands read one file or folder. Any other DATA is first written to a temporary folder, block by block, so it may be
larger than memory.
"""

from __future__ import annotations

import functools
import json
import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from labeltrees.cli.saved_models import load_model
from labeltrees.data.data_folder import BUNDLED, find_parts
from labeltrees.data.files import MissingDataError
from labeltrees.data.read_data import DataOptions
from labeltrees.data.text_formats import (
    LABEL_PREFIX,
    TEXT_SUFFIXES,
    TextFields,
    format_of,
    is_document_folder,
    suffix_of,
)
from labeltrees.data.texts import read_blocks
from labeltrees.errors import FileFormatError, InputError

STDIN = "-"
_NAME, _PREFIX = "standard input", "labeltrees-"
_FIRST_BYTES = 1 << 16
_HEADER = re.compile(rb"\s*\d+[ \t]+\d+([ \t]+\d+)?[ \t]*\r?\n")  # of a file in XMC format
_logger = logging.getLogger("labeltrees")


@contextmanager
def one_file(
    data: Sequence[str], reading: DataOptions, *, documents: bool = False
) -> Iterator[tuple[str, DataOptions]]:
    """Yield DATA as one path, and the options to read it with.

    Parameters
    ----------
    data : sequence of str
        Paths; ``-`` is standard input. A folder without a training or test part means all its text files.
    reading : DataOptions
    documents : bool
        Whether a plain text, in a .txt file or on standard input, is one document without labels.
    """
    documents = documents and reading.format == "auto"
    if documents and len(data) == 1 and _has_only_documents(Path(data[0])):
        yield data[0], replace(reading, format="annif")
        return
    plain = documents and any(map(_is_document, data))
    if len(data) == 1 and not plain and data[0] != STDIN and not _files_of_folder(data[0]):
        yield data[0], reading
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as temporary:
        if list(data) == [STDIN]:
            path, format = _save_input(Path(temporary), reading, documents)
            yield str(path), replace(reading, format=format)
            return
        if STDIN in data:
            message = "- (standard input) cannot be combined with other DATA: join them first, for example with cat"
            raise InputError(message)
        paths = [path for one in data for path in _files_of_folder(one) or [Path(one)]]
        joined = Path(temporary) / f"{len(paths)} files.jsonl"
        yield str(joined), _join(paths, joined, reading, documents)


def _files_of_folder(data: str) -> list[Path]:
    """Return the text files of a folder without a training or test part; an empty list for other DATA."""
    folder = Path(data)
    if data == BUNDLED or not folder.is_dir() or find_parts(data, "train") is not None or is_document_folder(folder):
        return []
    files = sorted(path for path in folder.iterdir() if path.is_file() and suffix_of(path) in TEXT_SUFFIXES)
    named = [path for path in files if path.name.startswith(("train", "test"))]
    return [] if named else files


def _has_only_documents(folder: Path) -> bool:
    """Whether a path is a folder of documents without labels."""
    if not folder.is_dir() or is_document_folder(folder):
        return False
    files = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    return bool(files) and all(path.suffix == ".txt" and _is_document(str(path)) for path in files)


def _is_document(path: str) -> bool:
    """Whether a path is a plain .txt file: not in XMC format, and without labels of fastText or Annif."""
    if Path(path).suffix != ".txt" or not Path(path).is_file():
        return False
    with open(path, "rb") as stream:
        first = stream.read(_FIRST_BYTES)
    return _HEADER.match(first) is None and not first.startswith(LABEL_PREFIX.encode()) and b"\t<" not in first


def _save_input(folder: Path, reading: DataOptions, documents: bool) -> tuple[Path, str]:
    """Copy standard input to a file; return the file and the format of its texts."""
    stream = sys.stdin.buffer
    first = stream.read(_FIRST_BYTES)
    if not first:
        message = "standard input is empty"
        raise InputError(message)
    format = reading.format if reading.format != "auto" else _guess(first, reading.fields)
    if documents and format == "fasttext" and not first.startswith(LABEL_PREFIX.encode()):
        return _save_document(folder, first + stream.read())
    path = folder / f"{_NAME}.{format}"
    with open(path, "wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file)
    return path, format


def _save_document(folder: Path, content: bytes) -> tuple[Path, str]:
    """Write standard input as one record: all its lines are one document."""
    text = decode_text(content, _NAME)
    n_lines = len(text.splitlines())
    if n_lines > 1:
        message = "%s: read as one document of %d lines; --data-format fasttext reads one text per line"
        _logger.info(message, _NAME, n_lines)
    path = folder / f"{_NAME}.jsonl"
    path.write_text(json.dumps({"text": text}) + "\n", encoding="utf-8")
    return path, "jsonl"


def decode_text(content: bytes, name: str) -> str:
    """Return a document as text; it must be UTF-8."""
    try:
        return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{name}: not UTF-8 (byte {error.start:,}); convert it first, for example with iconv -t utf-8"
        raise FileFormatError(message) from None


def _guess(first: bytes, fields: TextFields) -> str:
    """Return the format of texts by their first bytes: JSON lines, TSV or CSV with a header, or one text per line."""
    line = first.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if line.startswith(("{", "[")):
        return "jsonl"
    if LABEL_PREFIX not in line:
        for format, mark in (("tsv", "\t"), ("csv", ",")):
            columns = [name.strip().strip('"') for name in line.split(mark)]
            if set(fields.text) <= set(columns):
                return format
    return "fasttext"  # one text per line


def _join(paths: list[Path], joined: Path, reading: DataOptions, documents: bool) -> DataOptions:
    """Write the records of several text files to one file; return the options to read it with."""
    fields = reading.fields
    with open(joined, "w", encoding="utf-8") as stream:
        for path in paths:
            if not path.exists():
                message = f"{path}: no such file or folder"
                raise MissingDataError(message)
            if documents and _is_document(str(path)):
                stream.write(json.dumps({"text": decode_text(path.read_bytes(), str(path))}) + "\n")
                continue
            format = format_of(path, reading.format)
            if format is None:
                message = f"{path}: not a file of texts; only files of texts can be joined, so give this one alone"
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
    """Return the name of DATA for messages: of a temporary file, the name without its folder."""
    path = Path(data)
    return (
        path.stem
        if path.parent.name.startswith(_PREFIX) and path.parent.parent == Path(tempfile.gettempdir())
        else data
    )


def data_files(command: Any, *, documents: bool = False) -> Any:
    """Decorate a command that takes several DATA: it gets one path as `data`, and the options to read it as `reading`.

    `documents` has the meaning it has in `one_file`; it applies only to models that take texts.
    """

    @functools.wraps(command)
    def with_one_file(*arguments: Any, data: tuple[str, ...], reading: DataOptions, **given: Any) -> Any:
        if not data:
            return command(*arguments, data=None, reading=reading, **given)
        plain = documents and load_model(given["model_folder"]).takes_texts
        with one_file(data, reading, documents=plain) as (path, how):
            return command(*arguments, data=path, reading=how, **given)

    return with_one_file


def data_or_documents(command: Any) -> Any:
    """Decorate a command whose DATA may also be documents without labels."""
    return data_files(command, documents=True)


several_data_argument = click.argument("data", metavar="DATA...", nargs=-1, required=True)
