"""Annif's REST form, so that its `http` backend can use a model: projects, and suggestions for a text."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from labeltrees.serving.limits import read_body
from labeltrees.serving.schemas import JsonResponse, Options, Prediction, Questions, RequestError
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.service import Service

_DEFAULT_LIMIT, _MAX_FIELDS = 10, 100
_FIELDS = (b"text", b"limit", b"threshold")
_PIECE = 65_536  # bytes of a form that are decoded at a time


async def list_projects(service: Service, request: Request) -> Response:
    """List the models that read texts."""
    current = [place.current for place in service.registry.places.values()]
    return JsonResponse({"projects": [_describe(one) for one in current if one is not None and one.reads == "text"]})


async def describe_project(service: Service, request: Request) -> Response:
    """Describe a model."""
    return JsonResponse(_describe(service.registry.current(request.path_params["name"])))


async def suggest(service: Service, request: Request) -> Response:
    """Predict labels for a text."""
    body = await read_body(service, request)
    read = partial(_read, body, service.settings.max_k)
    return await service.answer(request.path_params["name"], read, len(body))


def _describe(served: ServedModel) -> dict[str, Any]:
    return {
        "project_id": served.name,
        "name": served.name,
        "language": "en",
        "backend": {"backend_id": "labeltrees"},
        "is_trained": True,
        "modification_time": served.loaded.isoformat(),
    }


def _read(body: bytes, max_k: int, served: ServedModel) -> Questions:
    form = _read_form(body)
    k = int(_number(form, "limit", min(_DEFAULT_LIMIT, max_k), 1, max_k))
    threshold = _number(form, "threshold", 0.0, 0, 1) if "threshold" in form else None  # None: that of the model
    return Questions("text", [form["text"]], Options(k=k, threshold=threshold), _write)


def _write(served: ServedModel, found: list[Prediction], microseconds: float) -> Response:
    (one,) = found
    results = [
        {"uri": str(label), "label": served.label_text(label) or str(label), "notation": None, "score": score}
        for label, score in zip(one.labels, one.scores, strict=True)
    ]
    return JsonResponse({"results": results, "no_features": True} if one.no_features else {"results": results})


def _read_form(body: bytes) -> dict[str, str]:
    form: dict[str, str] = {}
    fields = body.split(b"&", _MAX_FIELDS)
    try:
        if len(fields) > _MAX_FIELDS:
            message = f"it has more than {_MAX_FIELDS} fields"
            raise ValueError(message)
        for field in fields:
            name, _, value = field.partition(b"=")
            if name in _FIELDS:
                form[name.decode()] = _unquote(value).decode("utf-8")
    except ValueError as error:  # UnicodeDecodeError is one
        message = f"the body is not a form (application/x-www-form-urlencoded) in UTF-8: {error}"
        raise RequestError(400, message) from None
    if "text" not in form:
        message = "the form needs the field text"
        raise RequestError(400, message)
    return form


def _unquote(value: bytes) -> bytes:
    """Return a value of a form without its escapes. In pieces: `unquote_to_bytes` takes 100 bytes per escape."""
    parts = []
    at = 0
    while at < len(value):
        end = at + _PIECE
        escape = value.rfind(b"%", end - 2, end)  # one that the end of the piece would cut
        if escape >= 0:
            end = escape
        parts.append(unquote_to_bytes(value[at:end].replace(b"+", b" ")))
        at = end
    return b"".join(parts)


def _number(form: dict[str, str], name: str, default: float, low: float, high: float) -> float:
    try:
        value = float(form.get(name, default))
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        message = f"{name} must be a number in [{low:g}, {high:g}], got {form.get(name, '')[:80]!r}"
        raise RequestError(400, message)
    return value
