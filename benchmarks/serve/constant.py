"""An application that reads the body and answers a constant: what the server itself takes."""

from typing import Any

_BODY = b'{"labels":["libc6","libx11-6","libsdl1.2debian","libgl1","python3"],"scores":[1,0.558894,0.333142,0.2,0.1]}'
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_BODY))]


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
