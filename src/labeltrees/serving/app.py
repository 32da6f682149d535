"""App: what every request goes through, whatever interface the server has."""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime

from labeltrees.errors import FileFormatError
from labeltrees.serving.bodies import BodyReader, ReadBody
from labeltrees.serving.errors import RequestError
from labeltrees.serving.http import FindHeader, Headers, Reply, Route, encode, error_reply
from labeltrees.serving.keys import Keys
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.registry import Registry
from labeltrees.serving.routes import make_routes
from labeltrees.serving.service import Service
from labeltrees.serving.settings import ServingSettings
from labeltrees.serving.watcher import Watcher

_logger = logging.getLogger("labeltrees")
_UNKNOWN = Route("other", {})


class App:
    """Serves the models of a registry; `asgi.py` and `rsgi.py` connect it to servers.

    Every path is a key of one dictionary that is made at the start, and files of the page are read at the start: no
    path of a request reaches the file system.

    Parameters
    ----------
    registry : Registry
    settings : ServingSettings
    api_keys : Keys
    allowed_origins : tuple of str
    metrics_file : str, optional
        The file with the counters of all workers.
    """

    def __init__(
        self,
        registry: Registry,
        settings: ServingSettings,
        *,
        api_keys: Keys,
        allowed_origins: tuple[str, ...] = (),
        metrics_file: str | None = None,
    ) -> None:
        self.registry, self.settings = registry, settings
        self._metrics = Metrics(registry, metrics_file)
        self._service = Service(registry, settings, self._metrics)
        self._routes = make_routes(self._service)
        self._keys, self._has_keys = api_keys, len(api_keys) > 0
        self._max_requests = settings.max_requests
        self._origins = set(allowed_origins)
        self._bodies = BodyReader(settings.max_body, settings.max_seconds)
        self._n_requests = 0
        self._watcher = Watcher(registry, settings.reload_seconds)

    def start(self) -> None:
        """Load models that are not loaded yet, and from now on new versions when they are saved."""
        self._watcher.start()

    def stop(self) -> None:
        """End all threads."""
        self._watcher.stop()
        self._service.close()

    async def respond(
        self, method: str, path: str, header: FindHeader, read_body: ReadBody, client: str | None
    ) -> Reply:
        """Return the reply to one request, and count it."""
        start = time.perf_counter()
        route = self._routes.get(path, _UNKNOWN)
        self._n_requests += 1
        self._metrics.set_in_progress(self._n_requests)
        try:
            handler = route.methods.get(method)
            if handler is None:
                reply = self._no_handler(route, method, path)
            else:
                if self._has_keys or self._n_requests > self._max_requests:
                    self._check(route, header)
                body = await self._bodies.read(read_body) if method == "POST" else b""
                made = handler(body, header)
                reply = made if isinstance(made, Reply) else await self._service.in_thread(made)
        except RequestError as error:
            reply = error_reply(error.status, str(error))
        except FileFormatError as error:
            _logger.error("%s: %s", path, error)
            reply = error_reply(500, "the model on this server is damaged")
        except Exception:
            _logger.exception("%s %s failed", method, path)
            reply = error_reply(500, "the server failed; its log says why")
        finally:
            self._n_requests -= 1
            self._metrics.set_in_progress(self._n_requests)
        seconds = time.perf_counter() - start
        self._metrics.count_request(route.kind, reply.status, seconds)
        if self.settings.access_log:
            _log_request(client, method, path, reply.status, seconds)
        if self._origins:
            reply = reply.with_headers(self._cross_origin(method, header("origin")))
        return reply

    def _check(self, route: Route, header: FindHeader) -> None:
        if self._has_keys and not route.is_open and not self._keys.allow(header):
            message = "a valid API key is needed: send Authorization: Bearer KEY or X-API-Key: KEY"
            raise RequestError(401, message)
        if self._n_requests > self._max_requests and route.is_limited:
            message = f"{self._max_requests:,} requests are in progress, the most that this server takes; try again"
            raise RequestError(429, message)

    def _no_handler(self, route: Route, method: str, path: str) -> Reply:
        if not route.methods:
            return error_reply(404, f"there is nothing at {path[:200]}; /docs describes this server")
        allowed = ", ".join(route.methods)
        if method == "OPTIONS":
            return Reply(b"", 204, (("allow", allowed),))
        return error_reply(405, f"{path} takes {allowed}").with_headers((("allow", allowed),))

    def _cross_origin(self, method: str, origin: str | None) -> Headers:
        """Return the headers that let pages of the allowed origins call this server."""
        if origin is None or not ({origin, "*"} & self._origins):
            return ()
        headers: Headers = (("access-control-allow-origin", origin), ("vary", "Origin"))
        if method != "OPTIONS":
            return headers
        return (
            *headers,
            ("access-control-allow-methods", "GET, POST"),
            ("access-control-allow-headers", "Authorization, Content-Type, X-API-Key"),
        )


def _log_request(client: str | None, method: str, path: str, status: int, seconds: float) -> None:
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": client,
        "method": method,
        "path": path,
        "status": status,
        "milliseconds": round(seconds * 1000, 3),
    }
    sys.stderr.write(encode(line).decode() + "\n")
