"""Label names. Names in a file are decoded on demand, and the index by name is built on first use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees import _core
from labeltrees._names import did_you_mean, nfc
from labeltrees._validation import refuse
from labeltrees.data.label_sets import NUMBERS, SETS
from labeltrees.errors import FileFormatError, InputError
from labeltrees.storage import decode_names, encode_names

Names = NDArray[np.object_]


class LabelNames:
    """The names of labels 0 to n - 1, all different.

    Examples
    --------
    >>> import numpy as np
    >>> names = LabelNames(np.array(["ant", "bee"], dtype=object))
    >>> names.take(np.array([[1, -1]])).tolist()
    [['bee', None]]
    >>> names.ids("candidates", ["bee", "ant"]).tolist()
    [1, 0]
    """

    array: Names
    kind: str = SETS  # other kinds, "classes" and "numbers": one label per point, one-dimensional predictions
    _source: str = "label names"

    def __init__(self, names: Names, kind: str = SETS) -> None:
        self.array = names
        self.kind = kind

    @property
    def classes(self) -> NDArray[Any]:
        """The labels as they were given: names, or integers."""
        return self.array.astype(np.int64) if self.kind == NUMBERS else self.array

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def position(self) -> dict[str, int]:
        """The id of each label by its name in the Unicode form NFC."""
        return {nfc(name): label for label, name in enumerate(self.array.tolist())}

    @cached_property
    def native(self) -> _core.Names:
        """The names for native code."""
        return _core.Names(*self.to_arrays(), self._source)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("position", "native")}

    def to_arrays(self) -> tuple[Any, Any]:
        """Return the names as arrays, in the form of `encode_names`."""
        return encode_names(self.array.tolist())

    def take(self, labels: NDArray[np.int64]) -> Names:
        """Return the names of `labels`, an array of any shape; None for -1. Labels fitted as integers stay integers."""
        found = labels >= 0
        if self.kind == NUMBERS:
            numbers = np.full(labels.shape, None, dtype=object)
            numbers[found] = self.classes[labels[found]]
            return numbers
        if found.all():
            return self._of(labels.ravel()).reshape(labels.shape)
        names = np.full(labels.shape, None, dtype=object)
        names[found] = self._of(labels[found])
        return names

    def _of(self, labels: NDArray[np.int64]) -> Names:
        return self.array[labels]

    def ids(self, what: str, lists: Any) -> Any:
        """Return the ids of label names in a list, or in a list of lists; ids and matrices are returned unchanged."""
        if sparse.issparse(lists) or not _is_list(lists):
            return lists  # None, a matrix or a prepared label set
        if isinstance(lists, np.ndarray) and lists.dtype.kind in "iu" and self.kind != NUMBERS:
            return lists
        entries = list(lists)
        if not any(_is_list(entry) for entry in entries):
            return self._ids(what, entries)
        return [self._ids(f"{what}[{row}]", entry) for row, entry in enumerate(entries)]

    def _ids(self, where: str, names: Any) -> Any:
        if not _is_list(names):
            refuse(where, "a list of labels", names)
        names = list(names)
        if self.kind == NUMBERS:
            names = [str(name) for name in names]
        if not any(isinstance(name, str) for name in names):
            return names
        for name in names:
            if not isinstance(name, str) or nfc(name) not in self.position:
                self.refuse(where, name)
        return np.array([self.position[nfc(name)] for name in names], dtype=np.int64)

    def refuse(self, where: str, name: Any) -> NoReturn:
        """Raise `InputError` for a label that the model does not know, and suggest similar names."""
        raise InputError.of_value(
            where, "names of labels that the model knows", name, hint=did_you_mean(name, self.array)
        )


class StoredNames(LabelNames):
    """Names from a file, as the two arrays of `encode_names`.

    Each name is decoded and checked when it is first used, so that a model with ten million labels opens in
    milliseconds.
    """

    def __init__(self, text: Any, ends: Any, source: str) -> None:
        if text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1 or len(ends) < 1:
            message = f"{source}: the label names are damaged"
            raise FileFormatError(message)
        self._text, self._ends, self._source = text, ends, source
        self._known: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    @cached_property
    def array(self) -> Names:  # type: ignore[override]
        """All names (n,)."""
        names = np.array(decode_names(self._text, self._ends, self._source), dtype=object)
        names.flags.writeable = False
        return names

    def to_arrays(self) -> tuple[Any, Any]:
        """Return the two arrays."""
        return self._text, self._ends

    def _of(self, labels: NDArray[np.int64]) -> Names:
        if "array" in self.__dict__:
            return self.array[labels]
        wanted = labels.tolist()
        try:
            names = list(map(self._known.__getitem__, wanted))
        except KeyError:
            for label in set(wanted) - self._known.keys():
                self._known[label] = self._decode(label)
            names = list(map(self._known.__getitem__, wanted))
        return np.array(names, dtype=object)

    def _decode(self, label: int) -> str:
        start, end = int(self._ends[label]), int(self._ends[label + 1])
        if not 0 <= start <= end <= len(self._text):
            message = f"{self._source}: the name of label {label} is damaged"
            raise FileFormatError(message)
        try:
            return str(self._text[start:end].tobytes(), "utf-8")
        except UnicodeDecodeError:
            message = f"{self._source}: a name is not UTF-8"
            raise FileFormatError(message) from None


def column_names(Y: Any) -> LabelNames | None:
    """Return the label names of Y if it is the Y of a Dataset with label names, otherwise None."""
    names = getattr(Y, "label_names", None)
    return None if names is None else LabelNames(names)


def _is_list(value: Any) -> bool:
    is_scalar = isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return isinstance(value, Iterable) and not is_scalar
