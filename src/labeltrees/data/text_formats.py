"""Formats of text files, the fields read from their records, and labels that come as one string."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeltrees._validation import check_choice, refuse
from labeltrees.data.files import COMPRESSED, FilePath, open_any
from labeltrees.errors import InputError

FORMATS = ("jsonl", "csv", "tsv", "parquet", "fasttext", "annif")
LABEL_PREFIX = "__label__"
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
        Separates the labels in a field that is a string.
    labels_required : bool
        Whether records must have the field of the labels.
    """

    text: tuple[str, ...] = ("text",)
    labels: str | None = "labels"
    weight: str | None = None
    label_separator: str = ","
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

    None if it has no texts. A folder is a folder of documents, as Annif has them.
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
