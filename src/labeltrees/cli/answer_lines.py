"""Predictions as lines of text, one line per point."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from labeltrees._matrices import Float32s, Int64s

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class AnswerLines:
    r"""Formats labels and scores as lines.

    "tsv" is label, score, label, score, ... separated by tabs; a backslash, tab or line break inside a name is written
    as ``\\``, ``\t``, ``\n`` or ``\r``. "jsonl" is ``{"labels": [...], "scores": [...]}``. Labels are names, or ids if
    they have no names; scores have six significant digits. With `titles`, the function from a label to what people call
    it, "tsv" has the title after the label, and "jsonl" has ``"texts": [...]``.

    Examples
    --------
    >>> lines = AnswerLines(np.array(["red", "blue"], dtype=object), "tsv")
    >>> lines.encode(np.array([[1, 0], [0, -1]]), np.array([[0.9, 0.25], [0.5, 0.0]], np.float32))
    b'blue\t0.9\tred\t0.25\nred\t0.5\n'
    """

    def __init__(self, names: Any, form: str, titles: Callable[[int], str | None] | None = None) -> None:
        self._names, self._is_json, self._titles = names, form == "jsonl", titles

    def encode(self, labels: Int64s, scores: Float32s) -> bytes:
        """Return the lines for labels (n, k), best first and padded with -1, and their scores (n, k)."""
        # One format string for all lines takes half the time of formatting line by line.
        k = labels.shape[1]
        found = labels >= 0
        counts = found.sum(axis=1).tolist()
        line = self._json_line if self._is_json else self._tsv_line
        formats = [line(count) for count in range(k + 1)]
        columns = [self._texts(labels), *([] if self._titles is None else [self._title_texts(labels)]), scores]
        values = np.empty((len(labels), len(columns) * k), dtype=object)
        keep = np.empty(values.shape, dtype=bool)
        for number, column in enumerate(columns):
            # The parts of a line are next to each other in JSON, and take turns in TSV.
            at = slice(number * k, (number + 1) * k) if self._is_json else slice(number, None, len(columns))
            values[:, at], keep[:, at] = column, found
        return ("".join([formats[count] for count in counts]) % tuple(values[keep].tolist())).encode("utf-8")

    def _tsv_line(self, count: int) -> str:
        answer = "%s\t%.6g" if self._titles is None else "%s\t%s\t%.6g"
        return "\t".join([answer] * count) + "\n"

    def _json_line(self, count: int) -> str:
        strings, numbers = ", ".join(["%s"] * count), ", ".join(["%.6g"] * count)
        texts = "" if self._titles is None else f'"texts": [{strings}], '
        return f'{{"labels": [{strings}], {texts}"scores": [{numbers}]}}\n'

    def _texts(self, labels: Int64s) -> Any:
        """Return the text of each label; every distinct label is formatted once."""
        distinct, place = np.unique(labels, return_inverse=True)
        called = (distinct if self._names is None else self._names[distinct]).tolist()
        written = np.empty(len(distinct), dtype=object)
        written[:] = list(map(self._writer(), called))
        return written[place.reshape(labels.shape)]

    def _title_texts(self, labels: Int64s) -> Any:
        """Return the title of each label; a label without one has an empty field, or null."""
        assert self._titles is not None
        distinct, place = np.unique(labels, return_inverse=True)
        titles = [self._titles(label) if label >= 0 else None for label in distinct.tolist()]
        written = np.empty(len(distinct), dtype=object)
        written[:] = [_as_json(title) if self._is_json else _as_tsv(title or "") for title in titles]
        return written[place.reshape(labels.shape)]

    def _writer(self) -> Callable[[Any], str]:
        if self._names is None:
            return str
        return _as_json if self._is_json else _as_tsv


def _as_json(name: str | None) -> str:
    return json.dumps(name, ensure_ascii=False)


def _as_tsv(name: str) -> str:
    return name.translate(_ESCAPES)
