"""Registry: the models of a server, and their replacement by new versions; Watcher: the thread that replaces them."""

from __future__ import annotations

import logging
import math
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._files import read_json
from labeltrees._validation import refuse
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.load import open_loaded
from labeltrees.serving.schemas import RequestError
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.shown_labels import NO_TEXTS, ShownTexts
from labeltrees.storage import load_arrays

_logger = logging.getLogger("labeltrees")
Identity = tuple[tuple[str, int, int, int], ...]  # of each file: name, inode, size and time
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between attempts to load a version that cannot be loaded
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_STOP_SECONDS = 5.0  # the longest time that a stop waits for a model that is being loaded
_SWEEP_FILE, _SWEEP_MODELS, _SWEEP_SETTINGS = "sweep.json", "models", "settings"


@dataclass(eq=False)
class Place:
    """One model of a server: its folder, and its current version.

    `current` is replaced in one step. A request reads it once, so that its answer comes from one version.
    """

    name: str
    folder: Path | None
    label_texts: ShownTexts
    measured: dict[str, float] = field(default_factory=dict)
    sweep: str | None = None
    current: ServedModel | None = None
    fault: str | None = None  # why the newest files could not be loaded
    n_failures: int = 0  # failed attempts to load a version, since the start
    _seen: Identity | None = None  # the files of the last attempt
    _retry_at: float = math.inf  # after a failed attempt
    _pause: float = _FIRST_PAUSE

    def get(self) -> ServedModel:
        """Return the current version; raise `RequestError` if none is loaded yet."""
        if self.current is None:
            message = f"the model {self.name} is being loaded; try again"
            raise RequestError(503, message)
        return self.current

    def is_due(self) -> bool:
        """Whether the files differ from those of the last attempt to load them, or it is time to try again."""
        if self.folder is None:
            return False
        found = _identity(self.folder)
        return found is not None and (found != self._seen or time.monotonic() >= self._retry_at)

    def load(self, in_memory: bool) -> None:
        """Load the folder. After an error the current version stays, and `is_due` asks for another attempt later.

        A version that replaces another one is verified first: files copied one by one can mix two versions.
        """
        assert self.folder is not None
        self._seen = _identity(self.folder)
        try:
            is_new = self.current is not None
            loaded = load_arrays(self.folder, in_memory=in_memory, verify=is_new)
            model = open_loaded(loaded, verify=is_new)
            version = _version(loaded.manifest.to_json())
            served = ServedModel(self.name, version, model, self.label_texts, self.measured, self.sweep)
            if _identity(self.folder) != self._seen:
                message = f"{self.folder}: the files were changed while they were loaded"
                raise FileFormatError(message)
        except Exception as error:
            self.fault = str(error) or type(error).__name__
            self.n_failures += 1
            self._retry_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            raise
        if not served.has_probabilities:
            if self.current is None:  # after a restart nobody knows whether the one before had them
                _logger.info("%s: version %s has no probabilities; calibrate it to get them", self.name, version)
            elif self.current.has_probabilities:
                _logger.warning("%s: version %s has no probabilities; the one before had", self.name, version)
        self.current, self.fault, self._retry_at, self._pause = served, None, math.inf, _FIRST_PAUSE


class Registry:
    """The models of a server.

    Parameters
    ----------
    models : model, folder, list of folders, or mapping from names to models and folders
        The folder of a sweep means all its models.
    label_texts : ShownTexts
    in_memory : bool
        Copy models into memory instead of mapping them.
    load : bool
        Whether to load folders now. Otherwise `refresh` loads them.
    """

    def __init__(
        self, models: Any, label_texts: ShownTexts | None = None, *, in_memory: bool = False, load: bool = True
    ) -> None:
        self._in_memory = in_memory
        self._lock = threading.Lock()
        self.places: dict[str, Place] = {}
        for name, model in _named(models):
            for place in _places(name, model, label_texts or NO_TEXTS):
                if place.name in self.places:
                    refuse("models", "models with different names (write NAME=FOLDER)", f"{place.name!r} twice")
                self.places[place.name] = place
        if not self.places:
            refuse("models", "at least one model", models)
        if load:
            for place in self.places.values():
                if place.folder is not None:
                    place.load(in_memory)

    @property
    def names(self) -> list[str]:
        """The names of the models."""
        return list(self.places)

    @property
    def ready(self) -> list[ServedModel]:
        """The current versions of the models that are loaded."""
        return [place.current for place in self.places.values() if place.current is not None]

    @property
    def is_ready(self) -> bool:
        """Whether every model has been loaded."""
        return all(place.current is not None for place in self.places.values())

    def current(self, name: str) -> ServedModel:
        """Return the current version of a model."""
        place = self.places.get(name)
        if place is None:
            shown = ", ".join(list(self.places)[:20]) + (", ..." if len(self.places) > 20 else "")
            message = f"there is no model {name[:200]}; this server has {shown} (see /v1/models)"
            raise RequestError(404, message)
        return place.get()

    def refresh(self) -> None:
        """Load the folders that are new or have been replaced. A fault is logged, and the current version stays."""
        with self._lock:
            self._refresh()

    def _refresh(self) -> None:
        for place in self.places.values():
            before = place.fault
            try:
                if place.is_due():
                    place.load(self._in_memory)
                    _logger.info("%s: serving version %s", place.name, place.get().version)
            except Exception as error:  # any error: the thread continues, and the current version stays
                if place.fault != before:
                    _logger.error("%s: the new version cannot be loaded: %s", place.name, error or type(error).__name__)


class Watcher:
    """Looks for new versions of models until it is stopped.

    It does not use a thread of the event loop: the end of the process waits for those, however long they take.

    Parameters
    ----------
    registry : Registry
    seconds : float
        Time between two checks; 0 to end once every model is loaded.
    """

    def __init__(self, registry: Registry, seconds: float) -> None:
        self._registry, self._seconds = registry, seconds
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name="labeltrees-watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. If a model is being loaded, wait a few seconds at most."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
            self._thread = None

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._registry.refresh()
            except Exception:  # the next check may find enough memory again
                _logger.exception("looking for new versions of models failed")
            if self._seconds == 0 and self._registry.is_ready:
                return
            self._stopped.wait(self._seconds or 1.0)


def _named(models: Any) -> Iterator[tuple[str | None, Any]]:
    if isinstance(models, Mapping):
        yield from models.items()
    elif isinstance(models, Iterable) and not isinstance(models, str | os.PathLike):
        for model in models:
            yield None, model
    else:
        yield None, models


def _places(name: str | None, model: Any, label_texts: ShownTexts) -> Iterator[Place]:
    if not isinstance(model, str | os.PathLike):
        own_name = _check_name("model" if name is None else name)
        yield Place(own_name, None, label_texts, current=ServedModel(own_name, "1", model, label_texts, {}))
        return
    folder = Path(model)
    if name is None:
        name = name_of_folder(folder)
    if not (folder / _SWEEP_FILE).is_file():
        yield Place(_check_name(name), folder, label_texts)
        return
    settings = sorted((folder / _SWEEP_MODELS).iterdir())
    if not settings:
        message = f"{folder}: the sweep has no finished models"
        raise InputError(message)
    for setting in settings:
        own = _check_name(re.sub(r"[^A-Za-z0-9._-]+", "-", f"{name}-{setting.name}"))
        measured = _measured(folder / _SWEEP_SETTINGS / f"{setting.name}.json")
        yield Place(own, setting, label_texts, measured, sweep=name)


def name_of_folder(folder: str | os.PathLike[str]) -> str:
    """Return the name of the model in a folder: the name of the folder without the ending .model.

    Examples
    --------
    >>> name_of_folder("models/web shop.model")
    'web-shop'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(os.path.abspath(folder)).name.removesuffix(".model"))


def _measured(file: Path) -> dict[str, float]:
    """Return the measurements of a sweep for a model: the numbers in its record."""
    record = read_json(file).get("record", {}) if file.is_file() else {}
    return {key: value for key, value in record.items() if isinstance(value, int | float)}


def _check_name(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        refuse("the name of a model", "letters, digits, '.', '-' and '_' (write NAME=FOLDER)", name)
    return name


def _identity(folder: Path) -> Identity | None:
    """Return a value that changes when files of a folder change; None if the folder is missing or unreadable."""
    try:
        with os.scandir(folder) as entries:
            files = [(entry.name, entry.stat()) for entry in entries]
    except OSError:
        return None
    return tuple(sorted((name, found.st_ino, found.st_size, found.st_mtime_ns) for name, found in files))


def _version(manifest: str) -> str:
    """Return the version of a model: a hash of its manifest, which holds the checksums of all its files.

    Every worker, and every server with the same model, has the same version.
    """
    return f"{_core.xxh64(np.frombuffer(manifest.encode(), np.uint8)):016x}"[:12]
