"""Requests, replies and routes: the little of HTTP that the server needs above ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from labeltrees.serving.errors import RequestError

Headers = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_JSON = (b"content-type", b"application/json")
encode = msgspec.json.Encoder().encode


class Request(NamedTuple):
    """A request whose body has been read."""

    body: bytes
    scope: dict[str, Any]

    def header(self, name: bytes) -> bytes | None:
        """Return a header, by its name in lower case."""
        return next((value for key, value in self.scope["headers"] if key.lower() == name), None)


class Reply(NamedTuple):
    """What to send back."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = (_JSON,)


Handler = Callable[[Request], Awaitable[Reply]]


@dataclass(frozen=True)
class Route:
    """What answers the requests for one path.

    Parameters
    ----------
    kind : str
        One of `labeltrees.serving.metrics.ROUTES`.
    methods : dict from "GET" or "POST" to handlers
    is_open : bool
        Whether requests need no API key.
    is_limited : bool
        Whether it counts for the limit on requests in progress.
    """

    kind: str
    methods: dict[str, Handler]
    is_open: bool = False
    is_limited: bool = True


def json_reply(value: Any, status: int = 200) -> Reply:
    """Return a reply with a value as JSON."""
    return Reply(encode(value), status)


def error_reply(status: int, message: str) -> Reply:
    """Return a reply that says what is wrong, in the form that Open Inference clients read too."""
    headers = (_JSON, (b"retry-after", b"1")) if status in (429, 503) else (_JSON,)
    return Reply(encode({"error": message}), status, headers)


def fixed(body: bytes, content_type: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Handler:
    """Return a handler that always sends the same."""
    reply = Reply(body, 200, ((b"content-type", content_type), *headers))

    async def handle(request: Request) -> Reply:
        return reply

    return handle


def decode_json(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Return the value of a JSON body; a fault is a `RequestError` that says where it is."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RequestError(400, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"the body is not valid JSON: {error}"
        raise RequestError(400, message) from None
