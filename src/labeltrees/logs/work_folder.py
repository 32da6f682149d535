"""The folder for shards: temporary, or kept after an interruption so that a second run can continue."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeltrees.errors import InputError
from labeltrees.logs import sharding, shards
from labeltrees.logs.settings import LogSettings

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]

_FORMAT = 2  # of the files in the folder
_FINGERPRINT = "fingerprint.json"
_LOCK = "lock"


@contextmanager
def work_folder(
    events: Any, settings: LogSettings, temporary_folder: Any = None, resume_folder: Path | None = None
) -> Iterator[Path]:
    """Yield a folder for shards, which is removed when the work is done.

    Parameters
    ----------
    events : path or frame
    settings : LogSettings
    temporary_folder : path, optional
        Where to make a folder with a new name.
    resume_folder : path, optional
        Use this folder instead if `events` is a path. It stays after an error or an interruption if the shards are
        written, and is used again if the fingerprint of input and settings is the same.
    """
    if resume_folder is None or not (isinstance(events, str) or hasattr(events, "__fspath__")):
        with tempfile.TemporaryDirectory(prefix="labeltrees-logs-", dir=temporary_folder) as folder:
            yield Path(folder)
        return
    resume_folder.mkdir(parents=True, exist_ok=True)
    with open(resume_folder / _LOCK, "w") as lock:
        _lock(lock, resume_folder)
        fingerprint = _fingerprint(Path(events), settings)
        if _saved_fingerprint(resume_folder) != fingerprint:
            _empty(resume_folder)
            (resume_folder / _FINGERPRINT).write_text(json.dumps(fingerprint))
        try:
            yield resume_folder
        except BaseException:
            if not (resume_folder / sharding.EVENTS_DONE).exists():
                shutil.rmtree(resume_folder, ignore_errors=True)
            raise
        shutil.rmtree(resume_folder, ignore_errors=True)


def _fingerprint(events: Path, settings: LogSettings) -> dict[str, Any]:
    """Return what must be the same for shards to be used again: files with size and time, settings, shard size."""
    files = sorted(path for path in events.rglob("*") if path.is_file()) if events.is_dir() else [events]
    stats = [(str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.exists()]
    text = json.dumps([_FORMAT, shards.MAX_EVENTS_PER_SHARD, settings.to_json(), stats])
    return {"format": _FORMAT, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _saved_fingerprint(folder: Path) -> Any:
    try:
        return json.loads((folder / _FINGERPRINT).read_text())
    except (OSError, ValueError):
        return None


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()


def _lock(lock: Any, folder: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        message = f"{folder}: another run is preparing the same output; wait for it, or choose another output"
        raise InputError(message) from None
