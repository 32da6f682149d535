"""Arrays of evidence: sparse rows of 16-bit values, and checks of arrays read from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from labeltrees.errors import FileFormatError

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s, UInt16s

LARGEST = 1e6  # maximum magnitude of weights and biases


class ShortRows(NamedTuple):
    """Sparse rows: row i has the `columns` and `values` from ``indptr[i]`` to ``indptr[i + 1]``.

    Values are the upper 16 bits of float32 (8 bits of precision): see `to_short` and `from_short`.
    """

    indptr: Int64s
    columns: Int32s
    values: UInt16s

    def is_sound(self, n_rows: int, n_columns: int, largest: float = 1.0) -> bool:
        """Return whether native code can trust the rows: a file may contain anything."""
        if self.values.dtype != np.uint16 or self.values.shape != self.columns.shape:
            return False
        in_range = bool(((self.values & 0x7FFF) <= int(to_short([largest])[0])).all())
        return in_range and rows_are_sound(self.indptr, self.columns, n_rows, n_columns)


def rows_are_sound(indptr: Any, columns: Any, n_rows: int, n_columns: int) -> bool:
    """Return whether `indptr` and `columns` describe `n_rows` sparse rows with columns below `n_columns`."""
    if indptr.dtype != np.int64 or indptr.shape != (n_rows + 1,) or columns.dtype != np.int32 or columns.ndim != 1:
        return False
    if not (indptr.flags.c_contiguous and columns.flags.c_contiguous):
        return False
    if indptr[0] != 0 or indptr[-1] != len(columns) or (np.diff(indptr) < 0).any():
        return False
    return len(columns) == 0 or bool(columns.min() >= 0 and columns.max() < n_columns)


def to_short(values: Any) -> UInt16s:
    """Return float32 values rounded to their upper 16 bits."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return np.asarray((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, dtype=np.uint16)


def from_short(values: UInt16s) -> Float32s:
    """Return float32 values from their upper 16 bits.

    Examples
    --------
    >>> from_short(to_short([1.0, -0.5, 0.3])).tolist()
    [1.0, -0.5, 0.30078125]
    """
    return np.asarray(values.astype(np.uint32) << 16).view(np.float32)


def strongest_entries(indptr: Any, columns: Any, values: Any, n_kept: int) -> ShortRows:
    """Return sparse rows with the `n_kept` entries of largest magnitude of each row; ties keep the first entries.

    Examples
    --------
    >>> strongest_entries(np.array([0, 3]), np.array([2, 5, 7]), np.array([0.5, -1.0, 0.25]), 2).columns
    array([2, 5], dtype=int32)
    """
    kept = np.ones(len(columns), dtype=bool)
    spans = list(pairwise(indptr.tolist()))
    for row in np.flatnonzero(np.diff(indptr) > n_kept).tolist():
        start, end = spans[row]
        size = np.abs(values[start:end])
        limit = np.partition(size, end - start - n_kept)[end - start - n_kept]
        keep = size > limit
        keep[np.flatnonzero(size == limit)[: n_kept - int(np.count_nonzero(keep))]] = True
        kept[start:end] = keep
    ends = np.concatenate([[0], np.cumsum(kept)])[indptr].astype(np.int64)
    return ShortRows(ends, columns[kept].astype(np.int32), to_short(values[kept]))


def named_rows(name: str, rows: ShortRows) -> dict[str, Any]:
    """Return the arrays of rows by their names in a file."""
    return {f"{name}.{part}": array for part, array in rows._asdict().items()}


@dataclass(frozen=True)
class SavedKind:
    """The numbers and arrays of one kind of evidence in a file, not yet checked."""

    name: str
    parameters: Any
    files: Mapping[str, Any]
    prefix: str
    n_labels: int
    n_features: int
    source: str
    scoring: Mapping[str, Any]

    def fail(self, fault: str) -> NoReturn:
        """Raise `FileFormatError` for a fault."""
        message = f"{self.source}: the evidence is damaged: {self.name}{fault}"
        raise FileFormatError(message)

    def check_keys(self, keys: set[str]) -> None:
        """Refuse parameters whose names are not exactly `keys`."""
        if not isinstance(self.parameters, dict) or set(self.parameters) != keys:
            self.fail(f"its parameters must be {', '.join(sorted(keys))}")

    def check_weight(self) -> None:
        """Refuse a weight that is not a number in [0, 1e6]."""
        weight = self.parameters.get("weight") if isinstance(self.parameters, dict) else None
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= LARGEST:
            self.fail("the weight must be a number from 0 to 1e6")

    def check_count(self, name: str) -> None:
        """Refuse a parameter that is not a positive 32-bit integer."""
        if type(self.parameters[name]) is not int or not 1 <= self.parameters[name] < 2**31:
            self.fail(f"{name} must be a count")

    def values(self, *names: str) -> dict[str, Any]:
        """Return some parameters."""
        return {name: self.parameters[name] for name in names}

    def array(self, name: str) -> Any:
        """Return an array by name; refuse a missing one."""
        if self.prefix + name not in self.files:
            self.fail(f"the array {self.prefix}{name} is missing")
        return self.files[self.prefix + name]

    def biases(self, name: str) -> Any:
        """Return the biases, one per label."""
        bias = self.array(f"{name}.bias")
        if bias.dtype != np.float32 or bias.shape != (self.n_labels,) or not (abs(bias) < LARGEST).all():
            self.fail(f"the biases of the {name} are not sound")
        return bias

    def rows(self, name: str) -> ShortRows:
        """Return sparse rows by name, not yet checked."""
        return ShortRows(*(self.array(f"{name}.{part}") for part in ShortRows._fields))
