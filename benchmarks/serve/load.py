"""A load generator for keep-alive connections that costs less than the servers it measures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")


def request(path: str, body: bytes, content_type: str = "application/json") -> bytes:
    """Return a POST request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(frozen=True)
class Load:
    """What was measured: requests per second, latencies and the server's processor time per request in microseconds."""

    per_second: float
    p50: float
    p99: float
    n: int
    processor: float = float("nan")


class _Connection(asyncio.Protocol):
    def __init__(self, requests: list[bytes], end: float, pause: float, latencies: list[float]) -> None:
        self._requests, self._end, self._pause, self._latencies = requests, end, pause, latencies
        self._next, self._got = 0, b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._start = time.perf_counter()
        self._transport.write(self._requests[self._next % len(self._requests)])  # type: ignore[attr-defined]
        self._next += 1

    def data_received(self, data: bytes) -> None:
        self._got = self._got + data if self._got else data
        end = self._got.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._got[:end].lower()
        at = head.index(b"content-length:") + 15
        length = int(head[at:].split(b"\r\n", 1)[0])
        if len(self._got) < end + 4 + length:
            return
        now = time.perf_counter()
        self._latencies.append(now - self._start)
        if self._got[9:12] != b"200":
            self.done.set_exception(RuntimeError(self._got[:500].decode()))
            return
        self._got = b""
        if now >= self._end:
            self._transport.close()
            self.done.set_result(None)
        elif self._pause:
            asyncio.get_running_loop().call_later(max(self._start + self._pause - now, 0), self._send)
        else:
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"the server closed a connection: {error}"))


async def _run(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None) -> Load:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    end = time.perf_counter() + seconds
    pause = 0.0 if rate is None else connections / rate
    opened = []
    for number in range(connections):
        shifted = requests[number % len(requests) :] + requests[: number % len(requests)]
        _, protocol = await loop.create_connection(
            lambda shifted=shifted: _Connection(shifted, end, pause, latencies),
            "127.0.0.1",
            port,  # type: ignore[misc]
        )
        opened.append(protocol)
    await asyncio.gather(*(protocol.done for protocol in opened))
    latencies.sort()
    at = [latencies[int(share * (len(latencies) - 1))] * 1e6 for share in (0.5, 0.99)]
    return Load(len(latencies) / seconds, *at, len(latencies))


def measure(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None = None) -> Load:
    """Send requests for some seconds, each connection one after the other, or `rate` requests per second in all."""
    return run(_run(port, requests, connections, seconds, rate))


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the fastest event loop there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
