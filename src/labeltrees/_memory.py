"""Sizes of memory: reading "4GiB", and how much is free."""

from __future__ import annotations

import os
import re
from typing import Any

from labeltrees._validation import check_integer, refuse

_UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_UNITS |= {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def parse_bytes(name: str, value: Any) -> int:
    """Return a size given as a number of bytes or as text.

    Examples
    --------
    >>> parse_bytes("max_memory", "1.5GiB"), parse_bytes("max_memory", 1000)
    (1610612736, 1000)
    """
    if not isinstance(value, str):
        return check_integer(name, value, 1)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", value)
    if match is None or match[2].lower() not in _UNITS or float(match[1]) == 0:
        refuse(name, "a number of bytes, or a size such as 4GiB or 700MiB", value)
    return int(float(match[1]) * _UNITS[match[2].lower()])


def free_bytes() -> int:
    """Return the memory that is free or can be freed at once."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
