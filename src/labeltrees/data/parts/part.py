"""Part: one slice of a dataset on disk, verified when this process first reads it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees._array_files import map_array
from labeltrees._files import naming_file, open_regular, refuse_file
from labeltrees._matrices import check_Y, freeze, sparse_features
from labeltrees._names import decode_names
from labeltrees.data.dataset import Dataset
from labeltrees.data.parts.manifest import PartEntry
from labeltrees.errors import InputError

_verified: set[tuple[Any, ...]] = set()  # the files of parts, as they were when this process verified them


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a dataset.

    Parameters
    ----------
    folder : Path
    number : int
    first_point : int
        The number of its first point in the whole dataset.
    entry : PartEntry
    shape : (int, int)
        The numbers of features and labels.
    times : str or None
        The type of its times.
    """

    folder: Path
    number: int
    first_point: int
    entry: PartEntry
    shape: tuple[int, int]
    times: str | None = None

    def __repr__(self) -> str:
        last = self.first_point + self.entry.n_points - 1
        return f"Part({self.number}: points {self.first_point:,} to {last:,}, in {str(self.folder)!r})"

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.entry.n_points

    def check_files(self) -> None:
        """Refuse a part with a file that is missing or of another size than it had when it was written."""
        for name, entry in self.entry.arrays.items():
            path = self.folder / f"{name}.npy"
            expected = len(entry.header()) + entry.nbytes
            try:
                size = os.stat(path).st_size
            except OSError as error:
                refuse_file(
                    path, f"{error.strerror or 'cannot be read'}: the dataset is not complete; convert it again"
                )
            if size != expected:
                refuse_file(path, f"{size} bytes long, {expected} expected; convert the data again")

    def read(self) -> Dataset:
        """Return the part as a Dataset whose arrays are mapped, not read."""
        arrays = self.arrays()
        others: dict[str, Any] = {"sample_weight": arrays.get("weights"), "groups": arrays.get("groups")}
        if self.times is not None:
            others["times"] = self._times_of(arrays)
        if "texts" in arrays:
            texts = decode_names(arrays["texts"], arrays["texts_ends"], os.fspath(self.folder))
            others["texts"] = np.array(texts, dtype=object)
        return Dataset._from_checked(*self._matrices(arrays), **others)

    def matrices(self) -> tuple[Any, Any]:
        """Return X and Y, mapped, without weights and texts."""
        return self._matrices(self.arrays())

    def features(self) -> Any:
        """Return X, mapped."""
        return self._matrix("X", self.arrays("X_"))

    def weights(self) -> NDArray[np.float64]:
        """Return the weights of the points, mapped."""
        return self.arrays()["weights"]

    def point_times(self) -> NDArray[Any]:
        """Return the times of the points, mapped; the dataset must have times."""
        return self._times_of(self.arrays())

    def arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Return the arrays whose names start with `prefix`, mapped.

        All are compared with their checksums when this process first reads any of them.
        """
        key = self._key()
        verify = key not in _verified
        arrays = {}
        for name, entry in self.entry.arrays.items():
            if not verify and not name.startswith(prefix):
                continue
            path = self.folder / f"{name}.npy"
            try:
                with open_regular(path) as opened:
                    mapped = map_array(path, opened, entry, verify=verify)
            except OSError as error:
                refuse_file(path, f"{error.strerror or 'cannot be read'}; convert the data again")
            arrays[name] = _typed(mapped[len(entry.header()) :], entry.dtype)
        if verify:
            self._check(arrays)
            _verified.add(key)
        return arrays

    def _times_of(self, arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
        assert self.times is not None
        times = arrays["times"]
        return times.view(self.times) if self.times[1] == "M" else times

    def _matrices(self, arrays: dict[str, NDArray[Any]]) -> tuple[Any, Any]:
        return self._matrix("X", arrays), self._matrix("Y", arrays)

    def _matrix(self, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
        indices, values = arrays[f"{name}_indices"], arrays.get(f"{name}_values")
        if values is None:
            values = np.ones(len(indices), np.float32)
        parts: Any = (values, indices, arrays[f"{name}_indptr"])
        return freeze(sparse.csr_array(parts, shape=(self.n_points, self.shape["XY".index(name)])))

    def _check(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Refuse arrays that are not what a writer writes: native code trusts them from here on."""
        try:
            with naming_file(self.folder):
                X, Y = self._matrices(arrays)
                checked_X, checked_Y = sparse_features(X), check_Y(Y, allow_empty=True).matrix
                if checked_X.nnz != X.nnz or checked_Y.nnz != Y.nnz or not _same(checked_X, X):
                    message = "not in canonical form"
                    raise InputError(message)
                weights = arrays.get("weights")
                if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
                    message = "a weight is negative or not finite"
                    raise InputError(message)
        except ValueError as error:
            refuse_file(self.folder, f"the part is damaged: {error}; convert the data again")

    def _key(self) -> tuple[Any, ...]:
        files = []
        for name in self.entry.arrays:
            try:
                status = os.stat(self.folder / f"{name}.npy")
            except OSError as error:
                refuse_file(
                    self.folder / f"{name}.npy", f"{error.strerror or 'cannot be read'}; convert the data again"
                )
            files.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
        return (os.fspath(self.folder), *files, *(entry.checksum for entry in self.entry.arrays.values()))


def _typed(mapped: NDArray[np.uint8], dtype: str) -> NDArray[Any]:
    """Return mapped bytes as an array whose base has its own size: SciPy copies views of a base with more elements."""
    return np.frombuffer(mapped.data, dtype)[:]


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)
