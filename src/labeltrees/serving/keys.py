"""API keys: which requests may use the server."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labeltrees._validation import refuse
from labeltrees.errors import FileFormatError


class Keys:
    """The keys of a server. Only their hashes are kept.

    Examples
    --------
    >>> keys = Keys(["secret"])
    >>> keys.allow([(b"authorization", b"Bearer secret")]), keys.allow([(b"x-api-key", b"guess")])
    (True, False)
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = [_hash(key.encode()) for key in keys]

    def __len__(self) -> int:
        return len(self._hashes)

    def allow(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether the headers of a request hold a key, as ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``."""
        for name, value in headers:
            lower = name.lower()
            if lower == b"x-api-key":
                return self._is_known(value)
            if lower == b"authorization" and value[:7].lower() == b"bearer ":
                return self._is_known(value[7:].strip())
        return False

    def _is_known(self, key: bytes) -> bool:
        # Every key is compared, each in constant time, so that the time says nothing about the keys.
        given = _hash(key)
        found = False
        for known in self._hashes:
            found |= hmac.compare_digest(given, known)
        return found


def _hash(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def read_keys(keys: Any) -> Keys:
    """Return the keys of a list, or of a file with one key per line; lines that start with # are comments."""
    if isinstance(keys, str | os.PathLike):
        lines = Path(keys).read_text("utf-8").splitlines()
        found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        if not found:
            message = f"{os.fspath(keys)}: contains no keys; write one per line"
            raise FileFormatError(message)
        return Keys(found)
    found = list(keys)
    if not all(isinstance(key, str) and key for key in found):
        refuse("api_keys", "texts that are not empty", "others")
    return Keys(found)
