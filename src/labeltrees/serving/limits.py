"""Who may send requests, how many at a time, and how large and slow their bodies may be.

Each middleware here returns the coroutine of the next one: another coroutine would take 1 us.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import os
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labeltrees._validation import refuse
from labeltrees.errors import FileFormatError
from labeltrees.serving.schemas import RequestError
from labeltrees.serving.settings import ServingSettings

if TYPE_CHECKING:
    from labeltrees.serving.service import Service

_TICKS = 4  # per maximum time for a body
_DISCARDED, _DISCARD_SECONDS = 10, 2.0  # limits for reading a body that is too long: times max_body, time


class Keys:
    """The API keys of a server. Only their hashes are kept.

    Examples
    --------
    >>> keys = Keys(["secret"])
    >>> keys.allow(Headers({"authorization": "Bearer secret"})), keys.allow(Headers({"x-api-key": "guess"}))
    (True, False)
    """

    def __init__(self, keys: Iterable[str] = (), *, hashes: Iterable[str] = ()) -> None:
        self._hashes = [_hash(key) for key in keys] + [bytes.fromhex(one) for one in hashes]

    def __len__(self) -> int:
        return len(self._hashes)

    @property
    def hashes(self) -> list[str]:
        """The hashes, from which another process can make the same `Keys`."""
        return [one.hex() for one in self._hashes]

    def allow(self, headers: Headers) -> bool:
        """Whether the headers of a request hold a key, as ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``."""
        key = headers.get("x-api-key")
        if key is not None:
            return self._is_known(key)
        bearer = headers.get("authorization", "")
        return bearer[:7].lower() == "bearer " and self._is_known(bearer[7:].strip())

    def _is_known(self, key: str) -> bool:
        # Every key is compared, each in constant time, so that the time reveals nothing about the keys.
        given = _hash(key)
        found = False
        for known in self._hashes:
            found |= hmac.compare_digest(given, known)
        return found


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def read_keys(keys: Any) -> Keys:
    """Return the keys of a list, or of a file with one key per line; lines that start with # are comments."""
    if isinstance(keys, str | os.PathLike):
        lines = Path(keys).read_text("utf-8").splitlines()
        found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        if not found:
            message = f"{os.fspath(keys)}: contains no keys; write one per line"
            raise FileFormatError(message)
        return Keys(found)
    found = list(keys)
    if not all(isinstance(key, str) and key for key in found):
        refuse("api_keys", "texts that are not empty", "others")
    return Keys(found)


class RequireKey:
    """Middleware of a route: a request needs an API key."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass on a request, or refuse it."""
        if not self._keys.allow(Headers(scope=scope)):
            message = "a valid API key is needed: send Authorization: Bearer KEY or X-API-Key: KEY"
            raise RequestError(401, message)
        return self._app(scope, receive, send)


class LimitRequests:
    """Middleware of a route: it refuses requests while too many are in progress."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._max_requests = service.settings.max_requests

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass on a request, or refuse it."""
        if self._service.metrics.in_progress > self._max_requests:
            message = f"{self._max_requests:,} requests are in progress, the most that this server takes; try again"
            raise RequestError(429, message)
        return self._app(scope, receive, send)


class BodyTimer:
    """Cancels tasks that take too long between `start` and `stop`. One timer serves all tasks.

    A timer per request (`asyncio.timeout`) takes 8 us, nearly as long as a search. Time is counted in ticks of the
    timer, so that a pause of the whole process, as on a suspended machine, cancels no request.

    Parameters
    ----------
    seconds : float
        A task is cancelled after this time, or up to a quarter later.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started: dict[asyncio.Task[Any], int] = {}  # the tick at which each one started
        self._tick = 0
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop that runs the timer
        self._late: set[asyncio.Task[Any]] = set()

    def start(self) -> asyncio.Task[Any]:
        """Start timing the calling task; return the task."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        self._started[task] = self._tick
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(self._seconds / _TICKS, self._end_late, loop)
        return task

    def stop(self, task: asyncio.Task[Any]) -> None:
        """Stop timing a task."""
        del self._started[task]

    def was_late(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task was cancelled because it took too long; if so, undo the cancellation."""
        if task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True

    def _end_late(self, loop: asyncio.AbstractEventLoop) -> None:
        self._tick += 1
        for task, started in self._started.items():
            if self._tick - started > _TICKS and task not in self._late:
                self._late.add(task)
                task.cancel()
        if self._started:
            loop.call_later(self._seconds / _TICKS, self._end_late, loop)
        elif self._loop is loop:
            self._loop = None


async def read_body(service: Service, request: Request) -> bytes:
    """Return the body of a request.

    Raises
    ------
    RequestError
        If it is too long, takes too long, or is cut off.
    """
    settings = service.settings
    length = _content_length(request.scope)
    if length is not None:
        if length > settings.max_body:
            if "expect" not in request.headers:  # with it, the client has not sent the body yet
                await _discard(request, settings)
            raise _too_long(settings.max_body)
        service.reserve(request.scope, length)
    timer = service.body_timer
    task = timer.start()
    try:
        message = await request.receive()
        body: bytes = message.get("body", b"")
        if len(body) == length:  # granian's last message is empty: waiting for it takes as long as a search
            return body
        return await _read_parts(service, request, message, length)
    except asyncio.CancelledError:
        if timer.was_late(task):
            text = f"the request did not arrive within {settings.max_seconds:g} seconds"
            raise RequestError(408, text) from None
        raise
    finally:
        timer.stop(task)


async def _read_parts(service: Service, request: Request, message: Message, length: int | None) -> bytes:
    """Return the body of a request whose first message does not hold all of it, or which has no length."""
    max_body = service.settings.max_body
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            # A client that closed only its sending side still gets the answer.
            text = "the request ended before its body was complete"
            raise RequestError(400, text)
        part: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        parts.append(part)
        size += len(part)
        if size > max_body:
            if more:
                await _discard(request, service.settings)
            raise _too_long(max_body)
        if length is None:
            service.reserve(request.scope, len(part))
        if not more or size == length:
            return b"".join(parts)
        message = await request.receive()


def _content_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


async def _discard(request: Request, settings: ServingSettings) -> None:
    """Read the rest of a body that is too long, up to a limit: a client that still sends would not read the answer."""
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(min(_DISCARD_SECONDS, settings.max_seconds / 2)):
            while size < settings.max_body * _DISCARDED:
                message = await request.receive()
                if not message.get("more_body"):
                    return
                size += len(message["body"])


def _too_long(max_body: int) -> RequestError:
    return RequestError(413, f"the body is longer than {max_body:,} bytes, the most that this server takes")
