"""The labels of an update: labels of new and replayed points, mapped to the label ids of the updated model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees._matrices import check_same_points
from labeltrees._names import nfc
from labeltrees._validation import refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.label_sets import check_unicode, read_label_sets
from labeltrees.errors import InputError
from labeltrees.models.common.given import FitArguments, arguments_of
from labeltrees.models.common.label_names import LabelNames


def read_replay(replay: Any) -> FitArguments:
    """Return the points and labels of `replay`, a Dataset or a pair (X, Y)."""
    if isinstance(replay, Dataset):
        return arguments_of(replay, None, None)
    if isinstance(replay, tuple | list) and len(replay) == 2:
        return arguments_of(replay[0], replay[1], None)
    refuse("replay", "a Dataset or a pair (X, Y): the points that the model was trained on", type(replay).__name__)


def new_labels(model: Any, given: FitArguments, n_points: int) -> tuple[LabelNames | None, Any, int]:
    """Return the names of all labels (old, then new), the new points' labels as CSR, and the number of labels."""
    if given.Y is None:
        message = "update requires the labels of the new points: pass Y, or a Dataset"
        raise InputError(message)
    sets = read_label_sets(given.Y)
    matrix, names = sets.Y, sets.names
    if names is None:
        names = given.label_names if given.label_names is not None else getattr(given.Y, "label_names", None)
    check_same_points(n_points, matrix.shape[0])
    known, n_known = model._label_names, model.searcher_.n_labels
    if known is None:
        if names is not None:
            message = f"Y names its labels ({names[0]!r}), and the labels of the model have no names: give ids"
            raise InputError(message)
        return None, matrix, max(n_known, matrix.shape[1])
    if names is None:
        if matrix.shape[1] > n_known:
            refuse("Y", "labels with names, because those of the model have names", f"{matrix.shape[1]} columns")
        return known, matrix, n_known
    names = np.asarray(names, dtype=object)
    check_unicode(names)
    used = np.zeros(len(names), dtype=bool)
    used[matrix.indices] = True
    position = dict(known.position)
    new: list[str] = []
    for name in names[used].tolist():
        if nfc(name) not in position:
            position[nfc(name)] = n_known + len(new)
            new.append(name)
    columns = np.array([position.get(nfc(name), -1) for name in names.tolist()], dtype=np.int64)
    n_labels = n_known + len(new)
    listed = known if not new else LabelNames(np.concatenate([known.array, np.array(new, dtype=object)]), known.kind)
    return listed, _move(matrix, columns, n_labels)[0], n_labels


def old_labels(
    known: LabelNames | None, renamed: dict[str, str], old: FitArguments, n_points: int, n_labels: int
) -> tuple[Any, int]:
    """Return the labels of old points as CSR over the model's labels, and the number of entries with unknown labels.

    `renamed` has the present names of labels that had other names before; old points may have either.
    """
    sets = read_label_sets(old.Y)
    matrix, names = sets.Y, sets.names
    if names is None:
        names = old.label_names if old.label_names is not None else getattr(old.Y, "label_names", None)
    check_same_points(n_points, matrix.shape[0])
    if known is None or names is None:
        if names is not None or matrix.shape[1] > n_labels:
            refuse("replay", "the points that the model was trained on, with its labels", f"{matrix.shape[1]} labels")
        return matrix, 0
    keys = [nfc(name) for name in np.asarray(names).tolist()]
    keys = [key if key in known.position else renamed.get(key, key) for key in keys]
    columns = np.array([known.position.get(key, -1) for key in keys], dtype=np.int64)
    moved, n_dropped = _move(matrix, columns, n_labels)
    if matrix.nnz:
        moved.data = np.minimum(moved.data, matrix.data.max())  # a point with both names of a label has it once
    return moved, n_dropped


def _move(matrix: Any, columns: Any, n_columns: int) -> tuple[Any, int]:
    pairs = matrix.tocoo()
    known = columns[pairs.col] >= 0
    moved = (pairs.data[known].astype(np.float32), (pairs.row[known], columns[pairs.col[known]]))
    return sp.csr_array(moved, shape=(matrix.shape[0], n_columns)), int((~known).sum())


def widen(matrix: Any, n_columns: int) -> Any:
    """Return a matrix with `n_columns` columns; the added columns are zero."""
    if matrix.shape[1] == n_columns:
        return matrix
    if isinstance(matrix, np.ndarray):
        return np.pad(matrix, ((0, 0), (0, n_columns - matrix.shape[1])))
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], n_columns))


def check_classes(Y: Any, classes: Any) -> None:
    """Refuse labels of Y that are not among `classes`, an argument of `partial_fit`; None allows all."""
    if classes is None:
        return
    given = read_label_sets(Y)
    allowed = {str(label) for label in np.asarray(classes).ravel().tolist()}
    names = np.arange(given.Y.shape[1]).astype(str) if given.names is None else given.names
    used = np.unique(given.Y.indices)
    strange = next((name for name in names[used].tolist() if str(name) not in allowed), None)
    if strange is not None:
        refuse("classes", "all labels of Y", f"none that is {strange!r}")
