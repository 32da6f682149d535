"""An encoder as one file, for folders of prepared data."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._files import open_regular, refuse_file, write_atomically
from labeltrees.data.encoders import Arrays, Encoder, encoder_from_files

ENCODER_FILE = "encoder.bin"  # its name in a folder with train.txt and test.txt
_MAGIC = b"labeltrees encoder 1\n"
_DTYPES = ("|u1", "<i8", "<f4", "<f8")
_HEADER_BYTES = 16 * 2**20  # longer headers are refused
_CHECKSUM_BYTES = 8


def write_encoder(encoder: Encoder, path: str | os.PathLike[str]) -> None:
    """Write an encoder to a file: a line of text, a line of JSON, the arrays, and a checksum (XXH64) of all of it."""
    settings, arrays = encoder.to_files("")
    stored = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in stored.items()]
    header = json.dumps({"encoder": settings, "arrays": listed}, sort_keys=True).encode("ascii") + b"\n"
    body = b"".join([_MAGIC, header, *(array.tobytes() for array in stored.values())])
    write_atomically(path, [body, _checksum(body)])


def read_encoder(path: str | os.PathLike[str]) -> Encoder:
    """Read an encoder that `write_encoder` wrote; raise `FileFormatError` if the file is damaged."""
    try:
        with open_regular(Path(path)) as file:
            content = file.read()
    except OSError as error:
        refuse_file(path, error.strerror or "cannot be read")
    body = content[:-_CHECKSUM_BYTES]
    if not content.startswith(_MAGIC):
        refuse_file(path, "not an encoder of this version of labeltrees; prepare the data again")
    if content[-_CHECKSUM_BYTES:] != _checksum(body):
        refuse_file(path, "its checksum is wrong: the file was altered or cut")
    end = body.find(b"\n", len(_MAGIC), len(_MAGIC) + _HEADER_BYTES)
    try:
        header = json.loads(body[len(_MAGIC) : end]) if end > 0 else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.keys() != {"encoder", "arrays"}:
        refuse_file(path, "its header is damaged")
    arrays = _read_arrays(path, header["arrays"], body, end + 1)
    return encoder_from_files(header["encoder"], arrays, "", os.fspath(path))


def _read_arrays(path: str | os.PathLike[str], listed: Any, body: bytes, start: int) -> Arrays:
    arrays: Arrays = {}
    for entry in listed if isinstance(listed, list) else [None]:
        if not isinstance(entry, list) or len(entry) != 3 or entry[1] not in _DTYPES:
            refuse_file(path, "its list of arrays is damaged")
        name, dtype, shape = entry
        sound = isinstance(name, str) and isinstance(shape, list) and len(shape) == 1 and type(shape[0]) is int
        if not sound or not 0 <= shape[0] <= len(body):
            refuse_file(path, "its list of arrays is damaged")
        end = start + math.prod(shape) * np.dtype(dtype).itemsize
        if end > len(body):
            refuse_file(path, "shorter than its arrays")
        arrays[name] = np.frombuffer(body, dtype, shape[0], start).copy()  # so that it is aligned
        start = end
    if start != len(body):
        refuse_file(path, "longer than its arrays")
    return arrays


def _checksum(body: bytes) -> bytes:
    return _core.xxh64(np.frombuffer(body, np.uint8)).to_bytes(_CHECKSUM_BYTES, "little")
