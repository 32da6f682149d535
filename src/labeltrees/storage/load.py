"""Opening a model's folder: in milliseconds, whatever its size, because arrays are mapped and not read."""

from __future__ import annotations

import mmap
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees.errors import FileFormatError
from labeltrees.storage.format import MANIFEST_BYTES, MANIFEST_FILE, ArrayEntry, Manifest, checksum_text


@dataclass(frozen=True)
class LoadedModel:
    """A saved model's manifest and arrays."""

    folder: str
    manifest: Manifest
    arrays: dict[str, NDArray[Any]]


def load_arrays(folder: str | os.PathLike[str], *, in_memory: bool = False, verify: bool = False) -> LoadedModel:
    """Open what `save_arrays` saved.

    The manifest and the sizes and headers of all files are checked. What the arrays hold is not: chunks are checked as
    searches come to them.

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
        If anything is missing, too long, too short or otherwise not as it was saved.
    """
    path = Path(folder)
    manifest = Manifest.from_json(_read_manifest(path / MANIFEST_FILE), os.fspath(path / MANIFEST_FILE))
    arrays = {}
    for name, entry in manifest.arrays.items():
        file = path / f"{name}.npy"
        mapped = _map_file(file, entry)
        if verify and checksum_text(_core.xxh64(mapped)) != entry.checksum:
            _fail(file, "its checksum is wrong: the file was altered")
        data = mapped[len(entry.header()) :]
        if in_memory:
            data = _core.copy_to_huge_pages(data)
            data.flags.writeable = False
        arrays[name] = data.view(entry.dtype).reshape(entry.shape)
    return LoadedModel(os.fspath(path), manifest, arrays)


def _fail(file: Path, fault: str) -> NoReturn:
    message = f"{file}: {fault}"
    raise FileFormatError(message)


def _read_manifest(file: Path) -> str:
    try:
        with open(file, "rb") as opened:
            text = opened.read(MANIFEST_BYTES + 1)
    except OSError as error:
        _fail(file, error.strerror or "cannot be read")
    if len(text) > MANIFEST_BYTES:
        _fail(file, "too long for a manifest")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        _fail(file, "not UTF-8")


def _map_file(file: Path, entry: ArrayEntry) -> NDArray[np.uint8]:
    header = entry.header()
    try:
        # A pipe in place of the file would block the opening for ever.
        with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                _fail(file, "not a regular file")
            if status.st_size != len(header) + entry.nbytes:
                _fail(file, f"{status.st_size} bytes long, {len(header) + entry.nbytes} expected")
            if opened.read(len(header)) != header:
                _fail(file, "its header does not agree with the manifest")
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        _fail(file, error.strerror or "cannot be read")
    return np.frombuffer(mapped, np.uint8)
