"""The result of a task as one file: arrays that can be mapped, a few JSON values, and a checksum."""

from __future__ import annotations

import json
import mmap
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._array_files import DTYPES, hash_file
from labeltrees._files import refuse_file
from labeltrees.errors import FileFormatError

_MAGIC = b"labeltrees result 1\n"
_LINE = 64
_CHECKSUM_BYTES = 8
_verified: set[tuple[Any, ...]] = set()  # files as they were when this process verified them


@dataclass(frozen=True, eq=False)
class Result:
    """Arrays and values of a finished task."""

    arrays: dict[str, NDArray[Any]]
    values: dict[str, Any]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def get(self, name: str) -> NDArray[Any] | None:
        """Return an array, None if the task had none of this name."""
        return self.arrays.get(name)


def write_result(path: Path, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any] | None = None) -> int:
    """Write a result and return its size. The file appears complete or not at all; the same input, the same bytes.

    It is not flushed to disk: a file that a crash of the machine has damaged is recognised by its checksum, and its
    task runs again.
    """
    stored = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1) for name, array in arrays.items()
    }
    listed = [[name, array.dtype.str, len(array)] for name, array in stored.items()]
    header = json.dumps({"arrays": listed, "values": dict(values or {})}, sort_keys=True).encode()
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
    """Map a result. It is compared with its checksum when this process first opens it."""
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
    begin = len(_MAGIC) + 8
    length = int.from_bytes(mapped[len(_MAGIC) : begin].tobytes(), "little")
    header = json.loads(mapped[begin : begin + length].tobytes())
    at = begin + length
    at += -at % _LINE
    arrays = {}
    for name, dtype, count in header["arrays"]:
        assert dtype in DTYPES
        n_bytes = count * np.dtype(dtype).itemsize
        arrays[name] = body[at : at + n_bytes].view(dtype)
        at += n_bytes + -n_bytes % _LINE
    return Result(arrays, header["values"])


def is_finished(path: Path) -> bool:
    """Whether a result exists and is sound; a damaged one is deleted, so that its task runs again."""
    if not path.exists():
        return False
    try:
        open_result(path)
    except FileFormatError:
        path.unlink(missing_ok=True)
        return False
    return True
