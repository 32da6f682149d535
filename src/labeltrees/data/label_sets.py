"""Reading the labels of points in any form that `fit` accepts: a matrix, or lists of names or ids."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Iterable, Sequence, Sized
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltrees._matrices import check_same_points, check_Y
from labeltrees._names import check_label_names, nfc_labels
from labeltrees._validation import refuse, refuse_masked
from labeltrees.data.columns import SEPARATORS, column_list, find_separator, is_table, label_cells, table_columns
from labeltrees.data.text_formats import split_labels
from labeltrees.errors import InputError

_ALLOWED = "a sparse or dense matrix of points and labels, or a list of lists of label names or label ids"
_logger = logging.getLogger("labeltrees")
_LARGEST_ID = 2**31 - 2
_SURELY_OTHERS = 5  # this many labels, all unknown, must be from another data set
_LISTS = (list, tuple, set, frozenset)


SETS, CLASSES, NUMBERS = "sets", "classes", "numbers"


class LabelSets(NamedTuple):
    """The labels of points.

    Parameters
    ----------
    Y : csr_array (N, L)
        Canonical, of relevance values above 0.
    names : array of str (L,) or None
    is_matrix : bool
        Whether Y was given as a matrix. A matrix defines L; lists of ids only show the largest id.
    kind : {"sets", "classes", "numbers"}
        "sets": any number of labels per point. "classes": one label per point, as text. "numbers": one
        label per point, as an integer; the names are then the integers as texts.
    """

    Y: Any
    names: NDArray[np.object_] | None
    is_matrix: bool
    kind: str = SETS


def read_training_labels(Y: Any, label_names: Any, n_points: int) -> LabelSets:
    """Return the labels of `n_points` points, at least one in all. `label_names` are for a Y without names.

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
    if not sets.is_matrix and matrix.shape[1] < len(label_names):  # lists of ids only show the largest id
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
    refuse_masked("Y", Y)
    if not sp.issparse(Y) and is_table(Y):
        names = table_columns(Y)
        return LabelSets(check_Y(np.asarray(Y), allow_empty=True).matrix, check_label_names(names, len(names)), True)
    Y = column_list(Y)
    if not sp.issparse(Y) and not isinstance(Y, Sequence) and hasattr(Y, "__array__"):
        Y = np.asarray(Y)
        if Y.ndim >= 1 and Y.dtype.kind in "OU":
            Y = Y.tolist()
    if sp.issparse(Y) or isinstance(Y, np.ndarray):
        if isinstance(Y, np.ndarray) and Y.ndim == 1:
            return _from_numbers(Y)
        return LabelSets(check_Y(Y, allow_empty=True).matrix, None, True)
    if isinstance(Y, list | tuple):
        Y = label_cells(Y)
        if any(isinstance(cell, str | numbers.Real) for cell in Y) and not any(isinstance(cell, _LISTS) for cell in Y):
            return _from_cells(Y)
        Y = [[] if cell is None else cell for cell in Y]
    lists = _check_lists(Y)
    lengths = np.array([len(labels) for labels in lists], dtype=np.int64)
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


def _from_cells(cells: list[Any]) -> LabelSets:
    """Return the labels of a column: one label per point, or several labels in one text with separators."""
    if all(isinstance(cell, numbers.Real) for cell in cells):
        return _from_numbers(np.array(cells))
    other = next((row for row, cell in enumerate(cells) if cell is not None and not isinstance(cell, str)), None)
    if other is not None:
        refuse(f"Y[{other}]", "a text as in the other rows; or give every point a list of labels", cells[other])
    mark, hint = find_separator(cells, (*SEPARATORS, ","))
    if mark is not None:
        _logger.warning(
            "most values of Y contain %r, so they are split there; lists of labels, or read_texts with "
            "label_separator, are not split",
            mark,
        )
        lists = [[] if cell is None else split_labels(cell, mark)[0] for cell in cells]
        indptr = np.concatenate([[0], np.cumsum([len(names) for names in lists])])
        return _from_names(list(chain.from_iterable(lists)), indptr)
    if None in cells:
        row = cells.index(None)
        refuse(f"Y[{row}]", "a label as in the other rows; leave the row out, or give an empty list", None)
    if hint is not None:
        _logger.warning(
            "some values of Y contain %r and are taken as one label each; if it separates labels, split them first: "
            "[text.split(%r) for text in Y]",
            hint,
            hint,
        )
    return _from_names(list(map(str, cells)), np.arange(len(cells) + 1))._replace(kind=CLASSES)


def _from_numbers(values: NDArray[Any]) -> LabelSets:
    """Return the labels of points that have one class each, an integer."""
    if len(values) == 0:
        message = "Y has no labels"
        raise InputError(message)
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all() or (values != np.floor(values)).any():
        whole = values == np.floor(values) if values.dtype.kind in "biuf" else np.zeros(len(values), bool)
        wrong = int(np.argmin(whole & np.isfinite(values))) if whole.any() else 0
        message = (
            f"Unknown label type: Y[{wrong}] = {values[wrong]!s} is not a class; a one-dimensional Y has one class per "
            "point, a text or an integer"
        )
        raise InputError(message)
    classes, ids = np.unique(values.astype(np.int64), return_inverse=True)
    names = np.array(list(map(str, classes.tolist())), dtype=object)
    return LabelSets(_indicator(ids, np.arange(len(values) + 1), len(classes)), names, False, NUMBERS)


def _check_lists(Y: Any) -> list[list[Any]]:
    """Return the labels as lists; each sequence is read only once, because it can change or misreport its length."""
    if isinstance(Y, str | bytes) or not isinstance(Y, Sequence):
        refuse("Y", _ALLOWED, Y)
    rows = list(Y)
    for row, labels in enumerate(rows):
        is_list = isinstance(labels, Iterable) and isinstance(labels, Sized) and not isinstance(labels, str | bytes)
        if not is_list or sp.issparse(labels):  # SciPy would trust the indices of a matrix
            refuse(f"Y[{row}]", "a list of labels", labels)
    return [list(labels) for labels in rows]


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
    ids = [int(label) for label in flat]  # plain int: a subclass could redefine comparisons
    least, most = min(ids), max(ids)
    if least < 0 or most > _LARGEST_ID:
        wrong = least if least < 0 else most
        row = int(np.searchsorted(indptr, ids.index(wrong), side="right")) - 1
        refuse(f"Y[{row}]", f"label ids in [0, {_LARGEST_ID}]", wrong)
    return LabelSets(_indicator(np.array(ids, dtype=np.int64), indptr, most + 1), None, False)


def _indicator(ids: NDArray[Any], indptr: NDArray[np.int64], n_labels: int) -> Any:
    ones = np.ones(len(ids), dtype=np.float32)
    matrix = sp.csr_array((ones, ids, indptr), shape=(len(indptr) - 1, n_labels))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0  # a label that occurs twice counts once
    return check_Y(matrix).matrix


def known_labels(Y: Any, shape: tuple[int, int], names: Any) -> Any:
    """Return the labels of points as CSR of `shape`, in the order of the labels that a model knows.

    All labels are aligned here. Labels that the model does not know are left out, and a warning names one.

    Parameters
    ----------
    Y : labels in any form that `fit` accepts, or the Y of a Dataset
    shape : (n_points, n_labels)
    names : LabelNames or None
        The names of the model's labels.
    """
    sets = read_label_sets(Y)
    matrix, n_labels = sets.Y, shape[1]
    given = getattr(Y, "label_names", None) if sets.names is None else sets.names
    if sets.kind == NUMBERS and names is None and given is not None:
        columns = [int(name) if 0 <= int(name) < n_labels else -1 for name in given]
        matrix = _with_columns(matrix, columns, n_labels)
    elif given is not None and not (names is None and sets.is_matrix and matrix.shape[1] == n_labels):
        matrix = align_columns(matrix, given, names, n_labels)
    elif not sets.is_matrix:
        here = np.arange(matrix.shape[1])
        matrix = _with_columns(matrix, np.where(here < n_labels, here, -1), n_labels)
    if matrix.shape[1] != n_labels:
        message = (
            f"Y has {matrix.shape[1]} columns without names, and the model has {n_labels} labels: pass a Dataset or "
            "lists of label names, which are aligned by name"
        )
        raise InputError(message)
    if matrix.shape[0] != shape[0]:
        message = f"X has {shape[0]} points and Y has {matrix.shape[0]}; both must have one row per point"
        raise InputError(message)
    return matrix


def align_columns(matrix: Any, given: Any, names: Any, n_labels: int) -> Any:
    """Return a matrix, whose columns are named `given`, with the columns of a model, whose LabelNames are `names`."""
    if names is None:
        example = _examples(given)
        message = (
            f"Y names its labels ({example}), and the labels of the model have no names: fit the model on a Dataset "
            "with label_names, or give Y as a matrix in the order of its labels"
        )
        raise InputError(message)
    if matrix.shape[1] == n_labels and given is getattr(names, "array", None):
        return matrix
    position = names.position
    columns = np.array([position.get(name, -1) for name in given], dtype=np.int64)
    used = np.zeros(len(columns), dtype=bool)
    used[matrix.indices] = True
    unknown = np.flatnonzero((columns < 0) & used)
    if len(unknown) >= _SURELY_OTHERS and not (columns[used] >= 0).any():
        message = (
            f"the model knows none of the labels of Y ({_examples(given)}); its labels are {_examples(names.array)}"
        )
        raise InputError(message)
    if len(unknown) > 0:
        labels = "label" if len(unknown) == 1 else "labels"
        text = "the model does not know %d %s of Y, such as %r, which it cannot predict"
        _logger.warning(text, len(unknown), labels, given[unknown[0]])
    if len(columns) == n_labels and (columns == np.arange(n_labels)).all():
        return matrix
    return _with_columns(matrix, columns, n_labels)


def _examples(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:3])
    return f"{shown}, ..." if len(names) > 3 else shown


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
