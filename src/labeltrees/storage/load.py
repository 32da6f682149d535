"""Opening a model's folder: in milliseconds, whatever its size, because arrays are mapped and not read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._array_files import map_array
from labeltrees._files import is_being_replaced, open_regular, refuse_file, remove_leftovers
from labeltrees.errors import FileFormatError, Phrase
from labeltrees.storage.format import MANIFEST_BYTES, MANIFEST_FILE, Manifest

MAX_ATTEMPTS = 100
_PAUSE_SECONDS = 0.002


@dataclass(frozen=True)
class LoadedModel:
    """A saved model's manifest and arrays."""

    folder: str
    manifest: Manifest
    arrays: dict[str, NDArray[Any]]


def load_arrays(folder: str | os.PathLike[str], *, in_memory: bool = False, verify: bool = False) -> LoadedModel:
    """Open what `save_arrays` saved.

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


class _FolderMissingError(FileFormatError):
    """The folder does not exist, or a save is just putting it in place."""


class _OpenFolder:
    """A folder whose files are opened through one handle, so that they stay those of one version.

    `save` puts a new folder in place of the old one and then deletes the old files; it never changes a file. Systems
    whose files cannot be opened through a handle rely on `is_current` alone.
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
        """Whether the path still leads to this folder, and nothing in it was added, renamed or deleted."""
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
