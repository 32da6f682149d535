"""Registry: the models that a server has, and their replacement by new versions; Watcher: the thread that does it."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees import _core
from labeltrees._files import read_json
from labeltrees._validation import refuse
from labeltrees.data.vocabulary import read_vocabulary
from labeltrees.errors import InputError, LabelTreesError
from labeltrees.models.load import open_loaded
from labeltrees.serving.schemas import RequestError
from labeltrees.serving.served_model import ServedModel
from labeltrees.storage import load_arrays

_logger = logging.getLogger("labeltrees")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_STOP_SECONDS = 5.0  # the longest time that a stop waits for a model that is being loaded
_SWEEP_FILE, _SWEEP_MODELS, _SWEEP_SETTINGS = "sweep.json", "models", "settings"


@dataclass(eq=False)
class Place:
    """The place of one model: its folder, and the version that answers now.

    `current` is replaced in one step. A request reads it once, so that its answer comes from one version.
    """

    name: str
    folder: Path | None
    label_texts: dict[str, str]
    measured: dict[str, float] = field(default_factory=dict)
    current: ServedModel | None = None
    n_loaded: int = 0
    fault: str | None = None
    _seen: tuple[int, ...] | None = None

    def get(self) -> ServedModel:
        """Return the version that answers now."""
        if self.current is None:
            message = f"the model {self.name} is being loaded; try again"
            raise RequestError(503, message)
        return self.current

    def is_stale(self) -> bool:
        """Whether the folder is another one than the one that was loaded last."""
        return self.folder is not None and _identity(self.folder) not in (None, self._seen)

    def load(self, in_memory: bool) -> None:
        """Load the folder; on an error the version so far stays."""
        assert self.folder is not None
        seen = _identity(self.folder)
        try:
            loaded = load_arrays(self.folder, in_memory=in_memory)
            version = _version(loaded.manifest.to_json())
            if self.current is None or version != self.current.version:
                model = open_loaded(loaded)
                self.current = ServedModel(self.name, version, model, self.label_texts, self.measured)
                self.n_loaded += 1
            self.fault = None
        except (LabelTreesError, OSError) as error:
            self.fault = str(error)
            raise
        finally:
            self._seen = seen


class Registry:
    """The models of a server.

    Parameters
    ----------
    models : model, folder, list of folders, or mapping from names to models and folders
        The folder of a sweep stands for all its models.
    label_texts : dict from label names to texts
    in_memory : bool
        Copy models into memory instead of mapping them.
    load : bool
        Whether to load folders now. Otherwise `refresh` loads them.
    """

    def __init__(
        self, models: Any, label_texts: dict[str, str] | None = None, *, in_memory: bool = False, load: bool = True
    ) -> None:
        self._in_memory = in_memory
        self._lock = threading.Lock()
        self.places: dict[str, Place] = {}
        for name, model in _named(models):
            for place in _places(name, model, label_texts or {}):
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
    def is_ready(self) -> bool:
        """Whether every model has been loaded."""
        return all(place.current is not None for place in self.places.values())

    def current(self, name: str) -> ServedModel:
        """Return the version of a model that answers now."""
        place = self.places.get(name)
        if place is None:
            message = f"there is no model {name[:200]}; /v1/models lists those of this server"
            raise RequestError(404, message)
        return place.get()

    def refresh(self) -> None:
        """Load the folders that are new or have been replaced. A fault is logged, and the version so far stays."""
        with self._lock:
            self._refresh()

    def _refresh(self) -> None:
        for place in self.places.values():
            if place.is_stale():
                try:
                    place.load(self._in_memory)
                    _logger.info("%s: serving version %s", place.name, place.get().version)
                except (LabelTreesError, OSError) as error:
                    _logger.error("%s: the new version cannot be loaded: %s", place.name, error)


class Watcher:
    """Looks for new versions of models until it is stopped.

    The thread is not one of the event loop's: those are joined when the process ends, however long they take.

    Parameters
    ----------
    registry : Registry
    seconds : float
        How often to look; 0 for only until every model is loaded.
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
            self._registry.refresh()
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


def _places(name: str | None, model: Any, label_texts: dict[str, str]) -> Iterator[Place]:
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
        yield Place(own, setting, label_texts, _measured(folder / _SWEEP_SETTINGS / f"{setting.name}.json"))


def name_of_folder(folder: str | os.PathLike[str]) -> str:
    """Return the name of the model in a folder: that of the folder, without the ending .model.

    Examples
    --------
    >>> name_of_folder("models/web shop.model")
    'web-shop'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(os.path.abspath(folder)).name.removesuffix(".model"))


def _measured(file: Path) -> dict[str, float]:
    """Return what a sweep measured for a model: the numbers of its record."""
    record = read_json(file).get("record", {}) if file.is_file() else {}
    return {key: value for key, value in record.items() if isinstance(value, int | float)}


def _check_name(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        refuse("the name of a model", "letters, digits, '.', '-' and '_' (write NAME=FOLDER)", name)
    return name


def _identity(folder: Path) -> tuple[int, ...] | None:
    """Return what changes when a model is saved to a folder; None if it is missing."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _version(manifest: str) -> str:
    """Return the version of a model: a hash of its manifest, which holds the checksums of all its files.

    Every worker, and every server with the same model, has the same version.
    """
    return f"{_core.xxh64(np.frombuffer(manifest.encode(), np.uint8)):016x}"[:12]


def read_shown_texts(source: Any, language: str | None = None) -> dict[str, str]:
    """Return the text of each label name.

    Parameters
    ----------
    source : mapping, path or None
        A mapping from names to texts, or to lists of texts, of which the first is used; or a file, as for
        `read_vocabulary`.
    language : str, optional
        The language of the texts, if the file has several.
    """
    if source is None:
        return {}
    texts = source if isinstance(source, Mapping) else read_vocabulary(source, language)
    return {str(name): text if isinstance(text, str) else str(text[0]) for name, text in texts.items() if text}
