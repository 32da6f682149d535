"""Names, such as those of labels: Unicode normalisation, hints for misspelt names, and encoding as two arrays."""

from __future__ import annotations

import difflib
import logging
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._validation import refuse
from labeltrees.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from labeltrees._core import Int64s, UInt8s

_logger = logging.getLogger("labeltrees")


def nfc(name: str) -> str:
    """Return a name in the Unicode form NFC, in which a letter and its accent are one character where possible.

    Examples
    --------
    >>> nfc("cafe\u0301") == "caf\u00e9"
    True
    """
    return name if name.isascii() else unicodedata.normalize("NFC", name)


_MOST_COMPARED = 20_000  # names to compare with a misspelt one, at about 5 us each


def similar_names(name: object, names: Iterable[Any]) -> list[str]:
    """Return at most 3 of `names`, those most similar to `name`, best first."""
    if not isinstance(name, str) or len(name) > 200:
        return []
    known = [str(other) for other, _ in zip(names, range(_MOST_COMPARED), strict=False)]
    most = 2 + len(name) // 4  # difference in length
    folded = {other.casefold(): other for other in reversed(known) if abs(len(other) - len(name)) <= most}
    return [folded[other] for other in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.7)]


def did_you_mean(name: object, names: Iterable[Any]) -> str:
    """Return the hint at the end of a message about an unknown name; empty if no name is similar.

    Examples
    --------
    >>> did_you_mean("blau", ["blue", "red"]), did_you_mean("blau", ["red"])
    ("; did you mean 'blue'?", '')
    """
    near = similar_names(name, names)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def nfc_labels(names: list[str]) -> list[str]:
    """Return label names in the form NFC, and log a warning if different names become equal.

    Otherwise a name typed in two ways that look the same would be two labels.
    """
    forms = {name: nfc(name) for name in set(names) if not name.isascii()}
    if all(name == form for name, form in forms.items()):
        return names
    report_merged(set(names))
    return [forms.get(name, name) for name in names]


def same_in_nfc(names: Iterable[str]) -> list[str]:
    """Return the NFC forms shared by several different names, sorted.

    Examples
    --------
    >>> same_in_nfc(["cafe\u0301", "caf\u00e9", "tea"]) == ["caf\u00e9"]
    True
    """
    first: dict[str, str] = {}
    return sorted({form for name in names if first.setdefault(form := nfc(name), name) != name})


def report_merged(names: Iterable[str]) -> None:
    """Log a warning with the label names that become equal in the form NFC."""
    merged = same_in_nfc(names)
    if merged:
        shown = ", ".join(map(repr, merged[:5])) + (" ..." if len(merged) > 5 else "")
        names_were = "label name was" if len(merged) == 1 else "label names were"
        _logger.warning(
            "%d %s given in several Unicode forms that look the same, and each is now one label: %s",
            len(merged),
            names_were,
            shown,
        )


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
