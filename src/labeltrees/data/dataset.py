"""Dataset: points and their labels, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees._matrices import check_sample_weight, check_Y, freeze, sparse_features
from labeltrees._names import check_label_names, check_texts
from labeltrees._validation import check_array, check_integer, refuse
from labeltrees.data.columns import as_texts, column_list, is_table, kind_of_contexts
from labeltrees.data.encoders import Encoder
from labeltrees.data.label_sets import read_label_sets, read_training_labels
from labeltrees.data.label_texts import LabelTexts, read_label_texts
from labeltrees.errors import InputError


class LabelMatrix(sparse.csr_array):
    """The Y of a Dataset with label names: a csr_array that keeps the names, so that models align it by name.

    Attributes
    ----------
    label_names : array of str (n_labels,), or None after a computation
    """

    label_names: NDArray[np.object_] | None = None

    def __getitem__(self, key: Any) -> Any:
        """Return rows or entries; rows with all columns keep the names."""
        taken = super().__getitem__(key)
        if isinstance(taken, LabelMatrix) and taken.ndim == 2 and taken.shape[1] == self.shape[1]:
            takes_all = not isinstance(key, tuple) or (isinstance(key[-1], slice) and key[-1] == slice(None))
            taken.label_names = self.label_names if takes_all else None
        return taken


def with_names(Y: Any, names: NDArray[np.object_] | None) -> Any:
    """Return labels with the names of their columns; the arrays are shared."""
    if getattr(Y, "label_names", None) is names:
        return Y
    cls: Any = sparse.csr_array if names is None else LabelMatrix
    named = cls((Y.data, Y.indices, Y.indptr), shape=Y.shape)
    named.has_sorted_indices = named.has_canonical_format = True
    if names is not None:
        named.label_names = names
    return named


class Dataset:
    """Points X and their labels Y, checked once and then read-only.

    Four parameters matter most. `X` and `Y` are the points and their labels. `label_names` lets models align labels by
    name and return names. `groups` keeps related points together when points are held out, so that measured quality
    holds for new groups.

    Arrays are copied, unless they are read-only and already have the right form.

    Parameters
    ----------
    X : (n_points, n_features) sparse or dense, n_points texts, or contexts that `encoder` reads
        Features. Kept as CSR of float32 with sorted indices; must be finite. May have 0 columns. Texts without an
        encoder are kept as `texts`, with 0 features; a model that is fitted on them makes the features.
    Y : (n_points, n_labels) sparse or dense, or lists of label names or ids
        Relevance of each label for each point: usually 1, and 0 (usually not stored) if the point does not have the
        label. Kept as CSR of float32; negative values and NaN are refused. Lists of the same length with numbers are
        the rows of a matrix.
    label_names : n_labels str, optional
        All different; kept in the Unicode form NFC. For a Y without names.
    feature_names : n_features str, optional
    sample_weight : (n_points,) floats, optional
        Weights of the points, at least 0 and not all 0.
    texts : n_points str, optional
        The texts that X was made from.
    vectorizer : TfidfVectorizer, optional
        The fitted vectorizer that made X from texts. `choose` passes it to its model, which then accepts texts.
    encoder : Encoder, optional
        The encoder that made X: a TextEncoder, ItemEncoder, ColumnEncoder or UnionEncoder. A model that is fitted on
        the Dataset keeps it and then accepts its contexts, such as texts or lists of items.
    times : (n_points,) datetime64 or numbers, optional
        The time of each point, such as that of its last event.
    label_texts : n_labels str or lists of str, or dict from labels to them, optional
        Names, synonyms and descriptions of labels, which a model that is fitted on the Dataset keeps.
    groups : (n_points,) integers or str, optional
        Points that belong together, such as the orders of one customer, have the same group. Where points are held out
        (by `choose`, `sweep`, `C="auto"` and `evidence`), a group is held out as a whole: give groups if the model will
        predict for new ones.

    Attributes
    ----------
    X, Y : scipy.sparse.csr_array of float32
    label_names, feature_names, texts : 1-D arrays of str, or None
    sample_weight : (n_points,) array of float64, or None
    vectorizer, encoder : as given, or None
    times : (n_points,) array of datetime64 or numbers, or None
    label_texts : LabelTexts or None
    groups : (n_points,) array of int64, or None

    Examples
    --------
    >>> import labeltrees as lt
    >>> dataset = lt.Dataset([[0.5, 0.0], [0.0, 2.0], [1.0, 1.0]], [[1, 0], [1, 1], [0, 1]], label_names=["cat", "dog"])
    >>> dataset
    Dataset(3 points, 2 features, 2 labels; a point has 1.33 features and 1.33 labels; with label_names)
    >>> dataset[1:].Y.toarray()
    array([[1., 1.],
           [0., 1.]], dtype=float32)
    """

    X: sparse.csr_array[np.float32]
    Y: sparse.csr_array[np.float32]
    label_names: NDArray[np.object_] | None
    feature_names: NDArray[np.object_] | None
    sample_weight: NDArray[np.float64] | None
    texts: NDArray[np.object_] | None
    vectorizer: Any
    encoder: Encoder | None
    times: NDArray[Any] | None
    groups: NDArray[np.int64] | None
    label_texts: LabelTexts | None

    # Disables iteration; otherwise Python would iterate over dataset[0], dataset[1], ...
    __iter__ = None

    def __init__(
        self,
        X: Any,
        Y: Any,
        label_names: Any = None,
        feature_names: Any = None,
        sample_weight: Any = None,
        texts: Any = None,
        vectorizer: Any = None,
        encoder: Encoder | None = None,
        times: Any = None,
        label_texts: Any = None,
        groups: Any = None,
    ) -> None:
        X, texts = _read_points(X, texts, encoder)
        Y, label_names = _read_labels(Y, label_names)
        (n_points, n_features), (n_rows_of_Y, n_labels) = X.shape, Y.shape
        if n_points != n_rows_of_Y:
            message = f"X has {n_points} rows and Y has {n_rows_of_Y}; both must have one row per point"
            raise InputError(message)
        if encoder is not None and encoder.n_features != n_features:
            refuse("encoder", f"one with {n_features} features, the columns of X", f"one with {encoder.n_features}")
        names = None if label_names is None else check_label_names(label_names, n_labels)
        self._store(
            X=X,
            Y=Y,
            label_names=names,
            feature_names=None if feature_names is None else check_texts("feature_names", feature_names, n_features),
            sample_weight=check_sample_weight(sample_weight, n_points),
            texts=None if texts is None else check_texts("texts", texts, n_points),
            vectorizer=vectorizer,
            encoder=encoder,
            times=None if times is None else _check_times(times, n_points),
            groups=None if groups is None else check_groups(groups, n_points),
            label_texts=None if label_texts is None else _check_label_texts(label_texts, names, n_labels),
        )

    @classmethod
    def _from_checked(cls, X: sparse.csr_array[np.float32], Y: sparse.csr_array[np.float32], **others: Any) -> Self:
        """Make a Dataset from matrices that already have the form that `__init__` produces."""
        dataset = cls.__new__(cls)
        names = (
            "label_names",
            "feature_names",
            "sample_weight",
            "texts",
            "vectorizer",
            "encoder",
            "times",
            "groups",
            "label_texts",
        )
        absent = dict.fromkeys(names)
        dataset._store(**(absent | others), X=freeze(X), Y=freeze(Y))
        return dataset

    def _store(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)
        if "Y" in self.__dict__:  # a dataset in parts reads its labels when they are needed
            self.__dict__["Y"] = with_names(self.__dict__["Y"], self.label_names)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a Dataset is read-only: {name} cannot be set; make a new Dataset"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"a Dataset is read-only: {name} cannot be deleted"
        raise AttributeError(message)

    @property
    def n_points(self) -> int:
        """Number of points: rows of X and Y."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features: columns of X."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels: columns of Y."""
        return int(self.Y.shape[1])

    def __len__(self) -> int:
        return self.n_points

    def __getitem__(self, rows: Any) -> Self:
        return self.take(rows)

    def labels_of(self, point: int) -> list[Any]:
        """Return the names (ids if labels have no names) of the labels of one point, in the order of their ids.

        Examples
        --------
        >>> import labeltrees as lt
        >>> lt.Dataset([[0.5], [1.0]], [[1, 0], [1, 1]], label_names=["cat", "dog"]).labels_of(1)
        ['cat', 'dog']
        """
        point = check_integer("point", point, -self.n_points, self.n_points - 1) % max(self.n_points, 1)
        start, end = self.Y.indptr[point : point + 2]
        ids = np.sort(self.Y.indices[start:end][self.Y.data[start:end] > 0])
        labels: list[Any] = (ids if self.label_names is None else self.label_names[ids]).tolist()
        return labels

    def take(self, rows: Any) -> Self:
        """Return a Dataset with some of the points, and all features and labels.

        Parameters
        ----------
        rows : slice, integers, or a boolean mask of length n_points
            In this order; a point may be taken more than once.
        """
        if isinstance(rows, slice):
            rows = np.arange(self.n_points)[rows]
        rows = np.asarray(rows)
        if rows.size == 0 and rows.ndim == 1 and rows.dtype.kind == "f":  # an empty list
            rows = rows.astype(np.intp)
        if rows.ndim != 1 or rows.dtype.kind not in "biu":
            refuse("rows", "a slice, a list of row numbers or a boolean mask", rows)
        if rows.dtype.kind == "b":
            if len(rows) != self.n_points:
                refuse("rows", f"a mask of length {self.n_points}", f"one of length {len(rows)}")
            rows = np.flatnonzero(rows)
        outside = (rows >= self.n_points) | (rows < -self.n_points)
        if outside.any():
            refuse("rows", f"below the number of points, {self.n_points}", int(rows[np.argmax(outside)]))
        weights, texts = self.sample_weight, self.texts
        if texts is not None:
            texts = texts[rows]
            texts.flags.writeable = False
        return self._from_checked(
            self.X[rows],
            self.Y[rows],
            label_names=self.label_names,
            feature_names=self.feature_names,
            sample_weight=None if weights is None else check_sample_weight(weights[rows], len(rows)),
            texts=texts,
            vectorizer=self.vectorizer,
            encoder=self.encoder,
            times=None if self.times is None else _check_times(self.times[rows], len(rows)),
            groups=None if self.groups is None else check_groups(self.groups[rows], len(rows)),
            label_texts=self.label_texts,
        )

    def with_label_names(self, names: Any) -> Self:
        """Return the same points with new label names; None removes the names."""
        renamed = copy(self)
        renamed._store(label_names=None if names is None else check_label_names(names, self.n_labels))
        return renamed

    def keep_labels(self, names: Iterable[str]) -> Self:
        """Return the same points with some of the labels, by name, in the order of this Dataset.

        Points that lose all their labels stay, without labels. Unknown names are ignored.

        Examples
        --------
        >>> import labeltrees as lt
        >>> data = lt.Dataset([[1.0], [2.0]], [["a", "b"], ["c"]])
        >>> data.keep_labels(["c", "a", "x"]).label_names.tolist()
        ['a', 'c']
        """
        if self.label_names is None:
            message = "keep_labels needs label names, and this Dataset has none"
            raise InputError(message)
        wanted = set(names)
        columns = [label for label, name in enumerate(self.label_names.tolist()) if name in wanted]
        if not columns:
            message = f"no label of the data, such as {self.label_names[0]!r}, is among those to keep"
            raise InputError(message)
        kept = copy(self)
        mask = np.zeros(self.n_labels, dtype=bool)
        mask[columns] = True
        texts = None if self.label_texts is None else self.label_texts.keep_labels(mask, mask)
        Y = freeze(sparse.csr_array(sparse.csr_array(self.Y)[:, columns]))
        kept._store(Y=Y, label_names=check_label_names(self.label_names[columns], len(columns)), label_texts=texts)
        return kept

    def __repr__(self) -> str:
        n = max(self.n_points, 1)
        parts = [
            f"{self.n_points:,} points, {self.n_features:,} features, {self.n_labels:,} labels",
            f"a point has {self.X.nnz / n:.3g} features and {self.Y.nnz / n:.3g} labels",
        ]
        optional = (
            "label_names", "feature_names", "sample_weight", "texts", "encoder", "times", "groups", "label_texts"
        )  # fmt: skip
        present = [name for name in optional if getattr(self, name) is not None]
        if present:
            parts.append("with " + ", ".join(present))
        return f"{type(self).__name__}({'; '.join(parts)})"


def _read_points(X: Any, texts: Any, encoder: Encoder | None) -> tuple[Any, Any]:
    """Return the features, and the texts if X is texts."""
    if sparse.issparse(X) or kind_of_contexts(X) is None:  # a matrix in DOK form is a dict
        return sparse_features(X), texts
    if encoder is not None:
        return sparse_features(encoder.transform(X)), texts
    if (given := as_texts(X)) is None:
        refuse("X", "a matrix or texts; lists of items need an encoder", X)
    return sparse.csr_array((len(given), 0), dtype=np.float32), given if texts is None else texts


def _read_labels(Y: Any, label_names: Any) -> tuple[Any, Any]:
    """Return the labels as a matrix, and their names."""
    Y = column_list(Y)
    has_cells = isinstance(Y, list | tuple) and len(Y) > 0 and not any(isinstance(labels, list | tuple) for labels in Y)
    if has_cells or is_table(Y) or getattr(Y, "ndim", 2) == 1:
        sets = read_label_sets(Y)
        return sets.Y, sets.names if label_names is None else label_names
    if isinstance(Y, list | tuple) and len(Y) > 0 and all(isinstance(labels, list | tuple | set) for labels in Y):
        are_names = any(isinstance(label, str) for labels in Y for label in labels)
        if are_names or len(set(map(len, Y))) > 1:
            sets = read_training_labels(Y, label_names, len(Y))
            return sets.Y, sets.names
    return check_Y(Y, allow_empty=True).matrix, label_names


def _check_times(times: Any, n_points: int) -> NDArray[Any]:
    """Return the times of points as a read-only array of datetime64 or numbers."""
    allowed = f"{n_points} numbers or dates (datetime64), one per point"
    moments = np.array(check_array("times", times, allowed))
    if moments.shape != (n_points,) or moments.dtype.kind not in "iufM":
        refuse("times", allowed, f"{moments.dtype} {moments.shape}")
    missing = np.flatnonzero(~np.isfinite(moments))
    if missing.size:  # it would count as the newest point
        refuse(f"times[{missing[0]}]", "a time", moments[missing[0]])
    moments.flags.writeable = False
    return moments


def check_groups(groups: Any, n_points: int) -> NDArray[np.int64]:
    """Return the groups of points as a read-only array of numbers; texts are numbered in alphabetical order."""
    allowed = f"{n_points} integers or texts, one per point"
    given = check_array("groups", groups, allowed)
    if given.dtype == object and all(isinstance(group, str) for group in given.flat):
        given = given.astype(str)
    if given.shape != (n_points,) or given.dtype.kind not in "iuU":
        refuse("groups", allowed, f"{given.dtype} {given.shape}")
    numbers = np.unique(given, return_inverse=True)[1] if given.dtype.kind == "U" else given
    numbers = numbers.astype(np.int64)
    numbers.flags.writeable = False
    return numbers


def _check_label_texts(given: Any, names: NDArray[np.object_] | None, n_labels: int) -> LabelTexts:
    texts, new = read_label_texts(given, None if names is None else names.tolist(), n_labels)
    if new:
        refuse(
            "label_texts", "texts of labels in label_names (a label without points has an empty column in Y)", new[0]
        )
    return texts


def as_dataset(train: Any, name: str = "train") -> Dataset:
    """Return `train`, a Dataset or a pair (X, Y), as a Dataset."""
    if isinstance(train, Dataset):
        return train
    if isinstance(train, tuple | list) and len(train) == 2:
        return Dataset(*train)
    refuse(name, "a Dataset or a pair (X, Y)", train)
