"""Results of tasks: files in a folder, or objects in this process.

A file contains arrays, which are mapped when it is opened, JSON values, and a checksum.
"""

from __future__ import annotations

import json
import mmap
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._array_files import DTYPES, checksum_text, hash_file
from labeltrees._files import refuse_file
from labeltrees.errors import FileFormatError

_MAGIC = b"labeltrees result 1\n"
_LINE = 64
_CHECKSUM_BYTES = 8
Outcome = tuple[Mapping[str, Any], Mapping[str, Any]]  # arrays and values
_verified: set[tuple[Any, ...]] = set()  # files verified by this process: path, inode, time and size


@dataclass(frozen=True, eq=False)
class Result:
    """Arrays and values of a finished task."""

    arrays: dict[str, NDArray[Any]]
    values: dict[str, Any]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def get(self, name: str) -> NDArray[Any] | None:
        """Return an array, or None if the result has no array of this name."""
        return self.arrays.get(name)


class Results(ABC):
    """Storage of task results, by name."""

    folder: Path | None  # None if results are in the memory of this process

    @abstractmethod
    def __contains__(self, name: str) -> bool: ...

    @abstractmethod
    def __getitem__(self, name: str) -> Result: ...

    @abstractmethod
    def put(self, name: str, arrays: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> int:
        """Store a result and return the number of bytes written."""

    @abstractmethod
    def store(self, kind: str, arrays: Mapping[str, Any]) -> str:
        """Store arrays that are not the result of a task, and return their name."""

    @abstractmethod
    def drop(self, names: Iterable[str]) -> None:
        """Free the memory of results that are no longer needed."""


class MemoryResults(Results):
    """Results as objects in this process: nothing is copied or written, and arrays and values may be any objects."""

    folder = None

    def __init__(self) -> None:
        self._kept: dict[str, Result] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    def __getitem__(self, name: str) -> Result:
        return self._kept[name]

    def put(self, name: str, arrays: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> int:
        """Store a result; no bytes are written."""
        self._kept[name] = Result(dict(arrays), dict(values or {}))
        return 0

    def store(self, kind: str, arrays: Mapping[str, Any]) -> str:
        """Store arrays under a new name."""
        name = f"{kind}-{len(self._kept)}-{uuid.uuid4().hex[:12]}"
        self.put(name, arrays)
        return name

    def drop(self, names: Iterable[str]) -> None:
        """Forget results."""
        for name in names:
            self._kept.pop(name, None)


@dataclass(frozen=True)
class FolderResults(Results):
    """Results as files in a folder, which other processes can read. They are kept, and a later run can reuse them."""

    folder: Path

    def __contains__(self, name: str) -> bool:
        return is_finished(self.folder / name)

    def __getitem__(self, name: str) -> Result:
        return open_result(self.folder / name)

    def put(self, name: str, arrays: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> int:
        """Write a result and return its size."""
        return write_result(self.folder / name, arrays, values)

    def store(self, kind: str, arrays: Mapping[str, Any]) -> str:
        """Write arrays and return the name of their file: a hash of their content."""
        hashes = [[key, int(_core.xxh64(np.ascontiguousarray(array).view(np.uint8)))] for key, array in arrays.items()]
        name = f"{kind}-{checksum_text(_core.xxh64(np.frombuffer(json.dumps(hashes).encode(), np.uint8)))}"
        self.put(name, arrays)
        return name

    def drop(self, names: Iterable[str]) -> None:
        """Do nothing: files take no memory."""

    def new_path(self, kind: str) -> Path:
        """Return a new path for other output of a task, such as a model or a data frame.

        The task returns the file's name in its values. Every attempt of a task gets another path, so that two workers
        that run the same task never write to the same file.
        """
        return self.folder / f"{kind}-{uuid.uuid4().hex[:12]}"


def write_result(path: Path, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any] | None = None) -> int:
    """Write a result and return its size. It is written in one step; equal input gives equal bytes.

    The file is not flushed to disk. If a crash of the machine damages it, its checksum reveals that, and its task runs
    again.
    """
    stored = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1) for name, array in arrays.items()
    }
    listed = [[name, array.dtype.str, len(array)] for name, array in stored.items()]
    described = {"name": path.name, "arrays": listed, "values": dict(values or {})}
    header = json.dumps(described, sort_keys=True).encode()
    start = _MAGIC + len(header).to_bytes(8, "little") + header
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        with open(temporary, "xb") as file:
            file.write(start + b"\0" * (-len(start) % _LINE))
            for array in stored.values():
                file.write(array.view(np.uint8).data)
                file.write(b"\0" * (-array.nbytes % _LINE))
            file.flush()
            checksum = hash_file(temporary)
            file.write(checksum.to_bytes(_CHECKSUM_BYTES, "little"))
        size = temporary.stat().st_size
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return size


def open_result(path: Path) -> Result:
    """Map a result. Its checksum is verified when this process first opens the file."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except (OSError, ValueError) as error:
        refuse_file(path, f"cannot be read: {error}")
    body = mapped[:-_CHECKSUM_BYTES]
    key = (os.fspath(path), status.st_ino, status.st_mtime_ns, status.st_size)
    if key not in _verified:
        if bytes(mapped[: len(_MAGIC)]) != _MAGIC or _core.xxh64(body) != int.from_bytes(
            mapped[-_CHECKSUM_BYTES:].tobytes(), "little"
        ):
            refuse_file(path, "damaged, or cut short")
        _verified.add(key)
    try:
        return _read_body(path.name, body)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        refuse_file(path, f"not the result of this task: {error}")


def _read_body(name: str, body: NDArray[np.uint8]) -> Result:
    begin = len(_MAGIC) + 8
    length = int.from_bytes(body[len(_MAGIC) : begin].tobytes(), "little")
    header = json.loads(body[begin : begin + length].tobytes())
    if header["name"] != name:
        message = f"it is that of {str(header['name'])[:100]}"
        raise ValueError(message)
    at = begin + length
    at += -at % _LINE
    arrays = {}
    for array, dtype, count in header["arrays"]:
        if dtype not in DTYPES or type(count) is not int or count < 0:
            message = f"the array {str(array)[:100]} is of another kind"
            raise ValueError(message)
        n_bytes = count * np.dtype(dtype).itemsize
        if at + n_bytes > len(body):
            message = f"the array {str(array)[:100]} is cut short"
            raise ValueError(message)
        arrays[array] = body[at : at + n_bytes].view(dtype)
        at += n_bytes + -n_bytes % _LINE
    return Result(arrays, header["values"])


def is_finished(path: Path) -> bool:
    """Whether a valid result exists. A damaged one is deleted, so that its task runs again."""
    if not path.exists():
        return False
    try:
        open_result(path)
    except FileFormatError:
        path.unlink(missing_ok=True)
        return False
    return True
