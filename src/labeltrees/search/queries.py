"""Checks on queries and label lists, so that native code can trust them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from labeltrees import _core
from labeltrees._matrices import sparse_features
from labeltrees._validation import check_integer, refuse
from labeltrees.errors import InputError

if TYPE_CHECKING:
    from labeltrees._core import Float32s, Int32s, Int64s


class LabelLists(NamedTuple):
    """Label ids for native code: one list for all queries (indptr None) or one per query."""

    indptr: Int64s | None
    labels: Int32s | None


NO_LISTS = LabelLists(None, None)
LARGEST_WEIGHT = 1e30  # of a label; far below the overflow of float32


def _is_sparse(X: Any) -> bool:
    return bool(sparse.issparse(X))


def _shared_rows(
    X: Any, n_threads: int, *, n_features: int | None = None, canonical: bool = False
) -> _core.QueryRows | None:
    """Return the rows of a float32 CSR matrix that native code can use without a copy; None for other matrices.

    Every attribute is read only once, because in a subclass it can be a property. Native code copies each row and
    checks it again before its search, because another thread may change the arrays in the meantime.
    """
    if not (_is_sparse(X) and X.format == "csr"):
        return None
    shape, indptr, features, values = X.shape, X.indptr, X.indices, X.data
    if len(shape) != 2 or not all(type(array) is np.ndarray for array in (indptr, features, values)):
        return None
    if values.dtype != np.float32 or features.dtype != np.int32 or indptr.dtype.kind != "i":
        return None
    if not (_is_aligned(values) and _is_aligned(features)) or len(features) != len(values) or indptr.ndim != 1:
        return None
    indptr = np.array(indptr, np.int64)
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != len(features) or np.any(indptr[1:] < indptr[:-1]):
        return None
    rows = _core.QueryRows(int(shape[0]), indptr, features, values)
    sound, rising = rows.check(int(shape[1]) if n_features is None else n_features, n_threads)
    return rows if sound and (rising or not canonical) else None


def _is_aligned(array: Any) -> bool:
    return bool(array.ndim == 1 and array.flags.c_contiguous and array.flags.aligned)


def is_sound(X: Any, n_threads: int = 1, *, canonical: bool = False) -> bool:
    """Return whether X is a float32 CSR matrix that native code can use without a copy.

    With `canonical`, the features of each row must also rise, so that none appears twice.
    """
    return _shared_rows(X, n_threads, canonical=canonical) is not None


def query_rows(X: Any, n_features: int, n_threads: int = 1) -> _core.QueryRows:
    """Return queries for native code: float32 CSR or dense rows of `n_features` finite values."""
    if _is_sparse(X):
        if len(X.shape) != 2 or X.shape[1] != n_features:
            refuse("X", f"a matrix with {n_features} columns", X.shape)
        shared = _shared_rows(X, n_threads, n_features=n_features)
        if shared is not None:
            return shared
        checked = sparse_features(X)
        if checked.shape[1] != n_features:
            refuse("X", f"a matrix with {n_features} columns", checked.shape)
        indptr, features = checked.indptr.astype(np.int64), checked.indices.astype(np.int32, copy=False)
        return _core.QueryRows(checked.shape[0], indptr, features, checked.data)
    try:
        dense = np.asarray(X)
    except (ValueError, TypeError, RuntimeError):  # rows of unequal length
        dense = np.empty(0, dtype=object)
    if dense.dtype.kind not in "fiub":
        refuse("X", "a sparse matrix or a numeric array", X)
    if dense.ndim != 2 or dense.shape[1] != n_features:
        refuse("X", f"of shape (n, {n_features})", dense.shape)
    with np.errstate(over="ignore"):  # values too large for float32 become infinite and are refused below
        values = np.ascontiguousarray(dense, np.float32).reshape(-1)
    values = values if values.flags.aligned else values.copy()
    _check_finite(values)
    return _core.QueryRows(len(dense), None, None, values)


def _check_finite(values: Float32s) -> None:
    # A finite sum means that all values are finite. Otherwise check each value, which is slower.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum(dtype=np.float64))
    if suspicious and not np.all(np.isfinite(values)):
        refuse("X", "finite", "NaN or infinity")


def label_lists(name: str, lists: Any, n: int, n_labels: int) -> LabelLists:
    """Return label lists for native code.

    `lists` is None, one sequence of label ids for all queries, a sparse (n, n_labels) indicator, or a sequence of n
    sequences of label ids.
    """
    if lists is None:
        return NO_LISTS
    allowed = f"label ids, {n} lists of label ids, or a sparse matrix of shape ({n}, {n_labels})"
    if _is_sparse(lists):
        if lists.shape != (n, n_labels):
            refuse(name, allowed, lists.shape)
        csr = sparse_features(lists, name).copy()
        csr.eliminate_zeros()
        if csr.shape != (n, n_labels):
            refuse(name, allowed, csr.shape)
        return LabelLists(csr.indptr.astype(np.int64), csr.indices.astype(np.int32, copy=False))
    if isinstance(lists, np.ndarray) and lists.ndim == 1 and lists.dtype != object:
        return LabelLists(None, _check_ids(name, lists, n_labels))
    if isinstance(lists, (str, bytes)) or not isinstance(lists, (Sequence, np.ndarray)):
        refuse(name, allowed, lists)
    if isinstance(lists, np.ndarray) and lists.ndim == 0:
        refuse(name, allowed, lists)
    entries = list(lists)  # read once: the caller's sequence can change
    if all(not isinstance(entry, Sequence | set | frozenset) and np.ndim(entry) == 0 for entry in entries):
        return LabelLists(None, _check_ids(name, entries, n_labels))  # ids for all queries, possibly none
    if len(entries) != n:
        refuse(name, allowed, f"{len(entries)} lists")
    parts = [_check_ids(f"{name}[{row}]", entry, n_labels) for row, entry in enumerate(entries)]
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=indptr[1:])
    return LabelLists(indptr, np.concatenate(parts))


def label_weight_values(label_weight: Any, n_labels: int) -> Float32s:
    """Return the weights of labels for native code: one number of at least 0 per label."""
    try:
        values = np.asarray(label_weight)
    except (ValueError, TypeError, RuntimeError):  # rows of unequal length
        values = np.empty(0, dtype=object)
    if values.shape != (n_labels,) or values.dtype.kind not in "iufb":
        refuse("label_weight", f"{n_labels} numbers, one per label", label_weight)
    wrong = ~((values >= 0) & (values <= LARGEST_WEIGHT))  # true for NaN
    if wrong.any():
        refuse("label_weight", f"numbers in [0, {LARGEST_WEIGHT:g}]", values[wrong][0])
    return np.array(values, np.float32)


class LabelBoosts(NamedTuple):
    """Weights of some labels (ids and numbers of at least 0), optionally on top of prepared weights of all labels."""

    labels: Int32s
    values: Float32s
    base: _core.LabelWeights | None = None

    def native(self, logs: bool) -> Float32s:
        """Return the numbers, or their logarithms, for native code."""
        with np.errstate(divide="ignore"):  # a weight of 0 leaves the label out
            return np.log(self.values) if logs else self.values


def label_limits(limits: Any, n_labels: int) -> _core.LabelLimits:
    """Return group limits for native code, from a pair (groups, m) with groups by label id.

    Examples
    --------
    >>> label_limits((["red", "red", None], 1), 3)
    LabelLimits(1 groups of 3 labels)
    >>> label_limits(({2: "red"}, {"red": 2}), 3)
    LabelLimits(1 groups of 3 labels)
    """
    if isinstance(limits, _core.LabelLimits):
        if limits.n_labels != n_labels:
            refuse("limits", f"prepared for {n_labels} labels", limits)
        return limits
    return _core.LabelLimits(*group_limits(limits, n_labels))


def group_limits(limits: Any, n_labels: int) -> tuple[Int32s, Int32s]:
    """Return the group of each label (L,), -1 for none, and the maximum number of labels of each group."""
    is_pair = isinstance(limits, Sequence) and not isinstance(limits, str) and len(limits) == 2
    if not is_pair:
        refuse("limits", "a pair (groups, m): one group per label, and the most labels of each group", limits)
    groups, most = limits
    group_of, names = _group_numbers(groups, n_labels)
    return group_of, _most_of_groups(most, names)


def _group_numbers(groups: Any, n_labels: int) -> tuple[Int32s, list[Any]]:
    """Return the index of each label's group (L,), -1 for no group, and the groups."""
    if isinstance(groups, Mapping):
        labels = _check_ids("the labels of limits", list(groups), n_labels)
        group_of = np.full(n_labels, -1, np.int32)
        places, names = _number_objects(list(groups.values()))
        group_of[labels] = places
        return group_of, names
    allowed = f"{n_labels} groups, one per label, or a mapping from labels to groups"
    if isinstance(groups, str | bytes) or not hasattr(groups, "__len__") or len(groups) != n_labels:
        refuse("the groups of limits", allowed, groups)
    array = np.asarray(groups)
    if array.ndim == 1 and array.dtype.kind in "iu":
        known, inverse = np.unique(array, return_inverse=True)
        n_negative = int(np.searchsorted(known, 0))
        numbers = np.maximum(inverse.astype(np.int32) - np.int32(n_negative), np.int32(-1))
        return np.ascontiguousarray(numbers, np.int32), known[n_negative:].tolist()
    places, names = _number_objects(list(groups))
    return places, names


def _number_objects(groups: list[Any]) -> tuple[Int32s, list[Any]]:
    numbers: dict[Any, int] = {}
    try:
        places = [-1 if _is_no_group(group) else numbers.setdefault(group, len(numbers)) for group in groups]
    except TypeError:
        refuse("the groups of limits", "texts or numbers", groups)
    return np.array(places, np.int32), list(numbers)


def _is_no_group(group: Any) -> bool:
    return group is None or (isinstance(group, int | float | np.number) and not group >= 0)  # NaN, too


def _most_of_groups(most: Any, groups: list[Any]) -> Int32s:
    if not isinstance(most, Mapping):
        return np.full(len(groups), check_integer("m of limits", most, 0), np.int32)
    unlimited = np.iinfo(np.int32).max
    return np.array(
        [check_integer(f"m of limits[{g!r}]", most[g], 0) if g in most else unlimited for g in groups], np.int32
    )


def _check_ids(name: str, ids: Any, n_labels: int) -> Int32s:
    """Return a checked copy of label ids, which no other code can change."""
    try:
        array = np.array(ids)
    except (ValueError, TypeError, OverflowError, RuntimeError):  # rows of unequal length, or failing conversions
        array = np.empty(1, dtype=object)
    if array.size == 0:
        return np.zeros(0, np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        refuse(name, "label ids", ids)
    if array.min() < 0 or array.max() >= n_labels:
        message = f"{name} must hold label ids in [0, {n_labels}), got {array.min()} to {array.max()}"
        raise InputError(message)
    return np.ascontiguousarray(array, np.int32)
