"""Sizes in a Parquet file, read before anything is decompressed, so that a small file cannot fill the memory.

A Parquet file ends with its metadata, the length of the metadata and the mark PAR1. The metadata lists the columns of
each group of rows, and a column is a sequence of pages. A page starts with a header that has its size before and after
decompression. Metadata and headers are structures in Thrift's compact protocol.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from labeltrees._files import open_regular, refuse_file
from labeltrees.data.limits import current_limits

_MARK = b"PAR1"
_MOST_METADATA_BYTES = 256 << 20
_HEADER_BYTES = 1 << 16  # of a page, with its statistics
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
    """Yield the size of each page of a column after decompression."""
    starts = [start for start in (column.get(9), column.get(11)) if isinstance(start, int) and start > 0]
    at = min(starts, default=0)
    n_left = column.get(7)
    if not starts or not isinstance(n_left, int) or n_left < 0 or at + n_left > size:
        message = "a column is outside the file"
        raise _Damaged(message)
    while n_left > 0:
        stream.seek(at)
        decoder = _Decoder(stream.read(min(_HEADER_BYTES, n_left)))
        header = decoder.structure()
        uncompressed, compressed = header.get(2), header.get(3)
        if not isinstance(uncompressed, int) or not isinstance(compressed, int) or min(uncompressed, compressed) < 0:
            message = "a page has no size"
            raise _Damaged(message)
        yield uncompressed
        at += decoder.at + compressed
        n_left -= decoder.at + compressed


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
