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
from labeltrees.serving.http import FindHeader


class Keys:
    """The keys of a server. Only their hashes are kept.

    Examples
    --------
    >>> keys = Keys(["secret"])
    >>> keys.allow({"authorization": "Bearer secret"}.get), keys.allow({"x-api-key": "guess"}.get)
    (True, False)
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = [_hash(key) for key in keys]

    def __len__(self) -> int:
        return len(self._hashes)

    def allow(self, header: FindHeader) -> bool:
        """Whether the headers of a request hold a key, as ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``."""
        key = header("x-api-key")
        if key is not None:
            return self._is_known(key)
        bearer = header("authorization") or ""
        return bearer[:7].lower() == "bearer " and self._is_known(bearer[7:].strip())

    def _is_known(self, key: str) -> bool:
        # Every key is compared, each in constant time, so that the time says nothing about the keys.
        given = _hash(key)
        found = False
        for known in self._hashes:
            found |= hmac.compare_digest(given, known)
        return found


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


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
