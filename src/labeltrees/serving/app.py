"""App: the ASGI application."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from labeltrees.errors import FileFormatError
from labeltrees.serving.bodies import BodyReader
from labeltrees.serving.errors import RequestError
from labeltrees.serving.http import (
    Headers,
    Receive,
    Reply,
    Request,
    Route,
    Send,
    encode,
    error_reply,
)
from labeltrees.serving.keys import Keys
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.registry import Registry
from labeltrees.serving.routes import make_routes
from labeltrees.serving.service import Service
from labeltrees.serving.settings import ServingSettings

_logger = logging.getLogger("labeltrees")
_UNKNOWN = Route("other", {})


class App:
    """An ASGI application that serves the models of a registry.

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
        self._keys = api_keys
        self._origins = {origin.encode() for origin in allowed_origins}
        self._bodies = BodyReader(settings.max_body, settings.max_seconds)
        self._n_requests = 0
        self._watcher: asyncio.Task[None] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI asks for."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        path, root = scope["path"], scope.get("root_path")
        route = self._routes.get(path.removeprefix(root) if root else path, _UNKNOWN)
        self._n_requests += 1
        self._metrics.set_in_progress(self._n_requests)
        try:
            reply = await self._reply(route, scope, receive)
        finally:
            self._n_requests -= 1
        await self._send(reply, scope, send)
        seconds = time.perf_counter() - start
        self._metrics.set_in_progress(self._n_requests)
        self._metrics.count_request(route.kind, reply.status, seconds)
        if self.settings.access_log:
            _log_request(scope, reply.status, seconds)

    async def _reply(self, route: Route, scope: dict[str, Any], receive: Receive) -> Reply:
        try:
            handler = route.methods.get(scope["method"])
            if handler is None:
                return self._no_handler(route, scope)
            if self._keys and not route.is_open and not self._keys.allow(scope["headers"]):
                return error_reply(401, "a valid API key is needed: send Authorization: Bearer KEY or X-API-Key: KEY")
            if route.is_limited and self._n_requests > self.settings.max_requests:
                most = self.settings.max_requests
                return error_reply(
                    429, f"{most:,} requests are in progress, the most that this server takes; try again"
                )
            body = b""
            if scope["method"] == "POST":
                body = await self._bodies.read(receive)
            return await handler(Request(body, scope))
        except RequestError as error:
            return error_reply(error.status, str(error))
        except FileFormatError as error:
            _logger.error("%s: %s", scope["path"], error)
            return error_reply(500, "the model on this server is damaged")
        except Exception:
            _logger.exception("%s %s failed", scope["method"], scope["path"])
            return error_reply(500, "the server failed; its log says why")

    def _no_handler(self, route: Route, scope: dict[str, Any]) -> Reply:
        if not route.methods:
            return error_reply(404, f"there is nothing at {scope['path'][:200]}; /docs describes this server")
        allowed = ", ".join(route.methods)
        if scope["method"] == "OPTIONS":
            return Reply(b"", 204, ((b"allow", allowed.encode()),))
        reply = error_reply(405, f"{scope['path']} takes {allowed}")
        return reply._replace(headers=(*reply.headers, (b"allow", allowed.encode())))

    async def _send(self, reply: Reply, scope: dict[str, Any], send: Send) -> None:
        headers: Headers = [*reply.headers, (b"content-length", b"%d" % len(reply.body))]
        if self._origins:
            headers += self._cross_origin(scope)
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})

    def _cross_origin(self, scope: dict[str, Any]) -> Headers:
        """Return the headers that let pages of the allowed origins call this server."""
        origin = next((value for name, value in scope["headers"] if name.lower() == b"origin"), None)
        if origin is None or not ({origin, b"*"} & self._origins):
            return []
        headers = [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        if scope["method"] == "OPTIONS":
            headers.append((b"access-control-allow-methods", b"GET, POST"))
            headers.append((b"access-control-allow-headers", b"Authorization, Content-Type, X-API-Key"))
        return headers

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._watcher = asyncio.create_task(self._watch())
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _watch(self) -> None:
        """Load models that are not loaded yet, and new versions when they are saved."""
        while True:
            await asyncio.get_running_loop().run_in_executor(None, self.registry.refresh)
            if self.settings.reload_seconds == 0 and self.registry.is_ready:
                return
            await asyncio.sleep(self.settings.reload_seconds or 1.0)

    async def _stop(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher
        self._service.close()


def _log_request(scope: dict[str, Any], status: int, seconds: float) -> None:
    client = scope.get("client")
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "milliseconds": round(seconds * 1000, 3),
    }
    sys.stderr.write(encode(line).decode() + "\n")
