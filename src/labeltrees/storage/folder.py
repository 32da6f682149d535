"""A model's folder: a manifest and mapped arrays.

Opening takes milliseconds for any size, because arrays are mapped and not read. After a crash while saving, the folder
holds either the old model or the new one, complete.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._array_files import (
    ArrayEntry,
    checksum_text,
    map_array,
    read_entry,
    write_array,
    write_new_file,
)
from labeltrees._files import (
    check_path,
    is_being_replaced,
    open_regular,
    refuse_file,
    remove_leftovers,
    replacing_folder,
)
from labeltrees._validation import refuse
from labeltrees.errors import FileFormatError, InputError, Phrase

FORMAT_NAME = "labeltrees"
FORMAT_VERSION = 1
MANIFEST_FILE = "manifest.json"
MANIFEST_BYTES = 16 * 2**20  # longer manifests are refused
ARRAY_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}(\.[a-z0-9_]{1,63}){0,4}")


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json: class, parameters and array entries of a saved model.

    Parameters
    ----------
    kind : str
        The class that was saved.
    parameters : dict
        Its parameters and other values that `load` needs, as JSON values.
    arrays : dict of ArrayEntry
    """

    kind: str
    parameters: dict[str, Any]
    arrays: dict[str, ArrayEntry]

    def to_json(self) -> str:
        """Return the text of manifest.json."""
        body = {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "class": self.kind,
            "parameters": self.parameters,
            "arrays": {name: entry.to_json() for name, entry in sorted(self.arrays.items())},
        }
        whole = {**body, "checksum": _checksum_of_body(body)}
        return json.dumps(whole, indent=1, sort_keys=True, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> Manifest:
        """Read manifest.json; a fault is a `FileFormatError` that names `source`."""
        return _ManifestReader(source).read(text)


def _checksum_of_body(body: dict[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    return checksum_text(_core.xxh64(np.frombuffer(canonical, np.uint8)))


class _ManifestReader:
    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, fault: str) -> NoReturn:
        message = f"{self.source}: {fault}"
        raise FileFormatError(message)

    def read(self, text: str) -> Manifest:
        try:
            body = json.loads(text, object_pairs_hook=self.unique, parse_constant=self.no_constant)
        except (
            ValueError,
            RecursionError,
            MemoryError,
        ) as error:  # ValueError: not JSON, or a number of too many digits
            self.fail(f"not JSON that can be read: {error}"[:300])
        if not isinstance(body, dict) or body.get("format") != FORMAT_NAME:
            self.fail(f"not the manifest of a {FORMAT_NAME} model")
        version = body.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            self.fail(f"version must be a positive integer, got {version!r}")
        if version > FORMAT_VERSION:
            self.fail(
                f"format version {version} is newer than this release reads ({FORMAT_VERSION}): upgrade labeltrees"
            )
        expected = {"format", "version", "class", "parameters", "arrays", "checksum"}
        if set(body) != expected:
            self.fail(f"keys must be {sorted(expected)}, got {sorted(body)}"[:300])
        checksum = body.pop("checksum")
        if checksum != self.checksum_of(body):
            self.fail("its checksum is wrong: the manifest was altered")
        if not isinstance(body["class"], str) or not isinstance(body["parameters"], dict):
            self.fail("class must be a string and parameters an object")
        if not isinstance(body["arrays"], dict):
            self.fail("arrays must be an object")
        arrays = {name: self.read_array(name, entry) for name, entry in body["arrays"].items()}
        return Manifest(body["class"], body["parameters"], arrays)

    def checksum_of(self, body: dict[str, Any]) -> str:
        try:
            return _checksum_of_body(body)
        except (ValueError, RecursionError, MemoryError) as error:  # ValueError: 1e999 is read as infinity
            self.fail(f"a value that JSON cannot have: {error}"[:300])

    def unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            self.fail("a key occurs twice")
        return result

    def no_constant(self, name: str) -> NoReturn:
        self.fail(f"{name} is not a number")

    def read_array(self, name: str, entry: Any) -> ArrayEntry:
        if not ARRAY_NAME.fullmatch(name):
            self.fail(f"{name!r} is not a valid array name"[:200])
        return read_entry(name, entry, self.fail)


def save_arrays(
    folder: str | os.PathLike[str], kind: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Save arrays and parameters as a model's folder, replacing an existing model.

    Everything is written to a new folder next to it and flushed to disk; then the new folder is put in place in one
    step. Processes that have the old model open can still use it.

    Parameters
    ----------
    folder : path
        Created, or replaced if it holds a model; a folder with other files is refused.
    kind : str
        The class that is saved.
    parameters : mapping of JSON values
    arrays : mapping of names to arrays
        Names of lower-case letters, digits, underscores and dots.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from labeltrees.storage import load_arrays
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_arrays(folder + "/model", "Example", {"k": 5}, {"weights": np.arange(3)})
    ...     load_arrays(folder + "/model").arrays["weights"]
    array([0, 1, 2])
    """
    target = Path(os.path.abspath(folder))
    check_target(target)
    try:
        json.dumps(dict(parameters), allow_nan=False)
    except (TypeError, ValueError) as error:
        refuse("parameters", f"JSON values ({error})", parameters)
    with replacing_folder(target) as new:
        entries = {name: _write_array(new, name, array) for name, array in arrays.items()}
        if _shared_folder.get() is not None:
            _share_files(Path(str(_shared_folder.get())), new, entries)
        write_new_file(new / MANIFEST_FILE, Manifest(kind, dict(parameters), entries).to_json().encode("utf-8"))


_shared_folder: ContextVar[str | None] = ContextVar("_shared_folder", default=None)


@contextmanager
def sharing_with(folder: Path) -> Iterator[None]:
    """Share files with the model in `folder`, by hard link, where models saved in this context have equal files."""
    token = _shared_folder.set(os.fspath(folder))
    try:
        yield
    finally:
        _shared_folder.reset(token)


def _share_files(folder: Path, new: Path, names: Iterable[str]) -> None:
    """Replace new files that are equal in another model by hard links, if the file system supports them."""
    for name in names:
        written, other = new / f"{name}.npy", folder / f"{name}.npy"
        link = new / f"{name}.link"
        try:
            if not filecmp.cmp(written, other, shallow=False):
                continue
            os.link(other, link)
            os.replace(link, written)
        except OSError:
            link.unlink(missing_ok=True)


def check_target(target: Path) -> None:
    """Refuse a folder with other files than those of a saved model: saving would delete them."""
    check_path(target)
    if not os.path.lexists(target):
        return
    if target.is_dir():
        names = {entry.name for entry in os.scandir(target)}
        arrays = _arrays_in(target)
        others = names if arrays is None else names - {MANIFEST_FILE, *arrays}
        if not others:
            return
        if others != names:
            message = (
                f"{target} is a saved model with a file that is not part of it, {min(others)}, which saving would "
                "delete; move it, or choose another folder"
            )
            raise InputError(message)
    message = f"{target} exists and is not a saved model; choose another folder or delete it"
    raise InputError(message)


def _arrays_in(folder: Path) -> list[str] | None:
    """Return the names of the array files of a saved model; None if the folder does not hold one."""
    try:
        with open_regular(folder / MANIFEST_FILE) as file:
            manifest = json.loads(file.read(MANIFEST_BYTES))
        return [f"{name}.npy" for name in manifest["arrays"]] if manifest["format"] == FORMAT_NAME else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_array(folder: Path, name: str, array: NDArray[Any]) -> ArrayEntry:
    if not ARRAY_NAME.fullmatch(name):
        refuse("an array's name", "lower-case letters, digits, underscores and dots", name)
    return write_array(folder / f"{name}.npy", array)


MAX_ATTEMPTS = 100
_PAUSE_SECONDS = 0.002


@dataclass(frozen=True)
class LoadedModel:
    """A saved model's manifest and arrays."""

    folder: str
    manifest: Manifest
    arrays: dict[str, NDArray[Any]]


def load_arrays(folder: str | os.PathLike[str], *, in_memory: bool = False, verify: bool = False) -> LoadedModel:
    """Open a model that `save_arrays` saved.

    The manifest and the sizes and headers of all files are checked, but not the contents of the arrays: chunks are
    checked when a search first reads them. If another process replaces the model meanwhile, loading starts over, so
    that all arrays belong to the same model.

    Parameters
    ----------
    folder : path
    in_memory : bool
        Copy the arrays, into huge pages where the system has them. Otherwise they are mapped read-only, and processes
        that open the same model share its memory.
    verify : bool
        Read everything and compare checksums.

    Returns
    -------
    LoadedModel

    Raises
    ------
    FileFormatError
        If a file is missing, has the wrong length or is damaged in another way.
    """
    path = Path(folder)
    check_path(path)
    remove_leftovers(path)
    fault = None
    for _ in range(MAX_ATTEMPTS):
        try:
            with _OpenFolder(path) as opened:
                try:
                    loaded = _read_model(opened, in_memory, verify)
                except FileFormatError:
                    if opened.is_current():
                        raise
                else:
                    if opened.is_current():
                        return loaded
        except _FolderMissingError as error:
            if not is_being_replaced(path):
                raise
            fault = error
            time.sleep(_PAUSE_SECONDS)
    message = f"{path}: replaced by another process during each of {MAX_ATTEMPTS} attempts to load it; load it again"
    raise FileFormatError(message) from fault


class _FolderMissingError(FileFormatError, FileNotFoundError):
    """The folder does not exist, perhaps because a save is replacing it at this moment."""


class _OpenFolder:
    """A folder whose files are opened through one handle, so that all belong to the same version.

    `save` puts a new folder in place of the old one and then deletes the old files; it never changes a file. On
    systems that cannot open files through a handle, only `is_current` protects against a mixture of versions.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle: int | None = None
        try:
            if os.open in os.supports_dir_fd:
                self.handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            self._version = _identity(os.stat(path if self.handle is None else self.handle))
        except FileNotFoundError:
            message = f"{path}: no such folder"
            raise _FolderMissingError(message) from None
        except OSError as error:
            refuse_file(path, error.strerror or "cannot be opened")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            os.close(self.handle)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file of the folder; errors name the file."""
        try:
            with open_regular(self.path / name, self.handle) as opened:
                yield opened
        except OSError as error:
            refuse_file(self.path / name, error.strerror or "cannot be read")

    def is_current(self) -> bool:
        """Whether the path still leads to this folder, and no file in it was added, renamed or deleted."""
        try:
            return _identity(os.stat(self.path)) == self._version
        except OSError:
            return False


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _read_model(folder: _OpenFolder, in_memory: bool, verify: bool) -> LoadedModel:
    source = os.fspath(folder.path / MANIFEST_FILE)
    manifest = Manifest.from_json(_read_manifest(folder), source)
    arrays = {}
    for name, entry in manifest.arrays.items():
        with folder.open(f"{name}.npy") as opened:
            mapped = map_array(folder.path / f"{name}.npy", opened, entry, verify=verify)
        data = mapped[len(entry.header()) :]
        if in_memory:
            data = _core.copy_to_huge_pages(data)
            data.flags.writeable = False
        arrays[name] = data.view(entry.dtype).reshape(entry.shape)
    return LoadedModel(os.fspath(folder.path), manifest, arrays)


def _read_manifest(folder: _OpenFolder) -> str:
    file = folder.path / MANIFEST_FILE
    if not file.exists() and folder.is_current():  # otherwise another process is replacing the model
        refuse_file(folder.path, f"not a saved model: the folder has no {MANIFEST_FILE}", Phrase.NOT_A_MODEL)
    with folder.open(MANIFEST_FILE) as opened:
        text = opened.read(MANIFEST_BYTES + 1)
    if len(text) > MANIFEST_BYTES:
        refuse_file(file, "too long for a manifest")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        refuse_file(file, "not UTF-8")
