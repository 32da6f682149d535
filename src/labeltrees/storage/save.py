"""Writing a model's folder so that a crash leaves the old model or the new one, never a half."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._files import open_regular, replacing_folder
from labeltrees._validation import refuse
from labeltrees.errors import InputError
from labeltrees.storage.format import (
    ARRAY_NAME,
    DTYPES,
    FORMAT_NAME,
    MANIFEST_BYTES,
    MANIFEST_FILE,
    ArrayEntry,
    Manifest,
    checksum_text,
)


def save_arrays(
    folder: str | os.PathLike[str], kind: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Save arrays and parameters as a model's folder, replacing a model that is there.

    Everything is written to a new folder beside it, flushed to disk, and put in place in one step. Processes that have
    the old model open keep it.

    Parameters
    ----------
    folder : path
        Made, or replaced if it holds a model; a folder with anything else in it is refused.
    kind : str
        The class saved.
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
        _write_file(new / MANIFEST_FILE, Manifest(kind, dict(parameters), entries).to_json().encode("utf-8"))


def check_target(target: Path) -> None:
    """Refuse a folder that holds anything but a model: saving would take it away."""
    if target.is_dir():
        names = {entry.name for entry in os.scandir(target)}
        if not names:
            return
        try:
            with open_regular(target / MANIFEST_FILE) as file:
                manifest = json.loads(file.read(MANIFEST_BYTES))
            if manifest["format"] == FORMAT_NAME and all(n == MANIFEST_FILE or n.endswith(".npy") for n in names):
                return
        except (OSError, ValueError, KeyError, TypeError):
            pass
    elif not os.path.lexists(target):
        return
    message = f"{target} exists and is not a saved model: not replaced"
    raise InputError(message)


def _write_array(folder: Path, name: str, array: NDArray[Any]) -> ArrayEntry:
    if not ARRAY_NAME.fullmatch(name):
        refuse("an array's name", "lower-case letters, digits, underscores and dots", name)
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<").str
    if dtype not in DTYPES or not 1 <= array.ndim <= 4:
        refuse(f"array {name}", f"of one of the types {', '.join(DTYPES)} and 1 to 4 dimensions", array.dtype)
    data = np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8).data
    header = ArrayEntry(dtype, array.shape, "").header()
    path = folder / f"{name}.npy"
    _write_file(path, header, data)
    checksum = checksum_text(_core.xxh64(np.memmap(path, np.uint8, mode="r")))
    return ArrayEntry(dtype, array.shape, checksum)


def _write_file(path: Path, *parts: bytes | memoryview) -> None:
    with open(path, "xb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
