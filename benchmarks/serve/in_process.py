"""What a request takes in the worker's own thread, without a network: a figure that other work disturbs little."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from benchmarks.serve.load import run
from labeltrees.serving.app import App
from labeltrees.serving.keys import read_keys
from labeltrees.serving.registry import Registry
from labeltrees.serving.settings import ServingSettings

_ROUNDS, _REQUESTS = 15, 2000


def processor_times(folder: Path, path: str, bodies: dict[str, list[bytes]]) -> dict[str, float]:
    """Return the processor time per request in microseconds, the best of several rounds, by kind of request."""
    app = App(Registry({"debian": folder}), ServingSettings(), api_keys=read_keys(()))
    try:
        return run(_measure(app, path, bodies))
    finally:
        app.stop()


async def _measure(app: App, path: str, bodies: dict[str, list[bytes]]) -> dict[str, float]:
    found = dict.fromkeys(bodies, float("inf"))
    for _ in range(_ROUNDS):
        for what, listed in bodies.items():
            start = time.thread_time()
            for number in range(_REQUESTS):
                await _ask(app, path, listed[number % len(listed)])
            found[what] = min(found[what], (time.thread_time() - start) / _REQUESTS * 1e6)
    return found


async def _ask(app: App, path: str, body: bytes) -> Any:
    arrived = asyncio.get_running_loop().create_future()
    arrived.set_result(body)
    reply = await app.respond("POST", path, lambda name: None, lambda max_bytes: arrived, None)
    if reply.status != 200:
        raise RuntimeError(reply.body.decode())
    return reply
