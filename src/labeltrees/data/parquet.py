"""Parquet: texts read in blocks of rows, after a check of the file's size after decompression.

A Parquet file ends with its metadata, the length of the metadata and the mark PAR1. The metadata lists the columns of
each group of rows, and a column is a sequence of pages. A page starts with a header that has its size before and after
decompression. Metadata and headers are structures in Thrift's compact protocol.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from labeltrees._extras import import_extra
from labeltrees._files import open_regular, refuse_file
from labeltrees.data.files import FilePath, MissingFileError
from labeltrees.data.limits import current_limits
from labeltrees.data.text_formats import TextBlock, TextFields, drop_blank, split_labels
from labeltrees.errors import FileFormatError, InputError, Phrase

if TYPE_CHECKING:
    import polars


_MARK = b"PAR1"
_MOST_METADATA_BYTES = 256 << 20
_HEADER_BYTES = 1 << 16  # of a page header with statistics of short texts
_BYTES_PER_VALUE = 8  # minimum in memory, such as the end of a list
_DEEPEST = 32
_TRUE, _FALSE, _I8, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


class _Damaged(Exception):
    """The structure cannot be read."""


def check_parquet_sizes(path: Path) -> int:
    """Refuse a file whose pages decompress to more than the limits allow; return how many bytes they take."""
    limits = current_limits()
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        total = 0
        try:
            for column in _columns(stream, size):
                for n_bytes in _page_sizes(stream, size, column):
                    total += n_bytes
                    limits.check_size(path, total, size)
        except _Damaged as fault:
            refuse_file(path, f"cannot be read as Parquet ({fault})")
    return total


def _columns(stream: IO[bytes], size: int) -> Iterator[dict[int, Any]]:
    """Yield the metadata of each column of each group of rows."""
    if size < 12:
        message = "the file is too short"
        raise _Damaged(message)
    stream.seek(size - 8)
    tail = stream.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MARK or length > min(size - 12, _MOST_METADATA_BYTES):
        message = "its end is not that of a Parquet file"
        raise _Damaged(message)
    stream.seek(size - 8 - length)
    metadata = _Decoder(stream.read(length)).structure()
    for group in _list(metadata.get(4)):
        for chunk in _list(_struct(group).get(1)):
            yield _struct(_struct(chunk).get(3))


def _page_sizes(stream: IO[bytes], size: int, column: dict[int, Any]) -> Iterator[int]:
    """Yield the memory for each page of a column: its size after decompression, or 8 bytes per value if that is more.

    A page can encode millions of nulls or empty lists in a few bytes.
    """
    starts = [start for start in (column.get(9), column.get(11)) if isinstance(start, int) and start > 0]
    at = min(starts, default=0)
    n_left = column.get(7)
    if not starts or not isinstance(n_left, int) or n_left < 0 or at + n_left > size:
        message = "a column is outside the file"
        raise _Damaged(message)
    while n_left > 0:
        header, n_header = _page_header(stream, at, n_left)
        uncompressed, compressed = header.get(2), header.get(3)
        if not isinstance(uncompressed, int) or not isinstance(compressed, int) or min(uncompressed, compressed) < 0:
            message = "a page has no size"
            raise _Damaged(message)
        kinds = (header.get(kind) for kind in (5, 7, 8))  # data, dictionary, data of version 2
        counts = [kind.get(1) for kind in kinds if isinstance(kind, dict)]
        yield max(uncompressed, *(_BYTES_PER_VALUE * count for count in counts if isinstance(count, int)), 0)
        at += n_header + compressed
        n_left -= n_header + compressed


def _page_header(stream: IO[bytes], at: int, n_left: int) -> tuple[dict[int, Any], int]:
    """Return the header of a page and its length; long texts in its statistics make it longer than usual."""
    n_read = _HEADER_BYTES
    while True:
        stream.seek(at)
        decoder = _Decoder(stream.read(min(n_read, n_left)))
        try:
            return decoder.structure(), decoder.at
        except _Damaged:
            if n_read >= min(n_left, _MOST_METADATA_BYTES):
                raise
            n_read *= 16


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        message = "a list is missing in the metadata"
        raise _Damaged(message)
    return value


def _struct(value: Any) -> dict[int, Any]:
    if not isinstance(value, dict):
        message = "a structure is missing in the metadata"
        raise _Damaged(message)
    return value


class _Decoder:
    """Decodes one structure of Thrift's compact protocol: fields by number; bytes are skipped."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.depth = data, 0, 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            message = "the metadata end too soon"
            raise _Damaged(message)
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                message = "a number in the metadata is too long"
                raise _Damaged(message)

    def signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def skip(self, n: int) -> None:
        if n > len(self.data) - self.at:
            message = "the metadata end too soon"
            raise _Damaged(message)
        self.at += n

    def enter(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            message = "the metadata are nested too deeply"
            raise _Damaged(message)

    def structure(self) -> dict[int, Any]:
        self.enter()
        fields: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind)
        self.depth -= 1
        return fields

    def value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE, _I8):
            return self.byte()
        if kind in (_I16, _I32, _I64):
            return self.signed()
        if kind == _DOUBLE:
            return self.skip(8)
        if kind == _BINARY:
            return self.skip(self.unsigned())
        if kind in (_LIST, _SET):
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.unsigned()
            if count > len(self.data) - self.at:  # every element takes at least one byte
                message = "a list in the metadata is too long"
                raise _Damaged(message)
            self.enter()
            values = [self.value(head & 15) for _ in range(count)]
            self.depth -= 1
            return values
        if kind == _STRUCT:
            return self.structure()
        message = f"the metadata have a value of the unexpected kind {kind}"
        raise _Damaged(message)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its kind."""
    return next(iter(str(error).splitlines()), type(error).__name__)


class ParquetReader:
    """Reads the records of a Parquet file in blocks of rows.

    With `lists`, the text of a record can also be a list, which is kept unchanged.
    """

    def __init__(self, path: FilePath, fields: TextFields, block_size: int, lists: bool = False) -> None:
        self.path, self.fields, self.block_size, self.lists = path, fields, block_size, lists
        self.cells: list[str] | None = None  # if it is a list, it collects label strings, which are not split then

    def fail(self, fault: str, next_step: Phrase | None = None) -> NoReturn:
        """Raise the error for a fault of the file."""
        message = f"{self.path}: {fault}"
        raise FileFormatError(message, next_step=next_step, about=("text", "labels"))

    def blocks(self) -> Iterator[TextBlock]:
        """Yield the records in blocks."""
        pl = import_extra("polars", "logs", "reading Parquet files")
        if not Path(self.path).is_file():
            message = f"{self.path}: no such file"
            raise MissingFileError(message)
        n_bytes = check_parquet_sizes(Path(self.path))
        try:
            lazy = pl.scan_parquet(Path(self.path))
            columns = self.check_columns(dict(lazy.collect_schema()), pl)
            n_rows = int(lazy.select(pl.len()).collect().item())
            for start in range(0, n_rows, self.block_size):
                frame = lazy.select(columns).slice(start, self.block_size).collect()
                n_bytes = self.check_lengths(frame, start, n_bytes, pl)
                yield self.block(frame, start, pl)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            self.fail(f"cannot be read as Parquet ({first_line(error)})")

    def check_columns(self, schema: dict[str, Any], pl: Any) -> list[str]:
        """Return the columns to read; refuse missing columns and wrong types."""
        columns = []
        for name in self.fields.names:
            if name not in schema:
                if name == self.fields.labels and not self.fields.labels_required:
                    continue
                columns_there = ", ".join(map(repr, schema))[:300]
                self.fail(f"no column {name!r}; the columns are {columns_there}", Phrase.GIVE_COLUMNS)
            columns.append(name)
        strings = (pl.String, pl.Categorical, pl.Enum, pl.Null)
        for name in self.fields.text:
            is_list = self.lists and len(self.fields.text) == 1 and isinstance(schema[name], pl.List)
            if not isinstance(schema[name], strings) and not is_list:
                self.fail(f"column {name!r} is of type {schema[name]}, not strings")
        if self.fields.labels in columns:
            kind = schema[self.fields.labels]
            inner = kind.inner if isinstance(kind, pl.List) else kind
            if not isinstance(inner, strings):
                self.fail(f"column {self.fields.labels!r} is of type {kind}, not lists of strings or strings")
        if self.fields.weight is not None and not schema[self.fields.weight].is_numeric():
            self.fail(f"column {self.fields.weight!r} is of type {schema[self.fields.weight]}, not numbers")
        return columns

    def check_lengths(self, frame: polars.DataFrame, start: int, n_bytes: int, pl: Any) -> int:
        """Refuse texts that are too long, and return `n_bytes` plus the bytes of the texts.

        A page can repeat one long text for many rows, so the texts can be much larger than the pages.
        """
        limits = current_limits()
        for name in (name for name in frame.columns if name != self.fields.weight):
            strings = frame[name].list.join("") if isinstance(frame[name].dtype, pl.List) else frame[name]
            lengths = strings.cast(pl.String).str.len_bytes().fill_null(0)
            n_bytes += int(lengths.sum())
            longest = lengths.arg_max()
            if longest is not None and lengths[longest] > limits.line_bytes:
                limits.refuse_line(self.path, start + longest + 1)
        limits.check_size(self.path, n_bytes, Path(self.path).stat().st_size, start + 1)
        return n_bytes

    def block(self, frame: polars.DataFrame, start: int, pl: Any) -> TextBlock:
        """Return the rows of `frame`, which start at row `start` of the file."""
        fields, block = self.fields, TextBlock()
        columns = []
        for name in fields.text:
            column = frame[name] if isinstance(frame.schema[name], pl.List) else frame[name].cast(pl.String)
            self.refuse_nulls(name, column, start)
            columns.append(column.to_list())
        block.texts = (
            columns[0] if len(columns) == 1 else [" ".join(filter(None, row)) for row in zip(*columns, strict=True)]
        )
        if fields.labels is not None:
            values = frame[fields.labels].to_list() if fields.labels in frame.columns else [None] * len(frame)
            for row, value in enumerate(values):
                block.labels.append(self.labels(value, block, start + row))
        if fields.weight is not None:
            weights = frame[fields.weight].cast(pl.Float64)
            self.refuse_nulls(fields.weight, weights, start)
            bad = (~(weights.is_finite() & (weights >= 0))).arg_true()
            if len(bad) > 0:
                self.fail(f"row {start + bad[0] + 1}: {fields.weight!r} is not a number >= 0")
            block.weights = weights.to_list()
        return block

    def refuse_nulls(self, name: str, column: Any, start: int) -> None:
        """Refuse a column with nulls."""
        nulls = column.is_null().arg_true()
        if len(nulls) > 0:
            self.fail(f"row {start + nulls[0] + 1}: {name!r} is null ({len(nulls):,} of {len(column):,} rows here)")

    def labels(self, value: Any, block: TextBlock, row: int) -> list[str]:
        """Return the labels of a row; null means no labels."""
        if value is None:
            return []
        if isinstance(value, str) and self.cells is not None:
            self.cells.append(value)
            return []
        if isinstance(value, str):
            try:
                labels, n_blank = split_labels(value, self.fields.label_separator)
            except InputError as error:
                self.fail(f"row {row + 1}: {error}")
        else:
            labels, n_blank = drop_blank(value)
        block.n_blank_labels += n_blank
        return labels
