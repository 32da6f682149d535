"""What is read of a file of texts: which fields, in which form, and how a string of labels is split."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labeltrees._validation import check_choice, refuse
from labeltrees.data.files import COMPRESSED, FilePath, open_any
from labeltrees.errors import InputError

FORMS = ("jsonl", "csv", "tsv", "parquet", "fasttext")
LABEL_PREFIX = "__label__"
_FORM_OF_ENDING = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
}
TEXT_ENDINGS = tuple(_FORM_OF_ENDING)


@dataclass(frozen=True)
class TextFields:
    """Which fields of a record are read.

    Parameters
    ----------
    text : tuple of str
        Fields whose strings, joined by a blank, are the text.
    labels : str or None
        The field of the labels; None: they are not read.
    weight : str or None
        The field of the point's weight.
    label_separator : str
        Between the labels of a field that is a string.
    labels_required : bool
        Whether the field of the labels must be there.
    """

    text: tuple[str, ...] = ("text",)
    labels: str | None = "labels"
    weight: str | None = None
    label_separator: str = ","
    labels_required: bool = True

    def __post_init__(self) -> None:
        if not self.text or not all(isinstance(name, str) and name for name in self.text):
            refuse("text", "the name of a field, or several", self.text)
        for name in ("labels", "weight"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                refuse(name, "the name of a field", value)
        if not isinstance(self.label_separator, str) or not self.label_separator or self.label_separator in '"\n\r':
            refuse("label_separator", "a string, and no quote or end of line", self.label_separator)

    @classmethod
    def of(cls, text: str | Sequence[str], labels: str | None, weight: str | None, label_separator: str) -> TextFields:
        """Take fields as a user names them."""
        return cls((text,) if isinstance(text, str) else tuple(text), labels, weight, label_separator)

    @property
    def names(self) -> list[str]:
        """All fields, each once."""
        names = [*self.text, *(name for name in (self.labels, self.weight) if name is not None)]
        return list(dict.fromkeys(names))


@dataclass
class TextBlock:
    """Some records of a file: their texts and, where they were asked for, names of labels and weights."""

    texts: list[str] = field(default_factory=list)
    labels: list[list[str]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    n_blank_labels: int = 0  # names that were empty and left out


def form_of(path: FilePath, form: str = "auto") -> str | None:
    """Return the form of a file of texts by its name (or, for .txt, its first line); None if it is none of them."""
    if form != "auto":
        return check_choice("format", form, FORMS)
    ending = ending_of(Path(path))
    if ending == ".txt":
        with open_any(path) as stream:
            return "fasttext" if stream.read(len(LABEL_PREFIX)) == LABEL_PREFIX.encode() else None
    return _FORM_OF_ENDING.get(ending)


def ending_of(path: Path) -> str:
    """Return how a file's name ends, compression aside."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).suffix


def split_labels(text: str, separator: str) -> tuple[list[str], int]:
    r"""Return the labels in a string, and how many were blank and left out.

    A list in JSON is one. Otherwise labels stand between separators, without the blanks around them; one that holds a
    separator is in quotes, quotes in it are doubled, as in CSV.

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
            kept = [name for name in names if name.strip()]
            return kept, len(names) - len(kept)
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
    names = [piece.strip() for piece in pieces]
    kept = [name for name in names if name]
    return kept, len(names) - len(kept)
