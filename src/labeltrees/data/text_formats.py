"""Formats of texts with labels: JSON lines, CSV, TSV, fastText and Annif, read in blocks of records."""

from __future__ import annotations

import csv
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NoReturn

from labeltrees._files import refuse_file
from labeltrees._validation import check_choice, refuse
from labeltrees.data.files import COMPRESSED, FilePath, open_any, read_lines
from labeltrees.data.limits import current_limits
from labeltrees.errors import FileFormatError, InputError, Phrase

FORMATS = ("jsonl", "csv", "tsv", "parquet", "fasttext", "annif")
LABEL_PREFIX = "__label__"
AUTO = "auto"  # the label separator is chosen from the first records of the file
DEFAULT_SEPARATOR = ","
_FORMAT_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
}
TEXT_SUFFIXES = tuple(_FORMAT_OF_SUFFIX)
# A line of Annif's TSV: a text, a tab, and URIs in angle brackets. A header of a TSV file does not look like this.
_ANNIF_LINE = re.compile(rb"[^\t]*\t\s*<[^<>\s]+>(\s+<[^<>\s]+>)*\s*")
_LONGEST_FIRST_LINE = 1 << 20
LABEL_SUFFIXES = (".tsv", ".key")
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MAX_FIELD_BYTES = 2**31 - 1


@dataclass(frozen=True)
class TextFields:
    """The fields that are read from a record.

    Parameters
    ----------
    text : tuple of str
        Fields whose strings, joined by a space, are the text.
    labels : str or None
        The field of the labels; None to read no labels.
    weight : str or None
        The field of the point's weight.
    label_separator : str
        Separates the labels in a field that is a string. "auto": a semicolon or a bar if most fields have it, else a
        comma.
    labels_required : bool
        Whether records must have the field of the labels.
    """

    text: tuple[str, ...] = ("text",)
    labels: str | None = "labels"
    weight: str | None = None
    label_separator: str = AUTO
    labels_required: bool = True

    def __post_init__(self) -> None:
        if not self.text or not all(isinstance(name, str) and name for name in self.text):
            refuse("text", "the name of a field, or several names", self.text)
        for name in ("labels", "weight"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                refuse(name, "the name of a field", value)
        if not isinstance(self.label_separator, str) or not self.label_separator or self.label_separator in '"\n\r':
            refuse("label_separator", "a string other than a quote or an end of line", self.label_separator)

    @classmethod
    def of(cls, text: str | Sequence[str], labels: str | None, weight: str | None, label_separator: str) -> TextFields:
        """Return the fields that a user has named; `text` may be one name."""
        return cls((text,) if isinstance(text, str) else tuple(text), labels, weight, label_separator)

    def without_labels(self) -> TextFields:
        """Return the fields for reading texts alone."""
        return replace(self, labels=None, weight=None)

    @property
    def names(self) -> list[str]:
        """All fields, each once."""
        names = [*self.text, *(name for name in (self.labels, self.weight) if name is not None)]
        return list(dict.fromkeys(names))


@dataclass
class TextBlock:
    """Some records of a file: their texts and, if they are read, label names and weights."""

    texts: list[str] = field(default_factory=list)
    labels: list[list[str]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    n_blank_labels: int = 0  # empty names, left out

    def extend(self, other: TextBlock) -> None:
        """Append the records of another block."""
        self.texts += other.texts
        self.labels += other.labels
        self.weights += other.weights
        self.n_blank_labels += other.n_blank_labels


def format_of(path: FilePath, format: str = "auto") -> str | None:
    """Return the format of a file of texts by its name (for .txt and .tsv also by its first line).

    None if it has no texts. A folder counts as a folder of documents in Annif's layout.
    """
    if format != "auto":
        return check_choice("format", format, FORMATS)
    if Path(path).is_dir():
        return "annif"
    suffix = suffix_of(Path(path))
    if suffix == ".tsv":
        with open_any(path) as stream:
            return "annif" if _ANNIF_LINE.fullmatch(stream.readline(_LONGEST_FIRST_LINE)) else "tsv"
    if suffix == ".txt":
        with open_any(path) as stream:
            return "fasttext" if stream.read(len(LABEL_PREFIX)) == LABEL_PREFIX.encode() else None
    return _FORMAT_OF_SUFFIX.get(suffix)


def suffix_of(path: Path) -> str:
    """Return the suffix of a file name, without that of its compression."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).suffix


def split_labels(text: str, separator: str) -> tuple[list[str], int]:
    r"""Return the labels in a string, and how many blank ones were left out.

    The string is a JSON list, or labels between separators. Spaces around a label are removed. A label that contains
    the separator is quoted, with the quotes in it doubled, as in CSV.

    Examples
    --------
    >>> split_labels('rice, "salt, pepper" ,"6"" pan"', ",")
    (['rice', 'salt, pepper', '6" pan'], 0)
    >>> split_labels('["rice", "salt, pepper"]', ",")
    (['rice', 'salt, pepper'], 0)
    """
    separator = DEFAULT_SEPARATOR if separator == AUTO else separator
    if text.startswith("[") and text.rstrip().endswith("]"):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return drop_blank(names)
    if not text.strip():
        return [], 0
    if '"' in text and len(separator) == 1:
        try:
            pieces = next(csv.reader([text], delimiter=separator, skipinitialspace=True))
        except csv.Error as error:
            message = f"labels cannot be split: {error}"
            raise InputError(message) from None
    else:
        pieces = text.split(separator)
    return drop_blank([piece.strip() for piece in pieces])


def drop_blank(names: Sequence[str | None]) -> tuple[list[str], int]:
    """Return the names that are not blank, and how many are.

    Examples
    --------
    >>> drop_blank(["rice", " ", None])
    (['rice'], 2)
    """
    kept = [name for name in names if name is not None and name.strip()]
    return kept, len(names) - len(kept)


def is_document_folder(path: FilePath) -> bool:
    """Whether a path is a folder with at least one document and its labels."""
    folder = Path(path)
    return folder.is_dir() and any(labels_file(document) is not None for document in folder.glob("*.txt"))


def labels_file(document: Path) -> Path | None:
    """Return the file with the labels of a document, None if it has none."""
    return next((file for suffix in LABEL_SUFFIXES if (file := document.with_suffix(suffix)).is_file()), None)


def read_documents(folder: FilePath, fields: TextFields, block_size: int) -> Iterator[TextBlock]:
    """Yield the documents of a folder in blocks, in the order of their names."""
    if fields.weight is not None:
        refuse_file(folder, "a folder of documents has no field for weights")
    documents = sorted(Path(folder).glob("*.txt"))
    if not documents:
        refuse_file(folder, "a folder without documents (NAME.txt)")
    block = TextBlock()
    for document in documents:
        block.texts.append("\n".join(read_lines(document)).removeprefix("\ufeff"))
        if fields.labels is not None:
            block.labels.append(_labels_of(document))
        if len(block.texts) >= block_size:
            yield block
            block = TextBlock()
    if block.texts:
        yield block


def _labels_of(document: Path) -> list[str]:
    """Return the URIs in NAME.tsv (``<uri>``, a tab, other columns), or the lines of NAME.key."""
    file = labels_file(document)
    lines = [] if file is None else read_lines(file)
    names = [line.removeprefix("\ufeff").partition("\t")[0].strip() for line in lines]
    return [plain_uri(name) for name in names if name]


def plain_uri(text: str) -> str:
    """Return a URI without the angle brackets around it.

    Examples
    --------
    >>> plain_uri("<http://example.org/cats>")
    'http://example.org/cats'
    """
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text


class LineReader(ABC):
    """Reads the records of an open file, a block of them at a time."""

    def __init__(self, path: FilePath, stream: IO[bytes], fields: TextFields, block_size: int) -> None:
        self.path, self.stream, self.fields, self.block_size = path, stream, fields, block_size
        self.line = 0
        self.row_bytes = 0  # of the lines read since the last reset, which CSV does after every row
        self.cells: list[str] | None = None  # if it is a list, it collects label strings, which are not split then
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
        if self.cells is not None:
            self.cells.append(text)
            return []
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
                there = ", ".join(map(repr, record))[:300]
                self.fail(f"{name!r} is missing; the fields are {there}", Phrase.GIVE_FIELDS)
        texts = [record[name] for name in fields.text]
        for name, text in zip(fields.text, texts, strict=True):
            if not isinstance(text, str):
                self.fail(f"{name!r} is not a string")
        labels = record.get(fields.labels) if fields.labels is not None else None
        if labels is None and fields.labels is not None and not fields.labels_required:
            labels = []
        if fields.labels is not None:
            if isinstance(labels, str):
                labels = self.split(labels)
            if not isinstance(labels, list) or not all(isinstance(name, str) for name in labels):
                self.fail(f"{fields.labels!r} is not a list of strings, nor a string")
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
    """CSV: a header with the names of the fields, then one record per row; fields may be quoted."""

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
        """Yield the lines; refuse a row that is too long, such as one whose quoted field does not end."""
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
    """TSV: like CSV, with tabs between the fields."""

    separator = "\t"


LINE_READERS: dict[str, type[LineReader]] = {
    "jsonl": JsonLinesReader,
    "fasttext": FastTextReader,
    "csv": CsvReader,
    "tsv": TsvReader,
    "annif": AnnifReader,
}
