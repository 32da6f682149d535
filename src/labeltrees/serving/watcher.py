"""Watcher: loads models, and new versions of them, in a thread of its own."""

from __future__ import annotations

import threading

from labeltrees.serving.registry import Registry

_STOP_SECONDS = 5.0  # the longest time that a stop waits for a model that is being loaded


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
