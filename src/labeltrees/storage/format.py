"""The format of a model's folder: `manifest.json` and one `.npy` file per array; docs/format.md has every detail."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from labeltrees import _core
from labeltrees._array_files import DTYPES, MAX_ELEMENTS, ArrayEntry, checksum_text, read_entry
from labeltrees.errors import FileFormatError

__all__ = ["DTYPES", "MAX_ELEMENTS", "ArrayEntry", "Manifest", "checksum_text"]

FORMAT_NAME = "labeltrees"
FORMAT_VERSION = 1
MANIFEST_FILE = "manifest.json"
MANIFEST_BYTES = 16 * 2**20  # longer manifests are refused
ARRAY_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}(\.[a-z0-9_]{1,63}){0,3}")


@dataclass(frozen=True)
class Manifest:
    """The readable part of a saved model.

    Parameters
    ----------
    kind : str
        The class that was saved.
    parameters : dict
        Its parameters and other values that `load` needs, as JSON values.
    arrays : dict of ArrayEntry
    """

    kind: str
    parameters: dict[str, Any]
    arrays: dict[str, ArrayEntry]

    def to_json(self) -> str:
        """Return the text of manifest.json."""
        body = {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "class": self.kind,
            "parameters": self.parameters,
            "arrays": {name: entry.to_json() for name, entry in sorted(self.arrays.items())},
        }
        whole = {**body, "checksum": _checksum_of_body(body)}
        return json.dumps(whole, indent=1, sort_keys=True, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> Manifest:
        """Read manifest.json; a fault is a `FileFormatError` that names `source`."""
        return _ManifestReader(source).read(text)


def _checksum_of_body(body: dict[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    return checksum_text(_core.xxh64(np.frombuffer(canonical, np.uint8)))


class _ManifestReader:
    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, fault: str) -> NoReturn:
        message = f"{self.source}: {fault}"
        raise FileFormatError(message)

    def read(self, text: str) -> Manifest:
        try:
            body = json.loads(text, object_pairs_hook=self.unique, parse_constant=self.no_constant)
        except (
            ValueError,
            RecursionError,
            MemoryError,
        ) as error:  # ValueError: not JSON, or a number of too many digits
            self.fail(f"not JSON that can be read: {error}"[:300])
        if not isinstance(body, dict) or body.get("format") != FORMAT_NAME:
            self.fail(f"not the manifest of a {FORMAT_NAME} model")
        version = body.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            self.fail(f"version must be a positive integer, got {version!r}")
        if version > FORMAT_VERSION:
            self.fail(
                f"format version {version} is newer than this release reads ({FORMAT_VERSION}): upgrade labeltrees"
            )
        expected = {"format", "version", "class", "parameters", "arrays", "checksum"}
        if set(body) != expected:
            self.fail(f"keys must be {sorted(expected)}, got {sorted(body)}"[:300])
        checksum = body.pop("checksum")
        if checksum != self.checksum_of(body):
            self.fail("its checksum is wrong: the manifest was altered")
        if not isinstance(body["class"], str) or not isinstance(body["parameters"], dict):
            self.fail("class must be a string and parameters an object")
        if not isinstance(body["arrays"], dict):
            self.fail("arrays must be an object")
        arrays = {name: self.read_array(name, entry) for name, entry in body["arrays"].items()}
        return Manifest(body["class"], body["parameters"], arrays)

    def checksum_of(self, body: dict[str, Any]) -> str:
        try:
            return _checksum_of_body(body)
        except (ValueError, RecursionError, MemoryError) as error:  # ValueError: 1e999 is read as infinity
            self.fail(f"a value that JSON cannot have: {error}"[:300])

    def unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            self.fail("a key occurs twice")
        return result

    def no_constant(self, name: str) -> NoReturn:
        self.fail(f"{name} is not a number")

    def read_array(self, name: str, entry: Any) -> ArrayEntry:
        if not ARRAY_NAME.fullmatch(name):
            self.fail(f"{name!r} is not a valid array name"[:200])
        return read_entry(name, entry, self.fail)
