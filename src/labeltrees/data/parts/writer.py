"""Writing a dataset in parts: it takes blocks of points and writes parts of equal size."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from labeltrees._array_files import ArrayEntry, file_checksum, write_array, write_new_file
from labeltrees._files import replacing_folder
from labeltrees._matrices import check_same_points, check_sample_weight, check_Y, sparse_features
from labeltrees._names import check_texts, encode_names
from labeltrees._validation import check_array, check_integer, refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.encoder_file import ENCODER_FILE, write_encoder
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.files import FilePath
from labeltrees.data.parts.part import MANIFEST_FILE, PartEntry, PartsManifest, part_folder, read_manifest
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.errors import InputError, LabelTreesError

POINTS_PER_PART = 250_000

_logger = logging.getLogger("labeltrees")


class _Block(NamedTuple):
    X: Any
    Y: Any
    weights: Any
    texts: Any
    times: Any
    groups: Any

    def rows(self, first: int, last: int) -> _Block:
        return _Block(*(None if item is None else item[first:last] for item in self))


class PartsWriter:
    """Writes a folder of parts from blocks of points; needs memory for one part and one block.

    Use it in a ``with`` statement. The folder appears, or replaces an older dataset in parts, when the statement ends
    without an error.

    Parameters
    ----------
    folder : path
    n_features, n_labels : int
    points_per_part : int
        Every part but the last has this many points, whatever the size of the blocks.
    label_names, feature_names : sequences of str, optional
    encoder : Encoder, optional
        The encoder that made the features.

    Examples
    --------
    >>> import tempfile, labeltrees as lt
    >>> folder = tempfile.mkdtemp() + "/parts"
    >>> with lt.PartsWriter(folder, n_features=2, n_labels=2, points_per_part=2) as writer:
    ...     writer.add([[0.5, 0], [0, 2]], [[1, 0], [1, 1]])
    ...     writer.add([[1, 1]], [[0, 1]])
    >>> len(lt.open_parts(folder).parts)
    2
    """

    def __init__(
        self,
        folder: FilePath,
        n_features: int,
        n_labels: int,
        *,
        points_per_part: int = POINTS_PER_PART,
        label_names: Any = None,
        feature_names: Any = None,
        encoder: Encoder | None = None,
    ) -> None:
        self._target = check_parts_target(folder)
        self._shape = (check_integer("n_features", n_features, 0), check_integer("n_labels", n_labels, 0))
        self._points_per_part = check_integer("points_per_part", points_per_part, 1)
        self._label_names = None if label_names is None else check_texts("label_names", label_names, n_labels)
        if label_names is not None and len(set(self._label_names)) < n_labels:  # type: ignore[arg-type]
            check_texts("label_names", label_names, n_labels, unique=True)
        self._feature_names = None if feature_names is None else check_texts("feature_names", feature_names, n_features)
        if encoder is not None and encoder.n_features != n_features:
            refuse("encoder", f"one with {n_features} features, the columns of X", f"one with {encoder.n_features}")
        self._encoder = encoder
        self._blocks: list[_Block] = []
        self._n_waiting = 0
        self._parts: list[PartEntry] = []
        self._times: str | None = None
        self._new: Path | None = None
        self._stack = ExitStack()

    def __repr__(self) -> str:
        n_features, n_labels = self._shape
        parts = f"parts of {self._points_per_part:,} points"
        return f"PartsWriter({str(self._target)!r}: {n_features:,} features, {n_labels:,} labels, {parts})"

    def __enter__(self) -> Self:
        self._new = self._stack.enter_context(replacing_folder(self._target))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if kind is None:
                self._finish()
        except BaseException as failure:
            self._stack.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._stack.__exit__(kind, error, traceback)

    def add(
        self, X: Any, Y: Any, sample_weight: Any = None, *, texts: Any = None, times: Any = None, groups: Any = None
    ) -> None:
        """Add a block of points.

        Each of the optional arguments must be given in every block, or in none.

        Parameters
        ----------
        X : matrix (n, n_features)
        Y : matrix (n, n_labels)
        sample_weight : array (n,), optional
        texts : n str, optional
        times : array (n,), optional
            Of the same type in all blocks.
        groups : array (n,) of integers, optional
        """
        if self._new is None:
            message = "PartsWriter must be used in a with statement: with PartsWriter(...) as writer"
            raise InputError(message)
        X, Y = sparse_features(X), check_Y(Y, allow_empty=True).matrix
        check_same_points(X.shape[0], Y.shape[0])
        if (X.shape[1], Y.shape[1]) != self._shape:
            refuse("a block", "of {} features and {} labels".format(*self._shape), (X.shape[1], Y.shape[1]))
        n = X.shape[0]
        weights = None if sample_weight is None else _check_weights(sample_weight, n)
        block = _Block(
            X,
            Y,
            weights,
            None if texts is None else check_texts("texts", texts, n),
            self._check_times(times, n),
            None if groups is None else _check_numbers(groups, n),
        )
        for one, waiting in zip(block, self._blocks[-1] if self._blocks else block, strict=True):
            if (one is None) != (waiting is None):
                refuse("a block", "with weights, texts, times and groups like the blocks before it", "another one")
        first = 0
        while first < n:
            last = min(n, first + self._points_per_part - self._n_waiting)
            self._blocks.append(block.rows(first, last))
            self._n_waiting += last - first
            first = last
            if self._n_waiting == self._points_per_part:
                self._write_part()

    def _check_times(self, times: Any, n: int) -> Any:
        if times is None:
            return None
        allowed = f"{n} numbers or dates, of one type in all blocks"
        times = check_array("times", times, allowed)
        kind = times.dtype.str if times.dtype.kind == "M" else times.dtype.kind
        if times.shape != (n,) or times.dtype.kind not in "iufM" or (self._times or kind) != kind:
            refuse("times", allowed, f"{times.dtype} {times.shape}")
        self._times = kind
        if times.dtype.kind == "M":
            return times.view(np.int64)
        return times.astype(np.float64 if times.dtype.kind == "f" else np.int64)

    def _write_part(self) -> None:
        blocks, self._blocks, self._n_waiting = self._blocks, [], 0
        one = _Block(*(None if items[0] is None else _join(items) for items in zip(*blocks, strict=True)))
        arrays = {
            "X_indptr": _narrow(one.X.indptr),
            "X_indices": one.X.indices.astype(np.int32, copy=False),
            "X_values": one.X.data,
            "Y_indptr": _narrow(one.Y.indptr),
            "Y_indices": one.Y.indices.astype(np.int32, copy=False),
        }
        if not (one.Y.data == 1).all():
            arrays["Y_values"] = one.Y.data
        if one.weights is not None:
            arrays["weights"] = one.weights
        if one.times is not None:
            arrays["times"] = one.times
        if one.groups is not None:
            arrays["groups"] = one.groups
        if one.texts is not None:
            arrays["texts"], arrays["texts_ends"] = encode_names(one.texts.tolist())
        assert self._new is not None
        folder = self._new / part_folder(len(self._parts))
        folder.mkdir()
        entries = {name: write_array(folder / f"{name}.npy", array) for name, array in arrays.items()}
        if self._parts and (entries.keys() ^ self._parts[-1].arrays.keys()) - {"Y_values"}:
            refuse("a block", "with weights, texts, times and groups like the blocks before it", "another one")
        self._parts.append(PartEntry(one.X.shape[0], entries))
        _flush(folder)

    def _finish(self) -> None:
        if self._n_waiting > 0:
            self._write_part()
        if not self._parts:
            message = f"{self._target}: no points were added, so there is nothing to write"
            raise InputError(message)
        assert self._new is not None
        arrays: dict[str, ArrayEntry] = {}
        for name, names in (("label_names", self._label_names), ("feature_names", self._feature_names)):
            if names is not None:
                text, ends = encode_names(names.tolist())
                arrays[name] = write_array(self._new / f"{name}.npy", text)
                arrays[f"{name}_ends"] = write_array(self._new / f"{name}_ends.npy", ends)
        encoder = None
        if self._encoder is not None:
            write_encoder(self._encoder, self._new / ENCODER_FILE)
            encoder = file_checksum(self._new / ENCODER_FILE)
        manifest = PartsManifest(*self._shape, self._parts, arrays, self._times, encoder)
        write_new_file(self._new / MANIFEST_FILE, manifest.to_json().encode())


def write_parts(dataset: Dataset, folder: FilePath, points_per_part: int = POINTS_PER_PART) -> None:
    """Write a Dataset as a folder of parts.

    Parameters
    ----------
    dataset : Dataset
        If it has no encoder, its TfidfVectorizer becomes the encoder.
    folder : path
        Created, or replaced if it holds a dataset in parts.
    points_per_part : int

    Examples
    --------
    >>> import tempfile, labeltrees as lt
    >>> folder = tempfile.mkdtemp() + "/parts"
    >>> lt.write_parts(lt.Dataset([[0.5, 0], [0, 2], [1, 1]], [[1], [0], [1]]), folder, points_per_part=2)
    >>> lt.open_parts(folder).n_points
    3
    """
    if not isinstance(dataset, Dataset):
        refuse("dataset", "a Dataset", dataset)
    if dataset.label_texts is not None:
        _logger.warning("parts do not hold texts of labels, such as names of items; give them to `predict` and `serve`")
    encoder = dataset.encoder
    if encoder is None and isinstance(dataset.vectorizer, TfidfVectorizer):
        encoder = TextEncoder(dataset.vectorizer)
    with PartsWriter(
        folder,
        dataset.n_features,
        dataset.n_labels,
        points_per_part=points_per_part,
        label_names=dataset.label_names,
        feature_names=dataset.feature_names,
        encoder=encoder,
    ) as writer:
        others = {name: getattr(dataset, name) for name in ("texts", "times", "groups")}
        writer.add(dataset.X, dataset.Y, dataset.sample_weight, **others)


def check_parts_target(folder: FilePath) -> Path:
    """Return the folder as a path; refuse one with other content than a dataset in parts, which would be deleted."""
    target = Path(os.path.abspath(folder))
    if not os.path.lexists(target):
        return target
    if target.is_dir():
        if not any(target.iterdir()):
            return target
        try:
            read_manifest(target)
            return target
        except (LabelTreesError, OSError):
            pass
    message = f"{target} exists and is not a dataset in parts; choose another folder or delete it"
    raise InputError(message)


def _check_weights(sample_weight: Any, n_points: int) -> Any:
    """Check the weights of a block, which may all be 0; those of the whole dataset may not."""
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.shape == (n_points,) and not weights.any():
        return weights
    return check_sample_weight(weights, n_points)


def _check_numbers(groups: Any, n_points: int) -> Any:
    """Check the groups of a block: integers, because texts would get different numbers in every block."""
    numbers = np.asarray(groups)
    if numbers.shape != (n_points,) or numbers.dtype.kind not in "iu":
        refuse("groups", f"{n_points} integers, one per point", f"{numbers.dtype} {numbers.shape}")
    return numbers.astype(np.int64)


def _join(items: tuple[Any, ...]) -> Any:
    if len(items) == 1:
        return items[0]
    return sparse.csr_array(sparse.vstack(items, "csr")) if sparse.issparse(items[0]) else np.concatenate(items)


def _narrow(indptr: Any) -> Any:
    """Return the row starts as int32 if they fit, the type of the columns, so that SciPy does not copy these."""
    return indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64, copy=False)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
