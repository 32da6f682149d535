"""The application for ASGI servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Any

from labeltrees.serving.app import App
from labeltrees.serving.bodies import refuse_long
from labeltrees.serving.http import Headers
from labeltrees.serving.registry import Registry

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class AsgiApp:
    """An ASGI application.

    Parameters
    ----------
    app : App
    """

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def registry(self) -> Registry:
        """The models."""
        return self.app.registry

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI asks for."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        def header(wanted: str) -> str | None:
            name = wanted.encode()
            return next((value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name), None)

        method, path, root = scope["method"], scope["path"], scope.get("root_path")
        client = scope.get("client")
        address = client[0] if client else None
        reply = await self.app.respond(
            method, path.removeprefix(root) if root else path, header, partial(_read_body, receive), address
        )
        length = (b"content-length", b"%d" % len(reply.body))
        headers = [*_encoded(reply.headers), length]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else reply.body})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.app.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                self.app.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return


@lru_cache(256)
def _encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]


async def _read_body(receive: Receive, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RuntimeError(message["type"])
        body: bytes = message.get("body", b"")
        size += len(body)
        if size > max_bytes:
            raise refuse_long(max_bytes)
        if not message.get("more_body"):
            return b"".join([*parts, body]) if parts else body
        parts.append(body)
