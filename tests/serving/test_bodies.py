"""Bodies are limited in time, but a standstill of the server itself is not the client's fault."""

import asyncio
import time

import pytest

pytest.importorskip("msgspec", reason="the extra labeltrees[serve] is not installed")

from labeltrees.serving.bodies import BodyReader
from labeltrees.serving.errors import RequestError

SECONDS = 0.08


def test_a_standstill_of_the_process_ends_no_request():
    async def main():
        loop = asyncio.get_running_loop()
        arriving = loop.create_future()
        reading = asyncio.ensure_future(BodyReader(100, SECONDS).read(lambda max_bytes: arriving))
        await asyncio.sleep(0)
        time.sleep(5 * SECONDS)  # the event loop stands still
        loop.call_later(SECONDS / 4, arriving.set_result, b"late, but not too late")
        return await reading

    assert asyncio.run(main()) == b"late, but not too late"


def test_a_body_that_never_arrives_is_ended_and_others_go_on():
    async def main():
        loop = asyncio.get_running_loop()
        reader = BodyReader(100, SECONDS)
        never, later = loop.create_future(), loop.create_future()
        first = asyncio.ensure_future(reader.read(lambda max_bytes: never))
        with pytest.raises(RequestError, match="did not arrive") as caught:
            await first
        second = asyncio.ensure_future(reader.read(lambda max_bytes: later))
        loop.call_later(SECONDS / 2, later.set_result, b"body")
        return caught.value.status, await second

    assert asyncio.run(main()) == (408, b"body")
