"""Parts of a dataset on disk: one slice each, and the manifest that lists them with their checksums."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees import _core
from labeltrees._array_files import ArrayEntry, checksum_text, map_array, read_entry
from labeltrees._files import naming_file, open_regular, refuse_file
from labeltrees._matrices import check_Y, freeze, sparse_features
from labeltrees._names import decode_names
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import MissingFileError
from labeltrees.errors import InputError

MANIFEST_FILE = "parts.json"
FORMAT_NAME = "labeltrees parts"
FORMAT_VERSION = 1
MANIFEST_BYTES = 256 * 2**20  # longer manifests are refused
PART_ARRAYS = {
    "X_indptr": ("<i4", "<i8"),
    "X_indices": ("<i4",),
    "X_values": ("<f4",),
    "Y_indptr": ("<i4", "<i8"),
    "Y_indices": ("<i4",),
    "Y_values": ("<f4",),  # left out if all are 1
    "weights": ("<f8",),
    "times": ("<i8", "<f8"),
    "groups": ("<i8",),
    "texts": ("|u1",),
    "texts_ends": ("<i8",),
}
_ALWAYS = {"X_indptr", "X_indices", "X_values", "Y_indptr", "Y_indices"}
_SHARED = {"label_names", "label_names_ends", "feature_names", "feature_names_ends"}
_KEYS = {
    "format", "version", "n_points", "n_features", "n_labels", "times", "encoder", "parts", "arrays", "checksum"
}  # fmt: skip
_verified: set[tuple[Any, ...]] = set()  # the files of parts, as they were when this process verified them


@dataclass(frozen=True)
class PartEntry:
    """One part: its number of points, and its arrays by name."""

    n_points: int
    arrays: dict[str, ArrayEntry]

    @property
    def n_values(self) -> int:
        """Number of stored values of X."""
        return self.arrays["X_values"].shape[0]

    @property
    def n_pairs(self) -> int:
        """Number of stored values of Y: pairs of a point and a label."""
        return self.arrays["Y_indices"].shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(entry.nbytes for entry in self.arrays.values())


@dataclass(frozen=True)
class PartsManifest:
    """The manifest of a dataset in parts: everything that is known without reading its arrays.

    Parameters
    ----------
    n_features, n_labels : int
    parts : list of PartEntry
    arrays : dict of ArrayEntry
        Label and feature names.
    times : str or None
        The type of the points' times, such as "datetime64[us]".
    encoder : str or None
        Checksum of the encoder's file.
    """

    n_features: int
    n_labels: int
    parts: list[PartEntry]
    arrays: dict[str, ArrayEntry] = field(default_factory=dict)
    times: str | None = None
    encoder: str | None = None

    @property
    def n_points(self) -> int:
        """Number of points of all parts."""
        return sum(part.n_points for part in self.parts)

    def body(self) -> dict[str, Any]:
        """Return the manifest as JSON values, without its checksum."""
        return {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "n_points": self.n_points,
            "n_features": self.n_features,
            "n_labels": self.n_labels,
            "times": self.times,
            "encoder": self.encoder,
            "parts": [{"n_points": part.n_points, "arrays": _entries_to_json(part.arrays)} for part in self.parts],
            "arrays": _entries_to_json(self.arrays),
        }

    def to_json(self) -> str:
        """Return the text of parts.json."""
        body = self.body()
        return json.dumps({**body, "checksum": _checksum(body)}, indent=1, sort_keys=True) + "\n"

    def fingerprint(self) -> str:
        """Return a hash of the dataset: the same for the same parts, 16 hexadecimal digits."""
        return _checksum(self.body())


def part_folder(number: int) -> str:
    """Return the name of a part's folder.

    Examples
    --------
    >>> part_folder(3)
    'part-00003'
    """
    return f"part-{number:05d}"


def read_manifest(folder: Path) -> PartsManifest:
    """Read and check the manifest of a folder of parts."""
    path = folder / MANIFEST_FILE
    if not path.exists():
        what = "no such folder" if not folder.exists() else f"not a dataset in parts: it has no {MANIFEST_FILE}"
        message = f"{folder}: {what}; make one with `labeltrees convert DATA -o FOLDER`"
        raise MissingFileError(message)
    with open_regular(path) as file:
        content = file.read(MANIFEST_BYTES + 1)
    return _Reader(path).read(content)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, fault: str) -> NoReturn:
        refuse_file(self.path, fault)

    def read(self, content: bytes) -> PartsManifest:
        try:
            body = json.loads(content) if len(content) <= MANIFEST_BYTES else None
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or body.get("format") != FORMAT_NAME:
            self.fail("not the manifest of a dataset in parts, or cut short; convert the data again")
        version = body.get("version")
        if version != FORMAT_VERSION:
            is_newer = isinstance(version, int) and version > FORMAT_VERSION
            advice = "upgrade labeltrees" if is_newer else "convert the data again"
            self.fail(f"version {version!r} of the format, this release reads {FORMAT_VERSION}: {advice}"[:200])
        if set(body) != _KEYS:
            self.fail(f"keys must be {sorted(_KEYS)}, got {sorted(body)}"[:300])
        if body.pop("checksum") != _checksum(body):
            self.fail("its checksum is wrong: the manifest was altered; convert the data again")
        n_points, n_features, n_labels = (self.count(body, name) for name in ("n_points", "n_features", "n_labels"))
        parts = [self.part(number, entry) for number, entry in enumerate(body["parts"])]
        arrays = {name: read_entry(name, entry, self.fail) for name, entry in body["arrays"].items()}
        if not set(arrays) <= _SHARED or not parts:
            self.fail("lists no parts, or unknown arrays")
        manifest = PartsManifest(n_features, n_labels, parts, arrays, body["times"], body["encoder"])
        if manifest.n_points != n_points or len({frozenset(part.arrays) - {"Y_values"} for part in parts}) > 1:
            self.fail("its parts do not belong together")
        if (manifest.times is not None) != ("times" in parts[0].arrays):
            self.fail("has times in the manifest or in its parts, but not in both")
        return manifest

    def count(self, body: dict[str, Any], name: str) -> int:
        value = body[name]
        if type(value) is not int or not 0 <= value < 2**31:
            self.fail(f"{name} must be a count below 2^31, got {value!r}"[:200])
        return value

    def part(self, number: int, entry: Any) -> PartEntry:
        if not isinstance(entry, dict) or set(entry) != {"n_points", "arrays"} or not isinstance(entry["arrays"], dict):
            self.fail(f"part {number}: must have n_points and arrays")
        n_points = self.count(entry, "n_points")
        arrays = {name: read_entry(name, array, self.fail) for name, array in entry["arrays"].items()}
        if not _ALWAYS <= set(arrays) <= set(PART_ARRAYS):
            self.fail(f"part {number}: has the arrays {sorted(arrays)}"[:300])
        for name, array in arrays.items():
            if array.dtype not in PART_ARRAYS[name] or len(array.shape) != 1:
                self.fail(f"part {number}: {name} must be a vector of {' or '.join(PART_ARRAYS[name])}")
        lengths = {name: array.shape[0] for name, array in arrays.items()}
        per_point = ["X_indptr", "Y_indptr", *(["texts_ends"] if "texts" in arrays else [])]
        same = [("X_indices", "X_values"), *([("Y_indices", "Y_values")] if "Y_values" in arrays else [])]
        if (
            any(lengths[name] != n_points + 1 for name in per_point)
            or any(lengths.get(name, n_points) != n_points for name in ("weights", "times", "groups"))
            or any(lengths[one] != lengths[other] for one, other in same)
        ):
            self.fail(f"part {number}: the lengths of its arrays do not agree")
        return PartEntry(n_points, arrays)


def _entries_to_json(arrays: dict[str, ArrayEntry]) -> dict[str, Any]:
    return {name: entry.to_json() for name, entry in sorted(arrays.items())}


def _checksum(body: dict[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    return checksum_text(_core.xxh64(np.frombuffer(canonical, np.uint8)))


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
        """Refuse a part if a file is missing or its size differs from the manifest."""
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
        """Refuse arrays that `PartsWriter` would not write: native code trusts them from here on."""
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
    """Return mapped bytes as an array whose base is not larger than it, because SciPy copies views of a larger base."""
    return np.frombuffer(mapped.data, dtype)[:]


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)
