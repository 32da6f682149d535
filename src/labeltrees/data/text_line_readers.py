"""Readers of texts in lines: JSON lines, CSV, TSV, fastText and Annif. Errors name the line."""

from __future__ import annotations

import csv
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import IO, Any, NoReturn

from labeltrees.data.annif_folder import plain_uri
from labeltrees.data.files import FilePath
from labeltrees.data.limits import current_limits
from labeltrees.data.text_formats import LABEL_PREFIX, TextBlock, TextFields, drop_blank, split_labels
from labeltrees.errors import FileFormatError, InputError, Phrase

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MAX_FIELD_BYTES = 2**31 - 1


class LineReader(ABC):
    """Reads the records of an open file, a block of them at a time."""

    def __init__(self, path: FilePath, stream: IO[bytes], fields: TextFields, block_size: int) -> None:
        self.path, self.stream, self.fields, self.block_size = path, stream, fields, block_size
        self.line = 0
        self.row_bytes = 0  # of the lines read since it was set to 0
        self.block = TextBlock()

    def fail(self, fault: str, next_step: Phrase | None = None, line: int | None = None) -> NoReturn:
        """Raise the error for a fault in a line, by default the last one read."""
        message = f"{self.path}, line {self.line if line is None else line}: {fault}"
        raise FileFormatError(message, next_step=next_step, about=("text", "labels"))

    def blocks(self) -> Iterator[TextBlock]:
        """Yield the records in blocks."""
        for _ in self.add_records():
            if len(self.block.texts) >= self.block_size:
                yield self.block
                self.block = TextBlock()
        if self.block.texts:
            yield self.block

    @abstractmethod
    def add_records(self) -> Iterator[None]:
        """Add one record per step to the block."""

    def lines(self) -> Iterator[str]:
        """Yield the lines as strings, with their line ends."""
        for raw in self.stream:
            self.line += 1
            self.row_bytes += len(raw)
            if self.line == 1:
                if raw.startswith(_UTF16):
                    self.fail("the file is in UTF-16; it must be UTF-8")
                raw = raw.removeprefix(_BOM)
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as error:
                self.fail(f"not UTF-8 text (byte {error.start + 1} of the line)")

    def add(self, texts: list[str], labels: list[str] | None, weight: Any) -> None:
        """Add one record."""
        self.block.texts.append(texts[0] if len(texts) == 1 else " ".join(text for text in texts if text))
        if self.fields.labels is not None:
            self.block.labels.append(labels or [])
        if self.fields.weight is not None:
            self.block.weights.append(self.number(weight))

    def number(self, weight: Any) -> float:
        """Return a weight as a number."""
        try:
            value = math.nan if isinstance(weight, bool) else float(weight)
        except (TypeError, ValueError):
            value = math.nan
        if not 0 <= value < math.inf:
            self.fail(f"{self.fields.weight!r} is not a number >= 0")
        return value

    def split(self, text: str) -> list[str]:
        """Return the labels in a string."""
        try:
            labels, n_blank = split_labels(text, self.fields.label_separator)
        except InputError as error:
            self.fail(str(error))
        self.block.n_blank_labels += n_blank
        return labels


class JsonLinesReader(LineReader):
    """One JSON object per line; blank lines are skipped."""

    def add_records(self) -> Iterator[None]:
        """Add one record per step to the block."""
        for raw in self.stream:
            self.line += 1
            if self.line == 1:
                raw = raw.removeprefix(_BOM)
            if not raw.strip():
                continue
            try:
                record = json.loads(raw)
            except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or nested too deeply
                self.fail(f"not a line of JSON ({error})")
            self.add_record(record)
            yield

    def add_record(self, record: Any) -> None:
        """Check and add one object."""
        fields = self.fields
        if not isinstance(record, dict):
            self.fail(f"not an object with {' and '.join(map(repr, fields.names))}")
        for name in fields.names:
            if name not in record and (name != fields.labels or fields.labels_required):
                self.fail(f"{name!r} is missing", Phrase.GIVE_FIELDS)
        texts = [record[name] for name in fields.text]
        for name, text in zip(fields.text, texts, strict=True):
            if not isinstance(text, str):
                self.fail(f"{name!r} is not a string")
        labels = record.get(fields.labels) if fields.labels is not None else None
        if labels is None and fields.labels is not None and not fields.labels_required:
            labels = []
        if fields.labels is not None:
            if not isinstance(labels, list) or not all(isinstance(name, str) for name in labels):
                self.fail(f"{fields.labels!r} is not a list of strings")
            labels, n_blank = drop_blank(labels)
            self.block.n_blank_labels += n_blank
        self.add(texts, labels, None if fields.weight is None else record[fields.weight])


class FastTextReader(LineReader):
    """fastText's format: words, of which those with the prefix __label__ are labels. An empty line is an empty text."""

    def add_records(self) -> Iterator[None]:
        """Add one record per step to the block."""
        if self.fields.weight is not None:
            self.fail("fastText's format has no field for weights", line=1)
        for line in self.lines():
            words, labels = [], []
            for word in line.split():
                if word.startswith(LABEL_PREFIX):
                    labels.append(word[len(LABEL_PREFIX) :])
                else:
                    words.append(word)
            if not all(labels):
                self.fail(f"{LABEL_PREFIX} without a name")
            self.add([" ".join(words)], labels, None)
            yield


class AnnifReader(LineReader):
    """Annif's TSV: a text, a tab, and URIs separated by spaces, usually in angle brackets; no header."""

    def add_records(self) -> Iterator[None]:
        """Add one record per step to the block."""
        if self.fields.weight is not None:
            self.fail("Annif's format has no field for weights", line=1)
        for line in self.lines():
            text, tab, uris = line.rstrip("\r\n").partition("\t")
            if not line.strip():
                continue
            if not tab and self.fields.labels is not None and self.fields.labels_required:
                self.fail("no tab between the text and its URIs")
            self.add([text], [plain_uri(uri) for uri in uris.split()], None)
            yield


class CsvReader(LineReader):
    """CSV: a header with the names of the fields, then one record per row; quotes as in CSV."""

    separator = ","

    def add_records(self) -> Iterator[None]:
        """Add one record per step to the block."""
        csv.field_size_limit(max(_MAX_FIELD_BYTES, csv.field_size_limit()))  # texts may be longer than 128 kB
        rows = csv.reader(self.row_lines(), delimiter=self.separator, strict=True)
        first = 1  # the line where the row starts
        header: list[str] | None = None
        columns: dict[str, int] = {}
        while True:
            try:
                row = next(rows, None)
            except csv.Error as error:
                self.fail(f"{error} (in the row that starts here)", line=first)
            if row is None:
                break
            if header is None:
                header, columns = row, self.columns(row)
            elif row:
                if len(row) != len(header):
                    self.fail(f"{len(row)} fields, but the header has {len(header)}", line=first)
                self.add_row(row, columns)
                yield
            first = self.line + 1
            self.row_bytes = 0
        if header is None:
            message = f"{self.path}: the file is empty; it must have a header"
            raise FileFormatError(message)

    def row_lines(self) -> Iterator[str]:
        """Yield the lines; refuse a quoted field that does not end."""
        limits = current_limits()
        for line in self.lines():
            if self.row_bytes > limits.line_bytes:
                limits.refuse_line(self.path, self.line)
            yield line

    def columns(self, header: list[str]) -> dict[str, int]:
        """Return the column of each field."""
        columns = {}
        for name in self.fields.names:
            if name not in header:
                if name == self.fields.labels and not self.fields.labels_required:
                    continue
                columns_there = ", ".join(map(repr, header))[:300]
                self.fail(f"no column {name!r}; the columns are {columns_there}", Phrase.GIVE_COLUMNS)
            if header.count(name) > 1:
                self.fail(f"the column {name!r} occurs twice")
            columns[name] = header.index(name)
        return columns

    def add_row(self, row: list[str], columns: dict[str, int]) -> None:
        """Add one row."""
        fields = self.fields
        labels = self.split(row[columns[fields.labels]]) if fields.labels in columns else None
        weight = None if fields.weight is None else row[columns[fields.weight]]
        self.add([row[columns[name]] for name in fields.text], labels, weight)


class TsvReader(CsvReader):
    """TSV."""

    separator = "\t"


LINE_READERS: dict[str, type[LineReader]] = {
    "jsonl": JsonLinesReader,
    "fasttext": FastTextReader,
    "csv": CsvReader,
    "tsv": TsvReader,
    "annif": AnnifReader,
}
