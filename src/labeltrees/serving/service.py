"""Service: answers the questions of every protocol, in the event loop or in a thread."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Scope

from labeltrees.errors import FileFormatError, LabelTreesError
from labeltrees.serving.limits import BodyTimer, Keys
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.registry import Registry
from labeltrees.serving.schemas import Questions, RequestError
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.sets import StoredSets
from labeltrees.serving.settings import ServingSettings

# A search takes about 10 us, less than handing it to a thread. Longer work would delay other requests.
_INLINE_ROWS = 8
LARGE = 16_384  # bytes of a body: larger ones are decoded and answered in a thread, and count for `max_buffered`
BUFFERED = "labeltrees.buffered"  # in the scope of a request: its bytes in `_n_buffered`
Result = TypeVar("Result")


class Service:
    """The models, limits, counters, keys and threads of an application.

    Parameters
    ----------
    registry : Registry
    settings : ServingSettings
    metrics : Metrics
    keys : Keys
    """

    def __init__(self, registry: Registry, settings: ServingSettings, metrics: Metrics, keys: Keys) -> None:
        self.registry, self.settings, self.metrics, self.keys = registry, settings, metrics, keys
        self.sets = StoredSets(settings.sets)
        self.body_timer = BodyTimer(settings.max_seconds)
        self.clients: set[Any] = set()  # of the requests in progress: hosts and ports
        self._n_buffered = 0  # bytes of their bodies and answers
        self._pool: ThreadPoolExecutor | None = None
        self._n_in_pool = 0

    async def answer(self, model: str, read: Callable[[ServedModel], Questions], n_bytes: int) -> Response:
        """Return the response to the questions that `read` finds in a body of `n_bytes`."""
        served = self.registry.current(model)
        if n_bytes > LARGE:
            return await self.in_thread(lambda: self._answer(served, read(served)))
        questions = read(served)
        if len(questions.rows) > _INLINE_ROWS or questions.options.path:
            return await self.in_thread(partial(self._answer, served, questions))
        return self._answer(served, questions)

    def _answer(self, served: ServedModel, questions: Questions) -> Response:
        questions.check_limits(self.settings, served.facts.n_labels)
        deadline = time.monotonic() + self.settings.max_seconds if len(questions.rows) > 1 else math.inf
        options = questions.options
        has_budget = options.has_budget
        try:
            found, microseconds = served.answer(questions.kind, questions.rows, options, deadline)
        except (RequestError, FileFormatError):
            raise
        except (LabelTreesError, TypeError, ValueError, OverflowError) as error:  # caused by values in the request
            raise RequestError(400, str(error)) from None
        n_partial = sum(one.partial for one in found) if has_budget else 0
        self.metrics.count_searches(served.name, len(found), n_partial)
        return self.checked(questions.write(served, found, microseconds))

    def checked(self, response: Response) -> Response:
        """Return a response; raise `RequestError` if it is too long."""
        if len(response.body) > self.settings.max_answer:
            message = f"the answer is longer than {self.settings.max_answer:,} bytes, the most that this server sends"
            raise RequestError(413, message)
        return response

    def reserve(self, scope: Scope, n_bytes: int) -> None:
        """Count bytes that a request keeps in memory until it ends; raise `RequestError` if they are too many."""
        if n_bytes <= LARGE:
            return
        if self._n_buffered + n_bytes > self.settings.max_buffered:
            message = f"requests in progress take {self.settings.max_buffered:,} bytes, the most allowed; try again"
            raise RequestError(429, message)
        self._n_buffered += n_bytes
        scope[BUFFERED] = scope.get(BUFFERED, 0) + n_bytes

    def release(self, scope: Scope) -> None:
        """Subtract the bytes of a request from the count."""
        self._n_buffered -= scope[BUFFERED]

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        """Run `work` in a thread, and return its result."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.settings.threads, "labeltrees")
        self._count_in_pool(1)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._count_in_pool(-1)

    def _count_in_pool(self, change: int) -> None:
        self._n_in_pool += change
        self.metrics.waiting = max(self._n_in_pool - self.settings.threads, 0)

    def close(self) -> None:
        """End the threads when they have finished their work."""
        if self._pool is not None:
            self._pool.shutdown()
