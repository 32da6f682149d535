"""Arrays as .npy files with checksums: written once, later mapped and checked against their manifest."""

from __future__ import annotations

import math
import mmap
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._files import refuse_file
from labeltrees._validation import refuse

DTYPES = ("|u1", "|b1", "<u2", "<i4", "<i8", "<u8", "<f4", "<f8")
MAX_ELEMENTS = 2**48
_BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class ArrayEntry:
    """The entry of one array in a manifest. The array is in the file ``<name>.npy``."""

    dtype: str
    shape: tuple[int, ...]
    checksum: str  # XXH64 of the whole file, 16 hexadecimal digits

    @property
    def nbytes(self) -> int:
        """Size of the array in bytes, without the header."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def header(self) -> bytes:
        """Return the .npy header, version 1.0, that the file must start with: its length is a multiple of 64."""
        shape = f"({', '.join(map(str, self.shape))}{',' if len(self.shape) == 1 else ''})"
        text = f"{{'descr': '{self.dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode("ascii")
        padded = text + b" " * (-(10 + len(text) + 1) % 64) + b"\n"
        return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        return {"dtype": self.dtype, "shape": list(self.shape), "checksum": self.checksum}


def read_entry(name: str, entry: Any, fail: Callable[[str], NoReturn]) -> ArrayEntry:
    """Return an entry from the JSON values of a manifest; `fail` raises the error for a fault."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "checksum"}:
        fail(f"array {name}: must have dtype, shape and checksum")
    dtype, shape, checksum = entry["dtype"], entry["shape"], entry["checksum"]
    if dtype not in DTYPES:
        fail(f"array {name}: dtype must be one of {', '.join(DTYPES)}, got {dtype!r}"[:300])
    if not isinstance(shape, list) or not 1 <= len(shape) <= 4:
        fail(f"array {name}: shape must be a list of 1 to 4 integers")
    if not all(type(n) is int and 0 <= n <= MAX_ELEMENTS for n in shape) or math.prod(shape) > MAX_ELEMENTS:
        fail(f"array {name}: shape {shape} is impossible"[:300])
    if not isinstance(checksum, str) or not re.fullmatch(r"[0-9a-f]{16}", checksum):
        fail(f"array {name}: checksum must be 16 hexadecimal digits")
    return ArrayEntry(dtype, tuple(shape), checksum)


def checksum_text(value: int) -> str:
    """Return a 64-bit checksum as 16 hexadecimal digits."""
    return f"{value:016x}"


def file_checksum(path: Path) -> str:
    """Return the checksum of a file."""
    return checksum_text(hash_file(path))


def hash_file(path: Path) -> int:
    """Return the XXH64 of a file. It is read in blocks, because a mapped file would count as memory of the process."""
    state = _core.Xxh64()
    block = np.empty(_BLOCK_BYTES, np.uint8)
    with open(path, "rb", buffering=0) as file:
        while (n_read := _fill(file, block)) == _BLOCK_BYTES:
            state.add(block)
    return state.finish(block[:n_read])


def _fill(file: IO[bytes], block: NDArray[np.uint8]) -> int:
    """Read until the block is full or the file ends; return the number of bytes read."""
    view, at = block.data, 0
    while n_read := file.readinto(view[at:]):  # type: ignore[attr-defined]
        at += n_read
    return at


def write_array(path: Path, array: NDArray[Any]) -> ArrayEntry:
    """Write an array as a new .npy file, flushed to disk, and return its entry."""
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<").str
    if dtype not in DTYPES or not 1 <= array.ndim <= 4:
        refuse(f"array {path.stem}", f"of one of the types {', '.join(DTYPES)} and 1 to 4 dimensions", array.dtype)
    data = np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8).data
    write_new_file(path, ArrayEntry(dtype, array.shape, "").header(), data)
    return ArrayEntry(dtype, array.shape, file_checksum(path))


def write_new_file(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file that must not exist, and flush it to disk."""
    with open(path, "xb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def map_array(path: Path, opened: IO[bytes], entry: ArrayEntry, *, verify: bool = False) -> NDArray[np.uint8]:
    """Map an open .npy file read-only and return its bytes, header first; refuse a file that differs from its entry."""
    header = entry.header()
    size = os.fstat(opened.fileno()).st_size
    if size != len(header) + entry.nbytes:
        refuse_file(path, f"{size} bytes long, {len(header) + entry.nbytes} expected")
    if opened.read(len(header)) != header:
        refuse_file(path, "its header does not agree with the manifest")
    mapped = np.frombuffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    if verify and checksum_text(_core.xxh64(mapped)) != entry.checksum:
        refuse_file(path, "its checksum is wrong: the file was altered")
    return mapped
