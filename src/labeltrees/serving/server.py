"""Running the server: worker processes under granian, and the application of each."""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import signal
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees._extras import import_extra
from labeltrees.serving.settings import ServingSettings

if TYPE_CHECKING:
    from starlette.applications import Starlette

CONFIGURATION = "LABELTREES_SERVING"  # the environment variable with the path of the configuration of the workers
SHARED_METRICS = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus-client when it is imported
_HEADER_MILLISECONDS = 5_000  # the longest time for the headers of a request, and between two requests
_BUFFER_BYTES = 65_536  # of a connection: the longest headers, and what is written ahead of the client
_MOST_CONNECTIONS = 8192  # per worker
_OTHER_FILES = 512  # that a worker may need besides: mapped models, and connections being accepted
_STOP_SECONDS = 30  # the longest time for finishing accepted requests
_FIRST_LOAD_SECONDS = 3.0  # the longest time that a worker waits for its models before it takes requests
_GC_THRESHOLD = 20_000  # new objects between two collections: about 1 ms
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class ServerConfiguration:
    """The configuration of a server: JSON values, and paths of files that are read again on SIGHUP."""

    models: dict[str, str]  # folders by name
    settings: dict[str, Any]
    port: int
    label_texts: str | None = None
    language: str | None = None
    api_keys: str | None = None
    allowed_origins: list[str] = field(default_factory=list)

    def write(self, file: Path) -> None:
        """Check everything, and write a file for the workers, so that they never read one that is being edited."""
        from labeltrees.serving.limits import read_keys
        from labeltrees.serving.registry import Registry
        from labeltrees.serving.shown_labels import read_shown_texts

        texts = read_shown_texts(self.label_texts, self.language)
        keys = read_keys(self.api_keys or ())
        Registry(self.models)
        known = {"texts": texts.to_json(), "hashes": keys.hashes, **asdict(self)}
        new = file.with_suffix(".new")
        new.write_text(json.dumps(known), "utf-8")
        new.replace(file)


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
    """Serve models until the process gets a signal to stop.

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
    configuration = ServerConfiguration(
        models={name: os.path.abspath(folder) for name, folder in models.items()},
        settings=asdict(settings),
        port=port,
        label_texts=None if label_texts is None else os.path.abspath(label_texts),
        language=language,
        api_keys=None if api_keys is None else os.path.abspath(api_keys),
        allowed_origins=allowed_origins or [],
    )

    class Server(granian.Granian):  # type: ignore[name-defined,misc]
        """granian, but an invalid configuration at SIGHUP does not end it."""

        def signal_handler_reload(self, *given: Any, **how: Any) -> None:
            try:
                configuration.write(file)
            except Exception as error:  # any error: the workers keep the old configuration
                sys.stderr.write(f"SIGHUP: nothing is replaced: {error}\n")
            else:
                super().signal_handler_reload(*given, **how)

        def _reload(self, *given: Any, **how: Any) -> None:
            super()._reload(*given, **how)
            self.respawned_wrks.clear()  # planned restarts do not count as crashes

    with tempfile.TemporaryDirectory(prefix="labeltrees-serving-") as folder:
        file = Path(folder) / "configuration.json"
        configuration.write(file)
        os.environ[CONFIGURATION] = str(file)
        os.environ[SHARED_METRICS] = folder
        import_extra("prometheus_client", "serve", "labeltrees serve")  # after its folder is set
        os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals, after_in_child=_end_at_signals)
        Server(
            "labeltrees.serving.server:make_worker_app",
            address=host,
            port=port,
            interface=granian.constants.Interfaces.ASGI,
            workers=workers,
            runtime_mode=granian.constants.RuntimeModes.st,
            http=granian.constants.HTTPModes.http1,
            websockets=False,
            http1_settings=granian.http.HTTP1Settings(
                header_read_timeout=_HEADER_MILLISECONDS, max_buffer_size=_BUFFER_BYTES
            ),
            backlog=2048,
            backpressure=_max_connections(),  # connections: requests beyond max_requests are refused, not kept waiting
            respawn_failed_workers=True,
            workers_kill_timeout=_STOP_SECONDS,
            factory=True,
            log_level=granian.log.LogLevels.warning,
        ).serve()


def _max_connections() -> int:
    """Raise the limit of open files to the system's maximum; return the maximum of connections per worker."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    allowed = _MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else hard - _OTHER_FILES
    return max(min(allowed, _MOST_CONNECTIONS), 64)


def _hold_signals() -> None:
    """Block signals while a worker is forked: Python would lose those that reach the worker at that moment."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)


def _release_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


def _end_at_signals() -> None:
    """Let a signal end a new worker until it has its own handlers.

    A worker inherits the handlers of the main process. They would only set a flag in the worker, which would continue
    and be killed after `_STOP_SECONDS`.
    """
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _release_signals()


def make_worker_app() -> Starlette:
    """Return the application of one worker process. Until all models are loaded, it reports that it is not ready."""
    from labeltrees.serving.app import make_starlette
    from labeltrees.serving.limits import Keys
    from labeltrees.serving.registry import Registry
    from labeltrees.serving.shown_labels import ShownTexts

    known = json.loads(Path(os.environ[CONFIGURATION]).read_text("utf-8"))
    settings = ServingSettings(**known["settings"])
    logger = logging.getLogger("labeltrees")
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler(sys.stderr))
        logger.setLevel(logging.INFO)
    texts = ShownTexts.from_json(known["texts"])
    registry = Registry(known["models"], texts, in_memory=settings.in_memory, load=False)
    # A worker that replaces another one should not refuse requests. Models that take long are loaded by the watcher.
    first = threading.Thread(target=registry.refresh, daemon=True)
    first.start()
    first.join(_FIRST_LOAD_SECONDS)
    app = make_starlette(
        registry,
        settings,
        api_keys=Keys(hashes=known["hashes"]),
        allowed_origins=tuple(known["allowed_origins"]),
        port=known["port"],
    )
    # A garbage collection visits all imported objects, which takes milliseconds, and all requests in progress. With
    # Python's defaults it runs after every tenth request and takes a fifth of the time.
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)
    return app
