"""API keys, and the time for a body. A standstill of the server itself is not the fault of its clients."""

import asyncio
import hmac
import time

import pytest
from starlette.datastructures import Headers

from labeltrees.errors import FileFormatError, InputError
from labeltrees.serving.limits import BodyTimer, Keys, read_keys


def test_every_key_is_compared_in_constant_time(monkeypatch):
    compared = []

    def compare(one, other):
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    keys = Keys(["first", "second", "third"])
    assert keys.allow(Headers({"x-api-key": "first"}))
    assert not keys.allow(Headers({"x-api-key": "f"}))
    assert len(compared) == 6
    assert len({len(text) for pair in compared for text in pair}) == 1


def test_a_file_without_keys_is_refused(tmp_path):
    file = tmp_path / "keys"
    file.write_text("# none\n")
    with pytest.raises(FileFormatError, match="no keys"):
        read_keys(file)
    with pytest.raises(InputError, match="api_keys"):
        read_keys([""])


SECONDS = 0.08


async def wait_for(timer, arriving):
    task = timer.start()
    try:
        return await arriving
    except asyncio.CancelledError:
        assert timer.was_late(task)
        raise TimeoutError from None
    finally:
        timer.stop(task)


def test_a_stopped_process_ends_no_request():
    async def main():
        loop = asyncio.get_running_loop()
        arriving = loop.create_future()
        reading = asyncio.ensure_future(wait_for(BodyTimer(SECONDS), arriving))
        await asyncio.sleep(0)
        time.sleep(5 * SECONDS)  # the event loop stands still
        loop.call_later(SECONDS / 4, arriving.set_result, b"late, but not too late")
        return await reading

    assert asyncio.run(main()) == b"late, but not too late"


def test_a_body_that_never_arrives_is_ended_and_others_go_on():
    async def main():
        loop = asyncio.get_running_loop()
        timer = BodyTimer(SECONDS)
        never, later = loop.create_future(), loop.create_future()
        with pytest.raises(TimeoutError):
            await asyncio.ensure_future(wait_for(timer, never))
        second = asyncio.ensure_future(wait_for(timer, later))
        loop.call_later(SECONDS / 2, later.set_result, b"body")
        return await second

    assert asyncio.run(main()) == b"body"
