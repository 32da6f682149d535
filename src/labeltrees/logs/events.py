"""Opening a log: CSV and Parquet files or frames as one lazy frame with the needed columns, named by their role."""

from __future__ import annotations

import codecs
import csv
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from labeltrees._validation import refuse
from labeltrees.data.files import COMPRESSED, MissingFileError, open_any
from labeltrees.data.parquet import check_parquet_sizes
from labeltrees.errors import FileFormatError, InputError, Phrase
from labeltrees.logs.settings import LogSettings

_SUFFIXES = (".csv", ".tsv", ".parquet")
_SEPARATORS = ",;\t|"
_MAX_HEADER_BYTES = 1 << 20
_BLOCK = 1 << 20
_PARAMETERS = {"name": "item_name", "feature": "feature_column"}  # parameters whose name is not that of their role
_EXTRA_FIELDS = "\0extra"  # a name that no header has
# Polars 1 fills missing fields by default.
_RAGGED: dict[str, Any] = {"truncate_ragged_lines": True}
if not pl.__version__.startswith("1."):
    _RAGGED = {"extra_columns": "ignore", "missing_columns": "insert"}
_logger = logging.getLogger("labeltrees")


@dataclass(frozen=True)
class Events:
    """A log that has been opened.

    Attributes
    ----------
    frame : lazy frame
        Columns context and item (integers or texts) and, if the log has them, weight, time, name, session, feature
        (texts, or lists of texts) and ragged (whether the line of a CSV file had too many fields).
    columns : dict
        The name in the log of each column.
    files, left_out : lists of paths
        The files read, and the other files in the folder.
    sources : list of lazy frames
        The same events as `frame`, in groups of files.
    """

    frame: pl.LazyFrame
    columns: dict[str, str]
    files: list[Path] = field(default_factory=list)
    left_out: list[Path] = field(default_factory=list)
    sources: list[pl.LazyFrame] = field(default_factory=list)


@contextmanager
def open_events(events: Any, settings: LogSettings, scratch: Path, n_groups: int = 1) -> Iterator[Events]:
    """Yield the events; errors of polars become one clear error.

    Parameters
    ----------
    events : path, polars frame or pandas frame
    settings : LogSettings
    scratch : path
        A folder for copies of files that must be decompressed or converted to UTF-8.
    n_groups : int
        Read files in up to this many groups.
    """
    files: list[Path] = []
    read_files: list[Path] = []
    left_out: list[Path] = []
    ragged: pl.Expr | None = None
    sources: list[pl.LazyFrame] = []
    if isinstance(events, pl.LazyFrame):
        frame = events
    elif isinstance(events, pl.DataFrame):
        frame = events.lazy()
    elif isinstance(events, str | Path) or hasattr(events, "__fspath__"):
        files, left_out = _event_files(Path(events))
        with naming_events(files):
            if _suffix(files[0]) == ".parquet":
                for file in files:
                    check_parquet_sizes(file)
                scan: Callable[[list[Path]], pl.LazyFrame] = pl.scan_parquet
                read_files = files
            else:
                scan, read_files, ragged = _open_csv_files(files, settings, scratch)
            frame = scan(read_files)
            sources = [scan(group) for group in _groups(read_files, n_groups)]
    elif hasattr(events, "columns") and hasattr(events, "to_numpy"):
        frame = _from_pandas(events, settings)
    else:
        refuse("events", "a path, a polars frame or a pandas frame", events)
    with naming_events(files, read_files):
        selected, columns = _selected(frame, settings, files, ragged)
        groups = [source.select(selected) for source in sources or [frame]]
        yield Events(frame.select(selected), columns, files, left_out, groups)


def _groups(files: list[Path], n_groups: int) -> list[list[Path]]:
    """Return files in at most `n_groups` groups of about the same number."""
    size = -(-len(files) // n_groups)
    return [files[start : start + size] for start in range(0, len(files), size)]


def _event_files(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of a log, and the other files in its folder, without hidden files and _SUCCESS marks."""
    if path.is_file():
        if _suffix(path) not in _SUFFIXES:
            message = f"{path}: must end in {', '.join(_SUFFIXES)} (plain, or .gz, .xz, .zst)"
            raise InputError(message)
        found, left_out = [path], []
    elif path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file() and file.name[0] not in "._")
        found = [file for file in inside if _suffix(file) in _SUFFIXES]
        left_out = [file for file in inside if _suffix(file) not in _SUFFIXES]
        if not found:
            message = f"{path}: no events in this folder (files that end in {', '.join(_SUFFIXES)})"
            raise FileFormatError(message)
        if left_out:
            names = ", ".join(file.name for file in left_out[:5]) + (" ..." if len(left_out) > 5 else "")
            _logger.warning("%s: %d files are not event files and are left out: %s", path, len(left_out), names)
    else:
        message = f"{path}: no such file or folder"
        raise MissingFileError(message)
    empty = next((file for file in found if file.stat().st_size == 0), None)
    if empty is not None:
        message = f"{empty}: the file is empty"
        raise FileFormatError(message)
    if len({_suffix(file) == ".parquet" for file in found}) > 1:
        message = f"{path}: CSV and Parquet files in one folder; name the ones to read"
        raise InputError(message)
    return found, left_out


def _from_pandas(frame: Any, settings: LogSettings) -> pl.LazyFrame:
    """Return the needed columns of a pandas frame; missing values become null."""
    wanted = {name for name in (*settings.given_columns().values(), "weight", "time") if name in frame.columns}
    columns = {}
    for name in sorted(wanted):
        column = frame[name]
        if str(column.dtype).startswith("datetime64"):
            column = column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(column.dt, "tz", None) else column
            columns[name] = pl.Series(name, column.to_numpy().astype("datetime64[us]"))
        else:
            missing = column.isna().to_numpy()
            values = [None if absent else value for value, absent in zip(column.tolist(), missing, strict=True)]
            columns[name] = _series(name, values)
    return pl.DataFrame(columns).lazy()


def _series(name: str, values: list[Any]) -> pl.Series:
    try:
        return pl.Series(name, values)
    except (TypeError, pl.exceptions.PolarsError):  # texts and numbers mixed
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _selected(
    frame: pl.LazyFrame, settings: LogSettings, files: list[Path], ragged: pl.Expr | None
) -> tuple[list[pl.Expr], dict[str, str]]:
    """Return the needed columns, named by their role, and their names in the log."""
    schema = frame.collect_schema()
    columns = settings.given_columns()
    for role in ("weight", "time"):  # used if the log has columns of these names
        if role not in columns and role in schema:
            columns[role] = role
    roles = tuple(role for role, name in columns.items() if name not in schema)
    missing = [f"{columns[role]!r} ({role})" for role in roles]
    if missing:
        have = ", ".join(repr(name) for name in list(schema)[:20] if name != _EXTRA_FIELDS)
        where = f"{files[0]}: " if files else "events: "
        message = f"{where}no column {', '.join(missing)}; there are {have or 'none'}"
        raise InputError(
            message, next_step=Phrase.GIVE_COLUMNS, about=tuple(_PARAMETERS.get(role, role) for role in roles)
        )
    selected = [_typed(role, name, schema[name]) for role, name in columns.items()]
    if ragged is not None:
        selected.append(ragged.alias("ragged"))
    return selected, columns


def _typed(role: str, name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column in the type of its role: ids are integers or texts, features are texts or lists of texts."""
    column = pl.col(name)
    if role in ("context", "item", "session"):
        if dtype.is_nested():
            message = f"the column {name!r} ({role}) must hold texts or numbers, not {dtype}"
            raise InputError(message)
        column = column.cast(pl.Int64) if dtype.is_integer() and dtype != pl.UInt64 else column.cast(pl.String)
        if role == "item" and not dtype.is_integer():
            column = column.str.normalize("NFC")  # two Unicode forms of the same text are one item
    elif role == "name":
        column = column.cast(pl.String).str.normalize("NFC")
    elif role == "feature":
        column = column.cast(pl.List(pl.String) if isinstance(dtype, pl.List | pl.Array) else pl.String)
    elif role == "weight" and (dtype.is_nested() or dtype.is_temporal()):
        message = f"the column {name!r} (weight) must hold numbers, not {dtype}"
        raise InputError(message)
    return column.alias(role)


def _suffix(path: Path) -> str:
    """Return the suffix of a file name in lower case, without that of its compression."""
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()


def _open_csv_files(
    files: list[Path], settings: LogSettings, scratch: Path
) -> tuple[Callable[[list[Path]], pl.LazyFrame], list[Path], pl.Expr]:
    """Return a function that reads CSV files as one frame, the files to read, and an expression for ragged lines.

    All files must have the same header. Everything is read as text, so that an id keeps its leading zeros. A line with
    fewer fields than the header gets empty ones at its end, and may count as an event without an item. A line with more
    fields is ragged: the meaning of its fields is unknown. Reading one more column than the header has finds it.
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
        schema=dict.fromkeys([*header, _EXTRA_FIELDS], pl.String),
        glob=False,
        **_RAGGED,
    )
    return scan, read_files, pl.col(_EXTRA_FIELDS).is_not_null()


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
            by_name = _suffix(original) == ".tsv"
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


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Compute `frame` in blocks of rows and return the result."""
    return frame.collect(engine="streaming")


@contextmanager
def naming_events(files: Sequence[Path], read_files: Sequence[Path] = ()) -> Iterator[None]:
    """Turn errors of polars into one error that names the file, as far as it is known.

    Parameters
    ----------
    files : paths
    read_files : paths
        The decompressed files that polars reads, in the same order.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        fault = next(iter(str(error).splitlines()), type(error).__name__)
        if "utf-8" in str(error).lower():
            for path, read in zip(files, read_files, strict=False):
                if (place := invalid_utf8(read)) is not None:
                    message = f"{path}: not UTF-8 text (byte {place}); give its encoding, such as latin-1"
                    raise FileFormatError(message) from None
        where = ", ".join(str(path) for path in files[:3]) + (" ..." if len(files) > 3 else "")
        message = f"{where or 'events'}: cannot be read: {fault}"
        raise FileFormatError(message) from None


def invalid_utf8(path: Path) -> int | None:
    """Return the position of the first byte that is not UTF-8, or None."""
    start, left_over = 0, b""
    with open(path, "rb") as stream:
        while True:
            block = stream.read(_BLOCK)
            text = left_over + block
            try:
                text.decode("utf-8")
                left_over = b""
            except UnicodeDecodeError as error:
                # The end of the block may cut a character, which has at most 4 bytes.
                if not block or len(text) - error.start > 3:
                    return start + error.start
                left_over = text[error.start :]
            start += len(text) - len(left_over)
            if not block:
                return None
