"""Output formats of `labeltrees predict`: lines of TSV or JSON, or one file per document."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees._files import replacing_file
from labeltrees._matrices import Float32s, Int64s
from labeltrees.cli.output import no_formula
from labeltrees.errors import InputError

DOCUMENT_SUFFIX = ".annif"


class DocumentFiles:
    """Writes the labels of each document NAME.txt to a file NAME.annif in a folder, as ``annif index`` does.

    A file has one line per label, separated by tabs: the label in angle brackets, its title and its score.

    Parameters
    ----------
    documents : list of paths
        In the order in which `write` gets their labels.
    folder : path
        Created if missing.
    names : array of label names, or None
    titles : function from a label id to its title, or None
    """

    def __init__(
        self, documents: list[Path], folder: str, names: Any, titles: Callable[[int], str | None] | None
    ) -> None:
        self._documents, self._folder, self._names, self._titles = iter(documents), Path(folder), names, titles
        if self._folder.exists() and not self._folder.is_dir():
            message = f"{folder}: is a file; one result file per document needs a folder"
            raise InputError(message)
        self._folder.mkdir(exist_ok=True)

    def write(self, labels: Int64s, scores: Float32s, _no_features: Any = None, _unsure: Any = None) -> None:
        """Write the files of the next documents."""
        for row, own in zip(labels.tolist(), scores.tolist(), strict=True):
            lines = [self._line(label, score) for label, score in zip(row, own, strict=True) if label >= 0]
            target = self._folder / f"{next(self._documents).stem}{DOCUMENT_SUFFIX}"
            with replacing_file(target) as stream:
                stream.write("".join(lines).encode())

    def _line(self, label: int, score: float) -> str:
        name = str(label) if self._names is None else self._names[label].translate(_ESCAPES)
        title = None if self._titles is None else self._titles(label)
        return f"<{name}>\t{(title or '').translate(_ESCAPES)}\t{score:.6g}\n"


_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_CONTROLS = (*range(32), *range(127, 160))  # a terminal could interpret them
_SHOWN = {"tsv": {code: f"\\x{code:02x}" for code in _CONTROLS}, "jsonl": {c: f"\\u{c:04x}" for c in _CONTROLS}}


class AnswerLines:
    r"""Formats labels and scores as lines.

    "tsv" is label, score, label, score, ... separated by tabs; a backslash, tab or line break inside a name is written
    as ``\\``, ``\t``, ``\n`` or ``\r``, and a name that a spreadsheet would read as a formula starts with a backslash.
    On a terminal, other control characters are escaped, for example as ``\x1b``. "jsonl" is
    ``{"labels": [...], "scores": [...]}``. Labels are names, or ids if they have no names; scores have six significant
    digits.

    `titles` returns the title of a label id: "tsv" has it after the label, and "jsonl" has ``"texts": [...]``. `above`
    returns the broader labels of a label id: if `titles` is given too, "jsonl" has ``"broader": [[...], ...]``, their
    titles.

    Examples
    --------
    >>> lines = AnswerLines(np.array(["red", "blue"], dtype=object), "tsv")
    >>> lines.encode(np.array([[1, 0], [0, -1]]), np.array([[0.9, 0.25], [0.5, 0.0]], np.float32))
    b'blue\t0.9\tred\t0.25\nred\t0.5\n'
    """

    def __init__(
        self,
        names: Any,
        form: str,
        titles: Callable[[int], str | None] | None = None,
        *,
        above: Callable[[int], list[int]] | None = None,
        terminal: bool = False,
    ) -> None:
        self._names, self.is_json, self._titles = names, form == "jsonl", titles
        self._above = above if self.is_json and titles is not None else None
        self._shown = _SHOWN[form] if terminal else {}

    def encode(self, labels: Int64s, scores: Float32s, no_features: Any = None, unsure: Any = None) -> bytes:
        """Return the lines for labels (n, k), best first and padded with -1, and their scores (n, k).

        JSON marks points without features that the model knows, `no_features` (n,), and points that got a broader label
        because no label reached the threshold, `unsure` (n,).
        """
        # One format string for all lines takes half the time of formatting line by line.
        k = labels.shape[1]
        found = labels >= 0
        counts = found.sum(axis=1).tolist()
        line = self._json_line if self.is_json else self._tsv_line
        formats = [line(count) for count in range(k + 1)]
        columns = [self._texts(labels), *([] if self._titles is None else [self._title_texts(labels)]), scores]
        if self._above is not None:
            columns.insert(2, self._broader_texts(labels))
        values = np.empty((len(labels), len(columns) * k), dtype=object)
        keep = np.empty(values.shape, dtype=bool)
        for number, column in enumerate(columns):
            # JSON has one column after the other; TSV interleaves them.
            at = slice(number * k, (number + 1) * k) if self.is_json else slice(number, None, len(columns))
            values[:, at], keep[:, at] = column, found
        shapes = [formats[count] for count in counts]
        for row in [] if no_features is None else np.flatnonzero(no_features).tolist():
            shapes[row] = shapes[row].replace("}\n", ', "no_features": true}\n')
        for row in [] if unsure is None or not self.is_json else np.flatnonzero(unsure).tolist():
            shapes[row] = shapes[row].replace("}\n", ', "unsure": true}\n')
        return ("".join(shapes) % tuple(values[keep].tolist())).encode("utf-8")

    def _tsv_line(self, count: int) -> str:
        answer = "%s\t%.6g" if self._titles is None else "%s\t%s\t%.6g"
        return "\t".join([answer] * count) + "\n"

    def _json_line(self, count: int) -> str:
        strings, numbers = ", ".join(["%s"] * count), ", ".join(["%.6g"] * count)
        texts = "" if self._titles is None else f'"texts": [{strings}], '
        broader = "" if self._above is None else f'"broader": [{strings}], '
        return f'{{"labels": [{strings}], {texts}{broader}"scores": [{numbers}]}}\n'

    def _texts(self, labels: Int64s) -> Any:
        """Return the text of each label; every distinct label is formatted once."""
        distinct, place = np.unique(labels, return_inverse=True)
        called = (distinct if self._names is None else self._names[distinct]).tolist()
        written = np.empty(len(distinct), dtype=object)
        written[:] = list(map(str if self._names is None else self._writer(), called))
        return written[place.reshape(labels.shape)]

    def _title_texts(self, labels: Int64s) -> Any:
        """Return the title of each label; a label without one has an empty field, or null."""
        assert self._titles is not None
        distinct, place = np.unique(labels, return_inverse=True)
        titles = [self._titles(label) if label >= 0 else None for label in distinct.tolist()]
        written = np.empty(len(distinct), dtype=object)
        writer = self._writer()
        written[:] = [writer(title if self.is_json else title or "") for title in titles]
        return written[place.reshape(labels.shape)]

    def _broader_texts(self, labels: Int64s) -> Any:
        """Return the titles of the labels above each label, the nearest first, as JSON."""
        assert self._above is not None
        assert self._titles is not None
        distinct, place = np.unique(labels, return_inverse=True)
        written = np.empty(len(distinct), dtype=object)
        for number, label in enumerate(distinct.tolist()):
            above = self._above(label) if label >= 0 else []
            shown = (
                _as_json(self._titles(other) or str(other if self._names is None else self._names[other]))
                for other in above
            )
            written[number] = f"[{', '.join(text.translate(self._shown) for text in shown)}]"
        return written[place.reshape(labels.shape)]

    def _writer(self) -> Callable[[Any], str]:
        form = _as_json if self.is_json else _as_tsv
        return (lambda name: form(name).translate(self._shown)) if self._shown else form


def _as_json(name: str | None) -> str:
    return json.dumps(name, ensure_ascii=False)


def _as_tsv(name: str) -> str:
    return no_formula(name.translate(_ESCAPES))
