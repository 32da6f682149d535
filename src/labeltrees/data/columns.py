"""Columns and tables of pandas, polars and Arrow as plain lists, and checks for missing values.

No table library is imported, except polars for an Arrow array or stream that has no other interface.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from labeltrees._extras import import_extra
from labeltrees._validation import refuse
from labeltrees.errors import InputError

SEPARATORS = (";", "|")  # of labels in one cell; a comma is the default of files
_MISSING_TYPES = ("NAType", "NaTType")
_MOST_CELLS = 1000  # cells that decide the separator
_SOME = 0.05  # share of the cells that is enough for a hint


def is_table(value: Any) -> bool:
    """Whether a value is a table with named columns: a data frame, an Arrow table, or an Arrow stream of one."""
    if isinstance(value, Sequence | np.ndarray) or is_column(value):
        return False
    return hasattr(value, "columns") or hasattr(value, "__arrow_c_stream__")


def is_column(value: Any) -> bool:
    """Whether a value is one column of a table: a Series of pandas or polars, or an Arrow array."""
    if hasattr(value, "columns"):
        return False
    is_series = hasattr(value, "to_list") and getattr(value, "ndim", 1) == 1
    return is_series or hasattr(value, "to_pylist") or hasattr(value, "__arrow_c_array__")


def column_list(value: Any) -> Any:
    """Return a column as a list of Python objects; anything else, including a list, is returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> column_list(np.array(["red", None], dtype=object)), column_list(["red"])
    (['red', None], ['red'])
    """
    if isinstance(value, list | tuple | str | bytes):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim == 1 and value.dtype.kind in "OUT" else value
    if not is_column(value):
        return value
    for name in ("to_list", "to_pylist"):
        if hasattr(value, name):
            return list(getattr(value, name)())
    polars = import_extra("polars", "logs", "reading an Arrow array")
    return polars.Series(value).to_list()


def table_columns(table: Any) -> list[str]:
    """Return the names of the columns of a table."""
    names = getattr(table, "column_names", None)
    return [str(name) for name in (table.columns if names is None else names)]


def as_table(value: Any) -> Any:
    """Return a table whose columns can be taken by name; an Arrow stream is read with polars."""
    if hasattr(value, "columns"):
        return value
    polars = import_extra("polars", "logs", "reading an Arrow table")
    return polars.DataFrame(value)


def column_of(table: Any, name: str) -> list[Any]:
    """Return a column of a table as a list; for an unknown name, the error lists the columns."""
    there = table_columns(table)
    if name not in there:
        columns = ", ".join(map(repr, there))[:300]
        message = f"the table has no column {name!r}; the columns are {columns}"
        raise InputError(message)
    return list(column_list(table[name]))


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or one of the missing values of pandas."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def check_no_missing(name: str, texts: Sequence[Any]) -> None:
    """Refuse missing texts; the error names the row."""
    if set(map(type, texts)) <= {str}:
        return
    for row, text in enumerate(texts):
        if is_missing(text):
            message = (
                f"{name}[{row}] must be a text, got {text!r}: leave the row out, or fill it with an empty text "
                f"(for a pandas column, column.fillna(''))"
            )
            raise InputError(message)


def find_separator(cells: Iterable[Any], candidates: Sequence[str] = SEPARATORS) -> tuple[str | None, str | None]:
    """Return the separator that most cells contain, and the one that more than 5% contain; None where there is none.

    Only texts count, the first 1,000 of them. Empty texts and JSON lists are ignored.

    Examples
    --------
    >>> find_separator(["rice;tea", "tea;milk", "milk"]), find_separator(["rice", "tea"])
    ((';', ';'), (None, None))
    """
    texts = []
    for cell in cells:
        if isinstance(cell, str) and cell.strip() and not cell.startswith("["):
            texts.append(cell)
        if len(texts) == _MOST_CELLS:
            break
    counts = {mark: sum(mark in text for text in texts) for mark in candidates}
    mark = max(counts, key=lambda candidate: counts[candidate], default=None)
    if mark is None or counts[mark] == 0:
        return None, None
    if 2 * counts[mark] > len(texts):
        return mark, mark
    return None, mark if counts[mark] > _SOME * len(texts) else None


def label_cells(cells: Sequence[Any]) -> list[Any]:
    """Return the cells of a column of labels: arrays and columns as lists, missing values as None."""
    plain = (str, list, tuple, set, frozenset)
    found: list[Any] = []
    for cell in cells:
        if isinstance(cell, np.ndarray):
            found.append(cell.tolist())
        elif isinstance(cell, plain) or not (is_missing(cell) or is_column(cell)):
            found.append(cell)
        else:
            found.append(None if is_missing(cell) else list(column_list(cell)))
    return found


def refuse_table(name: str, table: Any) -> NoReturn:
    """Refuse a table of texts where one column is needed."""
    first = (table_columns(as_table(table)) or ["title"])[0]
    refuse(name, f"one column of texts, such as table[{first!r}], or a matrix of numbers", "a table with texts")


def as_texts(X: Any) -> Sequence[str] | None:
    """Return `X` as a sequence of str if it is one (a list, a tuple, an array or a column of a table), else None."""
    if isinstance(X, str):
        refuse("X", "a sequence of texts, or a matrix", X)
    X = column_list(X)
    if not isinstance(X, list | tuple) or len(X) == 0:
        return None
    if not isinstance(X[0], str) and not (is_missing(X[0]) and any(isinstance(text, str) for text in X)):
        return None
    check_no_missing("X", X)
    return X


def kind_of_contexts(X: Any) -> str | None:
    """Return "texts" or "items" if `X` is texts, or lists or dicts of items; else None."""
    if isinstance(X, str | dict):
        return "texts" if isinstance(X, str) else "items"
    if as_texts(X) is not None:
        return "texts"
    X = column_list(X)
    if isinstance(X, list | tuple) and len(X) > 0:
        first = X[0]
        has_items = isinstance(first, list | tuple | set | frozenset) and any(isinstance(item, str) for item in first)
        if has_items or isinstance(first, dict):
            return "items"
    return None
