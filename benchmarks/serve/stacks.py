"""The same small handler on several parts: plain ASGI or Starlette, msgspec or orjson, under granian or uvicorn.

The model is the one in the folder that the environment variable STACK_MODEL names.
"""

from __future__ import annotations

import os
from typing import Any

import labeltrees as lt
from benchmarks.serve.constant import app as constant

predict = lt.load(os.environ["STACK_MODEL"]).predictor(5, names=True)


def _with_msgspec() -> Any:
    import msgspec

    class Question(msgspec.Struct):
        text: str
        k: int = 5

    decode, encode = msgspec.json.Decoder(Question).decode, msgspec.json.Encoder().encode

    def answer(body: bytes) -> bytes:
        question = decode(body)
        names, scores = predict(question.text, k=question.k)
        return encode({"labels": names, "scores": scores.tolist()})

    return answer


def _with_orjson() -> Any:
    import orjson

    def answer(body: bytes) -> bytes:
        question = orjson.loads(body)
        names, scores = predict(question["text"], k=question.get("k", 5))
        return orjson.dumps({"labels": names, "scores": scores}, option=orjson.OPT_SERIALIZE_NUMPY)

    return answer


def _plain(answer: Any) -> Any:
    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] == "GET":
            await constant(scope, receive, send)
            return
        body = answer((await receive())["body"])
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def _starlette(answer: Any) -> Any:
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    async def handle(request: Any) -> Any:
        return Response(answer(await request.body()), media_type="application/json")

    async def ready(request: Any) -> Any:
        return Response(b"")

    return Starlette(routes=[Route("/v1/models/{name}/predict", handle, methods=["POST"]), Route("/ready", ready)])


def make_msgspec() -> Any:
    """Plain ASGI, msgspec."""
    return _plain(_with_msgspec())


def make_orjson() -> Any:
    """Plain ASGI, orjson."""
    return _plain(_with_orjson())


def make_starlette() -> Any:
    """Starlette, msgspec."""
    return _starlette(_with_msgspec())
