"""Results of a long benchmark in files, so that an interrupted run continues."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


class FinishedResults:
    """What earlier runs with the same inputs have measured: JSON values by key.

    Parameters
    ----------
    folder : path
    name : str
    inputs : list
        What the results depend on, apart from their keys; its `repr` decides.
    """

    def __init__(self, folder: Path, name: str, inputs: list[Any]) -> None:
        digest = hashlib.sha256(repr(inputs).encode()).hexdigest()[:12]
        self._path = folder / f"{name.replace(', ', '-').replace(' ', '-')}-{digest}.json"
        self.values: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}

    def add(self, key: str, value: Any) -> None:
        """Keep a value."""
        self.values[key] = value
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self.values))
        part.replace(self._path)
