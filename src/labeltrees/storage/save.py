"""Writing a model's folder so that a crash leaves the old model or the new one complete."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from labeltrees._array_files import ArrayEntry, write_array, write_new_file
from labeltrees._files import open_regular, replacing_folder
from labeltrees._validation import refuse
from labeltrees.errors import InputError
from labeltrees.storage.format import (
    ARRAY_NAME,
    FORMAT_NAME,
    MANIFEST_BYTES,
    MANIFEST_FILE,
    Manifest,
)


def save_arrays(
    folder: str | os.PathLike[str], kind: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Save arrays and parameters as a model's folder, and replace a model that is there.

    Everything is written to a new folder next to it, flushed to disk, and put in place in one step. Processes that have
    the old model open can still use it.

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
        write_new_file(new / MANIFEST_FILE, Manifest(kind, dict(parameters), entries).to_json().encode("utf-8"))


def check_target(target: Path) -> None:
    """Refuse a folder that holds anything but a model: saving would delete it."""
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
    message = f"{target} exists and is not a saved model; choose another folder or delete it"
    raise InputError(message)


def _write_array(folder: Path, name: str, array: NDArray[Any]) -> ArrayEntry:
    if not ARRAY_NAME.fullmatch(name):
        refuse("an array's name", "lower-case letters, digits, underscores and dots", name)
    return write_array(folder / f"{name}.npy", array)
