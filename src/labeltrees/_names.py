"""Strings, such as label names, as two arrays: their UTF-8 bytes one after another, and their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.errors import FileFormatError

if TYPE_CHECKING:
    from labeltrees._core import Int64s, UInt8s


def encode_names(names: Sequence[str]) -> tuple[UInt8s, Int64s]:
    """Return the UTF-8 bytes of all names, and the n + 1 bounds between them.

    Examples
    --------
    >>> encode_names(["a", "bc"])
    (array([97, 98, 99], dtype=uint8), array([0, 1, 3]))
    """
    encoded = [str(name).encode("utf-8") for name in names]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=ends[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def decode_names(text: UInt8s, ends: Int64s, source: str = "names") -> list[str]:
    """Return the names that `encode_names` encoded.

    Examples
    --------
    >>> decode_names(*encode_names(["a", "bc"]))
    ['a', 'bc']
    """
    if len(ends) < 1 or ends[0] != 0 or ends[-1] != len(text) or np.any(np.diff(ends) < 0):
        message = f"{source}: the bounds of the names are damaged"
        raise FileFormatError(message)
    whole = text.tobytes()
    try:
        return [whole[start:end].decode("utf-8") for start, end in pairwise(ends.tolist())]
    except UnicodeDecodeError:
        message = f"{source}: a name is not UTF-8"
        raise FileFormatError(message) from None
