"""CSV files of events: their encoding, header and separator, and lines with too many fields."""

from __future__ import annotations

import codecs
import csv
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from labeltrees.data.files import COMPRESSED, open_any
from labeltrees.errors import FileFormatError, InputError
from labeltrees.logs.settings import LogSettings

CSV_SUFFIXES = (".csv", ".tsv")
_SEPARATORS = ",;\t|"
_MAX_HEADER_BYTES = 1 << 20
_BLOCK = 1 << 20
EXTRA_FIELDS = "\0extra"  # a name that no header has


def suffix_of_data(path: Path) -> str:
    """Return the suffix of a file name in lower case, without that of its compression."""
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()


def open_csv_files(
    files: list[Path], settings: LogSettings, scratch: Path
) -> tuple[Callable[[list[Path]], pl.LazyFrame], list[Path], pl.Expr]:
    """Return what reads CSV files with the same header as one frame, the files to read, and which lines are ragged.

    Everything is read as text, so that an id keeps its leading zeros. A line with fewer fields than the header has
    empty ones at its end, so that, for example, it counts as an event without an item. A line with more is ragged: the
    meaning of its fields is unknown. It is found by reading one more column than the header has.
    """
    read_files = [_as_plain_utf8(path, settings.encoding, scratch, number) for number, path in enumerate(files)]
    header, separator = _header(read_files[0], files[0], settings.separator)
    for path, original in zip(read_files[1:], files[1:], strict=True):
        other, _ = _header(path, original, separator)
        if other != header:
            message = f"{original}: other columns than {files[0].name}: {', '.join(other)}"
            raise FileFormatError(message)
    scan = partial(
        pl.scan_csv,
        has_header=True,
        separator=separator,
        schema=dict.fromkeys([*header, EXTRA_FIELDS], pl.String),
        extra_columns="ignore",
        missing_columns="insert",
        glob=False,
    )
    return scan, read_files, pl.col(EXTRA_FIELDS).is_not_null()


def _as_plain_utf8(path: Path, encoding: str, scratch: Path, number: int) -> Path:
    """Return the file itself, or a decompressed copy in UTF-8."""
    utf8 = codecs.lookup(encoding).name == "utf-8"
    if utf8 and path.suffix.lower() not in COMPRESSED:
        return path
    copy = scratch / f"{number:06d}-{path.name.split('.')[0]}.csv"
    with open_any(path) as stream, open(copy, "wb") as out:
        if utf8:
            shutil.copyfileobj(stream, out, _BLOCK)
            return copy
        decoder = codecs.getincrementaldecoder(encoding)("strict")
        try:
            while block := stream.read(_BLOCK):
                out.write(decoder.decode(block).encode())
            out.write(decoder.decode(b"", final=True).encode())
        except UnicodeError as error:
            message = f"{path}: not text in {encoding} ({error})"
            raise FileFormatError(message) from None
    return copy


def _header(path: Path, original: Path, separator: str | None) -> tuple[list[str], str]:
    with open(path, "rb") as stream:
        line = stream.readline(_MAX_HEADER_BYTES)
    if not line.strip():
        message = f"{original}: the first line, which must name the columns, is empty"
        raise FileFormatError(message)
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        message = f"{original}: not UTF-8 text (byte {error.start}); give its encoding, such as latin-1"
        raise FileFormatError(message) from None
    if "\0" in text:
        message = f"{original}: a zero byte in the first line; is it text, and in which encoding?"
        raise FileFormatError(message)
    try:
        if separator is None:
            by_name = suffix_of_data(original) == ".tsv"
            separator = "\t" if by_name else max(_SEPARATORS, key=lambda character: len(_fields(text, character)))
        header = _fields(text, separator)
    except csv.Error as error:
        message = f"{original}, line 1: cannot be read as CSV: {error}"
        raise FileFormatError(message) from None
    repeated = next((name for name in header if header.count(name) > 1), None)
    if repeated is not None:
        message = f"{original}: two columns are called {repeated!r}"
        raise InputError(message)
    return header, separator


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])
