"""The folder of a sweep: finished settings are kept on disk, so that an interrupted sweep can continue."""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees._files import refuse_file, write_atomically
from labeltrees.errors import InputError
from labeltrees.models.load import load
from labeltrees.tuning.quality import Hits
from labeltrees.tuning.settings import Setting

_IDENTITY_FILE, _MODELS, _SETTINGS = "sweep.json", "models", "settings"
VERSION = 2  # 2: more metrics, and intervals


class SweepFolder:
    """``sweep.json`` identifies the data; ``models/`` and ``settings/`` hold one entry per finished setting.

    Parameters
    ----------
    folder : path
        Created if missing. It must be empty, or hold a sweep with the same identity.
    identity : dict of str
        Fingerprints of the data and the estimator. Finished settings are reused only if these are the same.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        self.path = Path(folder)
        self._join(identity)

    def _join(self, identity: dict[str, Any]) -> None:
        file = self.path / _IDENTITY_FILE
        expected = {"format": "labeltrees sweep folder", "version": VERSION, **identity}
        if file.exists():
            found = read_json(file)
            if not isinstance(found, dict) or found.get("format") != expected["format"]:
                refuse_file(file, "not written by a sweep")
            differ = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
            if differ:
                message = f"{self.path} holds another sweep ({', '.join(differ)} differ): use another folder"
                raise InputError(message)
        elif self.path.exists() and (not self.path.is_dir() or any(map(_is_foreign, self.path.iterdir()))):
            message = f"{self.path} exists and is not the folder of a sweep: use another folder"
            raise InputError(message)
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(file, expected)  # first: a sweep that is killed after it can continue
        for part in (_MODELS, _SETTINGS):
            (self.path / part).mkdir(exist_ok=True)

    def has(self, setting: Setting) -> bool:
        """Whether a setting is finished. Its record is written last."""
        return self._record_file(setting).exists()

    def add(self, setting: Setting, model: Any, hits: Hits, record: dict[str, Any]) -> None:
        """Save a trained model and its measurements."""
        model.save(self.model_folder(setting))
        buffer = io.BytesIO()
        np.savez(buffer, hit=hits.hit, labels_per_point=hits.labels_per_point)
        write_atomically(self._hits_file(setting), [buffer.getvalue()])
        record["record"]["model_bytes"] = self.model_bytes(setting)
        write_json(self._record_file(setting), record)

    def record(self, setting: Setting) -> dict[str, Any]:
        """Return the record of a finished setting, as given to `add`."""
        file = self._record_file(setting)
        found = read_json(file)
        if not isinstance(found, dict) or not {"record", "details"} <= found.keys():
            refuse_file(file, "not the record of a setting")
        return found

    def hits(self, setting: Setting) -> Hits:
        """Return the hits of a finished setting."""
        file = self._hits_file(setting)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return Hits(arrays["hit"], arrays["labels_per_point"])
        except (OSError, ValueError, KeyError) as error:
            refuse_file(file, f"damaged ({error})")

    def model(self, setting: Setting) -> Any:
        """Open the model of a finished setting, mapped from disk."""
        return load(self.model_folder(setting))

    def model_folder(self, setting: Setting) -> Path:
        """Return the path of the model of a setting."""
        return self.path / _MODELS / setting.name

    def model_bytes(self, setting: Setting) -> int:
        """Return the size of a model on disk."""
        return sum(file.stat().st_size for file in self.model_folder(setting).rglob("*") if file.is_file())

    def _record_file(self, setting: Setting) -> Path:
        return self.path / _SETTINGS / f"{setting.name}.json"

    def _hits_file(self, setting: Setting) -> Path:
        return self.path / _SETTINGS / f"{setting.name}.npz"


def count_finished(folder: str | os.PathLike[str]) -> int:
    """Return the number of finished settings in the folder of a sweep."""
    return sum(1 for _ in (Path(folder) / _SETTINGS).glob("*.json"))


def _is_foreign(path: Path) -> bool:
    """Whether a file in a folder without identity was not left by a sweep that was killed as it started."""
    return not path.name.startswith(f".{_IDENTITY_FILE}.")


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a value as a JSON file atomically; NaN becomes null."""
    write_atomically(path, [to_json(value).encode(), b"\n"])


def to_json(value: Any) -> str:
    """Return a value as JSON text; NaN becomes null.

    Examples
    --------
    >>> to_json({"a": float("nan")})
    '{"a": null}'
    """
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        refuse_file(path, f"not JSON ({error})")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
