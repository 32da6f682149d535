"""Applications that read the body and answer a constant: what the server itself takes, by interface."""

from typing import Any

_BODY = b'{"labels":["libc6","libx11-6","libsdl1.2debian","libgl1","python3"],"scores":[1,0.558894,0.333142,0.2,0.1]}'
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_BODY))]


_TEXT_HEADERS = [("content-type", "application/json")]


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer every request with the same bytes."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _BODY})


async def rsgi(scope: Any, protocol: Any) -> None:
    """Answer every request with the same bytes, by granian's own interface."""
    await protocol()
    protocol.response_bytes(200, _TEXT_HEADERS, _BODY)


def wsgi(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer every request with the same bytes, in a thread."""
    environ["wsgi.input"].read()
    start_response("200 OK", _TEXT_HEADERS)
    return [_BODY]
