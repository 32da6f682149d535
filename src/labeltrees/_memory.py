"""Memory: parsing sizes such as "4GiB", free memory, and peak memory."""

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
    """Return the available memory: free, or used by caches that can be freed. Half of all memory if unknown."""
    free = _kib_of("/proc/meminfo", "MemAvailable:")
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 if free is None else free * 1024


def peak_bytes() -> int:
    """Return the peak memory of this process.

    `getrusage` is only the fallback: on Linux it includes the memory of the parent process at the time of the start.
    """
    peak = _kib_of("/proc/self/status", "VmHWM:")
    if peak is None:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * 1024


def _kib_of(path: str, name: str) -> int | None:
    """Return a number of KiB from a file in /proc; None if it is not there."""
    try:
        with open(path) as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name)), None)
    except OSError:
        return None
