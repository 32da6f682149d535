"""The check for texts and names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._names import nfc
from labeltrees._validation import refuse
from labeltrees.errors import InputError


def check_label_names(values: Any, count: int) -> NDArray[np.object_]:
    """Return `count` different names in the Unicode form NFC as a read-only 1-D array of str."""
    names = check_texts("label_names", values, count, unique=True)
    if all(map(str.isascii, names)):
        return names
    return check_texts("label_names", list(map(nfc, names)), count, unique=True)


def check_texts(name: str, values: Any, count: int, *, unique: bool = False) -> NDArray[np.object_]:
    """Return `count` strings as a read-only 1-D array of str."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            refuse(name, "one-dimensional", f"an array of shape {values.shape}")
        values = values.tolist()
    if isinstance(values, str | bytes):
        refuse(name, "a sequence of strings", values)
    strings = list(values)
    if len(strings) != count:
        refuse(name, f"{count} strings", f"{len(strings)} of them")
    if not set(map(type, strings)) <= {str}:
        for i, string in enumerate(strings):
            if not isinstance(string, str):
                refuse(f"{name}[{i}]", "a string", string)
        strings = [str(string) for string in strings]
    if unique and len(set(strings)) < count:
        first: dict[str, int] = {}
        for i, string in enumerate(strings):
            if first.setdefault(string, i) != i:
                message = f"{name} has {string!r} twice, at {first[string]} and {i}"
                raise InputError(message)
    array = np.array(strings, dtype=np.object_)
    array.flags.writeable = False
    return array
