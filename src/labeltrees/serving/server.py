"""Running the server: worker processes under granian."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labeltrees._extras import import_extra
from labeltrees.serving.metrics import make_shared_file
from labeltrees.serving.settings import ServingSettings

CONFIGURATION = "LABELTREES_SERVING"  # the environment variable with the path of the configuration of the workers
_HEADER_MILLISECONDS = 10_000  # the longest time for the headers of a request
_STOP_SECONDS = 30  # the longest time for finishing accepted requests
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class ServerConfiguration:
    """What the workers of a server need to know, as JSON values."""

    models: dict[str, str]  # folders by name
    settings: dict[str, Any]
    label_texts: str | None = None
    language: str | None = None
    api_keys: str | None = None
    allowed_origins: list[str] = field(default_factory=list)
    metrics_file: str | None = None


def run_server(
    models: dict[str, str],
    settings: ServingSettings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    label_texts: str | None = None,
    language: str | None = None,
    api_keys: str | None = None,
    allowed_origins: list[str] | None = None,
) -> None:
    """Serve models until the process is told to stop.

    A worker that ends unexpectedly is replaced. SIGTERM and Ctrl-C stop the server after the requests in progress;
    SIGHUP replaces the workers one after the other, with new API keys and label texts.

    Parameters
    ----------
    models : dict from names to folders
    settings : ServingSettings
    host, port : str, int
    workers : int
        Number of processes. They share the memory of the models, which are mapped.
    label_texts, api_keys : path, optional
        Files, as for `make_app`.
    language : str, optional
        The language of the label texts, if the file has several.
    allowed_origins : list of str, optional
    """
    for module in ("constants", "http", "log"):
        import_extra(f"granian.{module}", "serve", "labeltrees serve")
    granian = import_extra("granian", "serve", "labeltrees serve")
    metrics_file = make_shared_file()
    configuration = ServerConfiguration(
        models={name: os.path.abspath(folder) for name, folder in models.items()},
        settings=asdict(settings),
        label_texts=None if label_texts is None else os.path.abspath(label_texts),
        language=language,
        api_keys=None if api_keys is None else os.path.abspath(api_keys),
        allowed_origins=allowed_origins or [],
        metrics_file=metrics_file,
    )
    handle, path = tempfile.mkstemp(prefix="labeltrees-serving-", suffix=".json")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(configuration), file)
        os.environ[CONFIGURATION] = path
        os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals, after_in_child=_end_at_signals)
        granian.Granian(
            "labeltrees.serving.worker:make_worker_app",
            address=host,
            port=port,
            interface=granian.constants.Interfaces.RSGI,
            workers=workers,
            runtime_mode=granian.constants.RuntimeModes.st,
            http=granian.constants.HTTPModes.http1,
            websockets=False,
            http1_settings=granian.http.HTTP1Settings(header_read_timeout=_HEADER_MILLISECONDS),
            backlog=2048,
            backpressure=settings.max_requests + 64,  # those beyond max_requests are refused, not kept waiting
            respawn_failed_workers=True,
            workers_kill_timeout=_STOP_SECONDS,
            factory=True,
            log_level=granian.log.LogLevels.warning,
        ).serve()
    finally:
        os.environ.pop(CONFIGURATION, None)
        for leftover in (path, metrics_file):
            Path(leftover).unlink(missing_ok=True)


def _hold_signals() -> None:
    """Keep signals waiting while a worker is forked: Python forgets those that reach the worker at that moment."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)


def _release_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


def _end_at_signals() -> None:
    """Let a signal end a new worker until it has its own handlers.

    A worker is forked with the handlers of the main process, which would only note the signal in the worker's copy of
    it: the worker would go on, and be killed after `_STOP_SECONDS`.
    """
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _release_signals()
