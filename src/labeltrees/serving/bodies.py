"""Reading the bodies of requests, within limits on their size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from labeltrees.serving.errors import RequestError

ReadBody = Callable[[int], Awaitable[bytes]]  # from the most bytes to the body; a RuntimeError if it is cut off

_TICKS = 4  # of the longest time


class BodyReader:
    """Reads bodies. One timer for all of them ends those that take too long.

    A timer per request (`asyncio.timeout`) takes 8 us, as long as a search. Time is counted in ticks of the timer: if
    the whole process stands still, as on a machine that is suspended, no client is to blame for it.

    Parameters
    ----------
    max_bytes : int
    max_seconds : float
        A body may take up to a quarter more than this.
    """

    def __init__(self, max_bytes: int, max_seconds: float) -> None:
        self._max_bytes, self._max_seconds = max_bytes, max_seconds
        self._started: dict[asyncio.Task[Any], int] = {}  # the tick at which each one started
        self._tick = 0
        self._late: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def read(self, read_body: ReadBody) -> bytes:
        """Return the body of a request that begins now.

        Raises
        ------
        RequestError
            If it is too long, takes too long, or is cut off.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        self._started[task] = self._tick
        if self._timer is None or self._loop is not loop:
            self._start_timer(loop)
        try:
            return await read_body(self._max_bytes)
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            self._late.discard(task)
            task.uncancel()
            message = f"the request did not arrive within {self._max_seconds:g} seconds"
            raise RequestError(408, message) from None
        except RuntimeError:
            # A client that closed only its half of the connection gets the answer; another never sees it.
            message = "the request ended before its body was complete"
            raise RequestError(400, message) from None
        finally:
            del self._started[task]

    def _start_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer = loop.call_later(self._max_seconds / _TICKS, self._end_late)

    def _end_late(self) -> None:
        self._tick += 1
        for task, started in self._started.items():
            if self._tick - started > _TICKS and task not in self._late:
                self._late.add(task)
                task.cancel()
        self._timer = None
        if self._started:
            assert self._loop is not None
            self._start_timer(self._loop)


def refuse_long(max_bytes: int) -> RequestError:
    """Return the error for a body that is too long."""
    return RequestError(413, f"the body is longer than {max_bytes:,} bytes, the most that this server takes")
