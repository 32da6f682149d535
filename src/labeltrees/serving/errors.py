"""RequestError: a request that is answered with a status other than 200."""

from __future__ import annotations

from labeltrees.errors import LabelTreesError


class RequestError(LabelTreesError):
    """A request that cannot be answered; `status` is 4xx, or 503 while a model is loading."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
