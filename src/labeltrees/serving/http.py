"""Requests, replies and routes: the little of HTTP that the server needs above ASGI and RSGI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from labeltrees.serving.errors import RequestError

Headers = tuple[tuple[str, str], ...]
FindHeader = Callable[[str], str | None]  # from the name of a header in lower case

_JSON = (("content-type", "application/json"),)
encode = msgspec.json.Encoder().encode


class Reply(msgspec.Struct, frozen=True, gc=False):
    """What to send back."""

    body: bytes
    status: int = 200
    headers: Headers = _JSON

    def with_headers(self, headers: Headers) -> Reply:
        """Return the same with more headers."""
        return Reply(self.body, self.status, self.headers + headers)


Work = Callable[[], Reply]  # makes a reply in a thread, because it takes long
Handler = Callable[[bytes, FindHeader], Reply | Work]  # from the body and the headers of a request


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
    headers = (*_JSON, ("retry-after", "1")) if status in (429, 503) else _JSON
    return Reply(encode({"error": message}), status, headers)


def fixed(body: bytes, content_type: str, headers: Headers = ()) -> Handler:
    """Return a handler that always sends the same."""
    reply = Reply(body, 200, (("content-type", content_type), *headers))
    return lambda body, header: reply


def decode_json(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Return the value of a JSON body; a fault is a `RequestError` that says where it is."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RequestError(400, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"the body is not valid JSON: {error}"
        raise RequestError(400, message) from None
