"""Reading the labels of points in any form that `fit` accepts: a matrix, or lists of names or ids."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence, Sized
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._matrices import check_same_points, check_Y
from labeltrees._names import check_label_names, nfc_labels
from labeltrees._validation import refuse
from labeltrees.errors import InputError

_ALLOWED = "a sparse or dense matrix of points and labels, or a list of lists of label names or label ids"
_LARGEST_ID = 2**31 - 2


class LabelSets(NamedTuple):
    """The labels of points.

    Parameters
    ----------
    Y : csr_array (N, L)
        Canonical, of relevance values above 0.
    names : array of str (L,) or None
    is_matrix : bool
        Whether they came as a matrix. A matrix defines L; of lists only the largest id is known.
    """

    Y: Any
    names: NDArray[np.object_] | None
    is_matrix: bool


def read_training_labels(Y: Any, label_names: Any, n_points: int) -> LabelSets:
    """Return the labels of `n_points` points; there must be a label. `label_names` are for a Y without names.

    Examples
    --------
    >>> read_training_labels([[0], [1]], ["red", "blue", "green"], n_points=2).Y.shape
    (2, 3)
    """
    if Y is None:
        message = "fit requires y to be passed, but the target y is None"
        raise InputError(message)
    sets = read_label_sets(Y)
    if label_names is not None:
        sets = _with_names(sets, label_names)
    check_same_points(n_points, sets.Y.shape[0])
    if sets.Y.nnz == 0:
        message = "Y has no labels"
        raise InputError(message)
    if sets.names is not None:
        check_unicode(sets.names)
    return sets


def _with_names(sets: LabelSets, label_names: Any) -> LabelSets:
    if sets.names is not None:
        refuse("label_names", "None where Y has names already", label_names)
    matrix = sets.Y
    if not sets.is_matrix and matrix.shape[1] < len(label_names):  # of lists of ids only the largest id is known
        matrix = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], len(label_names)))
    return LabelSets(matrix, check_label_names(label_names, matrix.shape[1]), sets.is_matrix)


def check_unicode(names: NDArray[np.object_]) -> None:
    """Refuse names that cannot be written to a file."""
    try:
        "".join(names.tolist()).encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"a label name is not valid Unicode: {error}"
        raise InputError(message) from None


def read_label_sets(Y: Any) -> LabelSets:
    """Return the labels of points in any form that `fit` accepts.

    Lists of the same length, at least two, that contain only 0 and 1 are the rows of a matrix, as in scikit-learn: as
    lists of ids they would mean that every point has the same two labels.

    Examples
    --------
    >>> sets = read_label_sets([["red", "blue"], ["red"]])
    >>> sets.names.tolist(), sets.Y.toarray().tolist()
    (['blue', 'red'], [[1.0, 1.0], [0.0, 1.0]])
    >>> read_label_sets([[0, 2], []]).Y.shape
    (2, 3)
    >>> read_label_sets([[1, 0], [0, 0]]).Y.nnz
    1
    """
    if not sp.issparse(Y) and not isinstance(Y, Sequence) and hasattr(Y, "__array__"):
        Y = np.asarray(Y)
        if Y.ndim >= 1 and Y.dtype.kind in "OU":
            Y = Y.tolist()
    if sp.issparse(Y) or isinstance(Y, np.ndarray):
        if isinstance(Y, np.ndarray) and Y.ndim == 1:
            _refuse_one_dimension()
        return LabelSets(check_Y(Y, allow_empty=True).matrix, None, True)
    lists = _check_lists(Y)
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = list(chain.from_iterable(lists))
    kinds = set(map(type, flat))
    if not kinds:
        message = "Y has no labels"
        raise InputError(message)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    if all(issubclass(kind, str) for kind in kinds):
        return _from_names(flat if kinds == {str} else list(map(str, flat)), indptr)
    if _are_rows_of_a_matrix(flat, kinds, lengths):
        matrix = np.array(flat, dtype=np.float64).reshape(len(lists), -1)
        return LabelSets(check_Y(matrix).matrix, None, True)
    if _are_ids(kinds):
        return _from_ids(flat, indptr)
    refuse("Y", _ALLOWED, f"lists of {', '.join(sorted(kind.__name__ for kind in kinds))}")


def _refuse_one_dimension() -> NoReturn:
    message = "Y must be two-dimensional, got one class per point: pass a list per point, [[label] for label in Y]"
    raise InputError(message)


def _check_lists(Y: Any) -> Sequence[Any]:
    if isinstance(Y, str | bytes) or not isinstance(Y, Sequence):
        refuse("Y", _ALLOWED, Y)
    if len(Y) > 0 and all(isinstance(label, str | numbers.Real) for label in Y):
        _refuse_one_dimension()
    for row, labels in enumerate(Y):
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable) or not isinstance(labels, Sized):
            refuse(f"Y[{row}]", "a list of labels", labels)
    return Y


def _are_rows_of_a_matrix(flat: list[Any], kinds: set[type], lengths: NDArray[np.int64]) -> bool:
    are_numbers = all(issubclass(kind, numbers.Real | np.bool_) for kind in kinds)
    if not are_numbers or lengths[0] == 0 or not (lengths == lengths[0]).all():
        return False
    return not _are_ids(kinds) or (lengths[0] > 1 and set(flat) <= {0, 1})


def _are_ids(kinds: set[type]) -> bool:
    return bool not in kinds and all(issubclass(kind, numbers.Integral) for kind in kinds)


def _from_names(flat: list[str], indptr: NDArray[np.int64]) -> LabelSets:
    flat = nfc_labels(flat)
    names = sorted(set(flat))
    position = dict(zip(names, range(len(names)), strict=True))
    ids = np.fromiter(map(position.__getitem__, flat), dtype=np.int64, count=len(flat))
    return LabelSets(_indicator(ids, indptr, len(names)), np.array(names, dtype=object), False)


def _from_ids(flat: list[Any], indptr: NDArray[np.int64]) -> LabelSets:
    least, most = min(flat), max(flat)
    if least < 0 or most > _LARGEST_ID:
        wrong = least if least < 0 else most
        row = int(np.searchsorted(indptr, flat.index(wrong), side="right")) - 1
        refuse(f"Y[{row}]", f"label ids in [0, {_LARGEST_ID}]", int(wrong))
    return LabelSets(_indicator(np.array(flat, dtype=np.int64), indptr, int(most) + 1), None, False)


def _indicator(ids: NDArray[Any], indptr: NDArray[np.int64], n_labels: int) -> Any:
    ones = np.ones(len(ids), dtype=np.float32)
    matrix = sp.csr_array((ones, ids, indptr), shape=(len(indptr) - 1, n_labels))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0  # a label that occurs twice counts once
    return check_Y(matrix).matrix


def known_labels(Y: Any, shape: tuple[int, int], names: Any) -> Any:
    """Return the labels of points as CSR of `shape`, over the labels that a model knows; `names` are its LabelNames.

    Names and ids that the model does not know are left out. A matrix must have a column for each label of the model.
    """
    sets = read_label_sets(Y)
    matrix, n_labels = sets.Y, shape[1]
    if sets.names is not None:
        if names is None:
            refuse("Y", "a matrix or lists of label ids, as the model was trained", "names")
        matrix = _with_columns(matrix, [names.position.get(name, -1) for name in sets.names], n_labels)
    elif not sets.is_matrix:
        here = np.arange(matrix.shape[1])
        matrix = _with_columns(matrix, np.where(here < n_labels, here, -1), n_labels)
    if matrix.shape != shape:
        refuse("the shape of Y", f"{shape}", matrix.shape)
    return matrix


def _with_columns(matrix: Any, columns: Any, n_columns: int) -> Any:
    """Return the matrix with its columns moved to `columns`; columns with -1 are left out."""
    columns = np.asarray(columns, dtype=np.int64)
    old = np.flatnonzero(columns >= 0)
    move = sp.csr_array((np.ones(len(old), dtype=np.float32), (old, columns[old])), shape=(matrix.shape[1], n_columns))
    return sp.csr_array(matrix @ move)


def has_label(Y: Any, points: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each pair whether the point has the label in the CSR matrix Y.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> has_label(sp.csr_array([[1, 0], [1, 1]]), np.array([0, 1]), np.array([1, 1])).tolist()
    [False, True]
    """
    n_labels = Y.shape[1]
    pairs = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)) * n_labels + Y.indices
    return np.isin(points * n_labels + labels, pairs[Y.data > 0])
