"""What a request takes in the worker's own thread, without a network: a figure that other work disturbs little."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.serve.load import run
from labeltrees.serving import make_app

_ROUNDS, _REQUESTS = 15, 2000


def processor_times(folder: Path, path: str, bodies: dict[str, list[bytes]]) -> dict[str, float]:
    """Return the processor time per request in microseconds, the best of several rounds, by kind of request."""
    return run(_measure(make_app({"debian": folder}), path, bodies))


async def _measure(app: Any, path: str, bodies: dict[str, list[bytes]]) -> dict[str, float]:
    found = dict.fromkeys(bodies, float("inf"))
    for _ in range(_ROUNDS):
        for what, listed in bodies.items():
            start = time.thread_time()
            for number in range(_REQUESTS):
                await _ask(app, path, listed[number % len(listed)])
            found[what] = min(found[what], (time.thread_time() - start) / _REQUESTS * 1e6)
    return found


async def _ask(app: Any, path: str, body: bytes) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message.get("status", 200) != 200:
            raise RuntimeError(message)

    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b"", "root_path": ""}
    await app(scope, receive, send)
