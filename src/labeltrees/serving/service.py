"""Service: answers questions for every protocol."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from labeltrees.errors import FileFormatError, LabelTreesError
from labeltrees.serving.answers import Prediction
from labeltrees.serving.errors import RequestError
from labeltrees.serving.http import Reply, Work
from labeltrees.serving.metrics import Metrics
from labeltrees.serving.questions import Options, check_limits
from labeltrees.serving.registry import Registry
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.settings import ServingSettings

# A search takes some 10 us: less than handing it to a thread. Longer work would hold up other requests.
_INLINE_ROWS, _INLINE_BYTES = 8, 16_384
MakeReply = Callable[[ServedModel, list[Prediction], float], Reply]


class Service:
    """Answers questions within the limits, in this thread or another, and counts them."""

    def __init__(self, registry: Registry, settings: ServingSettings, metrics: Metrics) -> None:
        self.registry, self.settings, self.metrics = registry, settings, metrics
        self._pool: ThreadPoolExecutor | None = None
        self._n_in_pool = 0

    def answer(
        self,
        served: ServedModel,
        kind: str,
        questions: list[Any],
        options: Options,
        n_bytes: int,
        make_reply: MakeReply,
    ) -> Reply | Work:
        """Return the reply to questions in a body of `n_bytes`, or what makes it if that takes long.

        `make_reply` gets the model, the predictions and the microseconds that the searches took.
        """
        check_limits(kind, questions, options, self.settings)
        n = len(questions)
        deadline = time.monotonic() + self.settings.max_seconds if n > 1 else math.inf
        if n <= _INLINE_ROWS and n_bytes <= _INLINE_BYTES:
            return self._reply(served, kind, questions, options, deadline, make_reply)
        return partial(self._reply, served, kind, questions, options, deadline, make_reply)

    def _reply(
        self,
        served: ServedModel,
        kind: str,
        questions: list[Any],
        options: Options,
        deadline: float,
        make_reply: MakeReply,
    ) -> Reply:
        try:
            found, microseconds = served.answer(kind, questions, options, deadline)
        except (RequestError, FileFormatError):
            raise
        except (LabelTreesError, TypeError, ValueError, OverflowError) as error:  # of what was asked
            raise RequestError(400, str(error)) from None
        n_partial = sum(one.partial for one in found) if options.has_budget else 0
        self.metrics.count_searches(served.name, len(found), n_partial)
        return make_reply(served, found, microseconds)

    async def in_thread(self, work: Work) -> Reply:
        """Return the reply that work in a thread makes."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.settings.threads, "labeltrees")
        self._count_in_pool(1)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._count_in_pool(-1)

    def _count_in_pool(self, change: int) -> None:
        self._n_in_pool += change
        self.metrics.set_waiting(max(self._n_in_pool - self.settings.threads, 0))

    def close(self) -> None:
        """End the threads when they have finished their work."""
        if self._pool is not None:
            self._pool.shutdown()
