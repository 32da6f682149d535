"""The labels of points as users have them: an indicator matrix, or lists of names or ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._matrices import check_same_points
from labeltrees._validation import refuse
from labeltrees.data.checks import check_labels, check_texts
from labeltrees.errors import InputError

_ALLOWED = "a sparse or dense matrix of points and labels, or a list of lists of label names or label ids"
_LARGEST_ID = 2**31 - 2


class LabelSets(NamedTuple):
    """Y as a canonical CSR matrix (N, L) of relevance values above 0, and the labels' names where they have some."""

    Y: Any
    names: NDArray[np.object_] | None


def read_training_labels(Y: Any, label_names: Any, n_points: int) -> LabelSets:
    """Return the labels of `n_points` points, at least one; `label_names` are those of a Y without names, or None.

    Examples
    --------
    >>> read_training_labels([[0], [1]], ["red", "blue", "green"], n_points=2).Y.shape
    (2, 3)
    """
    sets = read_label_sets(Y)
    if label_names is not None:
        is_matrix = sp.issparse(Y) or (isinstance(Y, np.ndarray) and Y.dtype != object)
        sets = _with_names(sets, label_names, is_matrix)
    check_same_points(n_points, sets.Y.shape[0])
    if sets.Y.nnz == 0:
        message = "Y has no label at all"
        raise InputError(message)
    return sets


def read_label_sets(Y: Any) -> LabelSets:
    """Return the labels of points given in any form `fit` takes.

    Examples
    --------
    >>> sets = read_label_sets([["red", "blue"], ["red"]])
    >>> sets.names.tolist(), sets.Y.toarray().tolist()
    (['blue', 'red'], [[1.0, 1.0], [0.0, 1.0]])
    >>> read_label_sets([[0, 2], []]).Y.shape
    (2, 3)
    """
    if sp.issparse(Y) or isinstance(Y, np.ndarray) or not _is_list_of_lists(Y):
        if isinstance(Y, np.ndarray) and Y.dtype == object:
            return read_label_sets(Y.tolist())
        return LabelSets(check_labels(Y), None)
    lengths = np.fromiter((len(labels) for labels in Y), dtype=np.int64, count=len(Y))
    flat = list(chain.from_iterable(Y))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    kinds = set(map(type, flat))
    if kinds <= {str} and kinds:
        names, ids = np.unique(np.array(flat, dtype=object).astype(str), return_inverse=True)
        return LabelSets(_indicator(ids, indptr, len(names)), names.astype(object))
    if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        ids = np.array(flat, dtype=np.int64)
        if ids.min() < 0 or ids.max() > _LARGEST_ID:
            row = int(np.searchsorted(indptr, np.argmax((ids < 0) | (ids > _LARGEST_ID)), side="right")) - 1
            message = f"Y must hold label ids in [0, {_LARGEST_ID}], got another at row {row}"
            raise InputError(message)
        return LabelSets(_indicator(ids, indptr, int(ids.max()) + 1), None)
    if not kinds:
        message = "Y has no label at all"
        raise InputError(message)
    refuse("Y", _ALLOWED, f"lists of {', '.join(sorted(kind.__name__ for kind in kinds))}")


def _with_names(sets: LabelSets, label_names: Any, is_matrix: bool) -> LabelSets:
    if sets.names is not None:
        refuse("label_names", "None where Y has names already", label_names)
    matrix = sets.Y
    if not is_matrix and matrix.shape[1] < len(label_names):  # of ids only the highest is known
        matrix = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], len(label_names)))
    return LabelSets(matrix, check_texts("label_names", label_names, matrix.shape[1], unique=True))


def _is_list_of_lists(Y: Any) -> bool:
    """Tell lists of labels from a nested list of 0 and 1 of equal lengths, which is a matrix."""
    if isinstance(Y, str | bytes) or not isinstance(Y, Sequence):
        refuse("Y", _ALLOWED, Y)
    for labels in Y:
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable) or not hasattr(labels, "__len__"):
            refuse("Y", _ALLOWED, Y)
    return True


def _indicator(ids: NDArray[Any], indptr: NDArray[np.int64], n_labels: int) -> Any:
    ones = np.ones(len(ids), dtype=np.float32)
    matrix = sp.csr_array((ones, ids, indptr), shape=(len(indptr) - 1, n_labels))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0  # a label named twice counts once
    return check_labels(matrix)


def align_labels(Y: Any, names: NDArray[np.object_], known: NDArray[np.object_]) -> Any:
    """Return Y (N, len(names)) with its columns in the order of the `known` names, all of them; others are left out."""
    position = {name: column for column, name in enumerate(known)}
    old = [column for column, name in enumerate(names) if name in position]
    new = [position[names[column]] for column in old]
    move = sp.csr_array((np.ones(len(old), np.float32), (old, new)), shape=(len(names), len(known)))
    return sp.csr_array(Y @ move)


def name_ids(what: str, lists: Any, known: NDArray[np.object_]) -> Any:
    """Return label ids for names: one list for all points, or one list a point."""
    position = {name: label for label, name in enumerate(known)}

    def ids(names: Any, where: str) -> NDArray[np.int64]:
        unknown = next((name for name in names if name not in position), None)
        if unknown is not None:
            refuse(where, "names of labels the model knows", unknown)
        return np.array([position[name] for name in names], dtype=np.int64)

    lists = list(lists)
    if all(isinstance(entry, str) for entry in lists):
        return ids(lists, what)
    return [ids(names, f"{what}[{row}]") for row, names in enumerate(lists)]
