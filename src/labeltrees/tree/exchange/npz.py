"""A strict reader of .npz files from other programs: numbers only, and every size is checked before it is used."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from labeltrees._files import refuse_file
from labeltrees.errors import FileFormatError

_HEADER = re.compile(
    rb"\{'descr': '([<|][bfiuSU]\d{1,3})', 'fortran_order': (?:False|True), 'shape': \(((?:\d{1,18},? ?)*)\), \} *\n"
)
MAX_DEFLATION = 1032  # zlib compresses at most this many times


def read_npz(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the named arrays, each of at most one dimension."""
    data = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: _read_member(path, archive, name, len(data)) for name in names}
    except FileFormatError:
        raise
    except KeyError as error:
        refuse_file(path, f"has a missing member: {error.args[0]}")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        # The bytes are in memory, so every error here is about the contents, not about the disk.
        refuse_file(path, f"is not a supported npz file: {error}")


def _read_member(path: Path, archive: zipfile.ZipFile, name: str, n_bytes: int) -> Any:
    info = archive.getinfo(f"{name}.npy")

    def fail(fault: str) -> NoReturn:
        refuse_file(path, f"member {name}: {fault}")

    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        fail("has an unsupported compression")
    if info.file_size > MAX_DEFLATION * info.compress_size + 64 or info.compress_size > n_bytes:
        fail(f"claims {info.file_size} bytes in {info.compress_size}")
    with archive.open(info) as member:
        raw = member.read(info.file_size + 1)
    if len(raw) != info.file_size or raw[:8] not in (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00"):
        fail("is not an array of npy version 1 or 2")
    start = 10 if raw[6] == 1 else 12
    end = start + int.from_bytes(raw[8:start], "little")
    header = _HEADER.fullmatch(raw[start:end])
    if header is None or end > len(raw):
        fail("has an unsupported npy header")
    dtype = np.dtype(header[1].decode())
    sizes = [int(size) for size in re.findall(rb"\d+", header[2])]
    count = sizes[0] if sizes else 1
    if len(sizes) > 1 or len(raw) - end != count * dtype.itemsize or dtype.itemsize == 0:
        fail(f"has {len(raw) - end} bytes where its header claims {sizes} values of {dtype}")
    array = np.frombuffer(raw, dtype=dtype, offset=end)
    return array if sizes else array.reshape(())
