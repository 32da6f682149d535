"""A load generator for keep-alive connections that costs less than the servers it measures."""

from __future__ import annotations

import asyncio
import ctypes
import math
import os
import sys
import time
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")


def request(path: str, body: bytes, content_type: str = "application/json", method: str = "POST") -> bytes:
    """Return a request as bytes."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
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
    """One connection: sends the next request after each answer, or with a `Pacer` when the request is due."""

    def __init__(self, requests: list[bytes], end: float, is_paced: bool, latencies: list[float]) -> None:
        self._requests, self._end, self._is_paced, self._latencies = requests, end, is_paced, latencies
        self._next, self._got = 0, b""
        self._due: deque[float] = deque()  # when the requests were due that have no answer yet
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if not self._is_paced:
            self.ask()

    def ask(self) -> None:
        """Send a request now, or after the answer to the one before. Its latency counts from now on."""
        self._due.append(time.perf_counter())
        if len(self._due) == 1:
            self._send()

    def finish(self) -> None:
        """Close the connection, after the last answer."""
        self._end = 0.0
        if not self._due and not self.done.done():
            self._close()

    def _send(self) -> None:
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
        self._latencies.append(now - self._due.popleft())
        if self._got[9:12] != b"200":
            self.done.set_exception(RuntimeError(self._got[:500].decode()))
            return
        self._got = b""
        if self._due:
            self._send()
        elif now >= self._end:
            self._close()
        elif not self._is_paced:
            self.ask()

    def _close(self) -> None:
        self._transport.close()
        self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"the server closed a connection: {error}"))


class Pacer:
    """Asks on one connection after the other, at even intervals.

    A timer of the kernel sets the pace: those of event loops count in milliseconds, and would send bursts.
    """

    def __init__(self, connections: list[_Connection], rate: float) -> None:
        self._connections, self._next = connections, 0
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._timer = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)
        seconds, nanoseconds = divmod(int(1e9 / rate), 10**9)
        interval = (ctypes.c_long * 4)(seconds, nanoseconds, seconds, nanoseconds)
        if self._timer < 0 or self._libc.timerfd_settime(self._timer, 0, interval, None) != 0:
            raise OSError(ctypes.get_errno(), "the timer cannot be set")
        asyncio.get_running_loop().add_reader(self._timer, self._tick)

    def _tick(self) -> None:
        for _ in range(int.from_bytes(os.read(self._timer, 8), sys.byteorder)):
            self._connections[self._next % len(self._connections)].ask()
            self._next += 1

    def stop(self) -> None:
        """Ask no more; the connections close after their last answers."""
        asyncio.get_running_loop().remove_reader(self._timer)
        os.close(self._timer)
        for connection in self._connections:
            connection.finish()


async def _run(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None) -> Load:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    end = math.inf if rate else time.perf_counter() + seconds
    opened: list[_Connection] = []
    for number in range(connections):
        shifted = requests[number % len(requests) :] + requests[: number % len(requests)]
        _, protocol = await loop.create_connection(
            lambda shifted=shifted: _Connection(shifted, end, rate is not None, latencies),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        opened.append(protocol)
    if rate:
        pacer = Pacer(opened, rate)
        await asyncio.sleep(seconds)
        pacer.stop()
    await asyncio.gather(*(protocol.done for protocol in opened))
    latencies.sort()
    at = [latencies[int(share * (len(latencies) - 1))] * 1e6 for share in (0.5, 0.99)]
    return Load(len(latencies) / seconds, *at, len(latencies))


def measure(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None = None) -> Load:
    """Send requests for some seconds, each connection one after the other, or `rate` requests per second in all.

    With a rate, a request that is due before the answer to the one before it waits, and its latency counts the wait.
    """
    return run(_run(port, requests, connections, seconds, rate))


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the fastest event loop there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
