"""Annif's REST API, for its `http` backend and its clients: projects, and suggestions for texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from labeltrees.data.text_formats import plain_uri
from labeltrees.serving.limits import read_body
from labeltrees.serving.schemas import JsonResponse, Options, Prediction, Questions, RequestError, decode
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.service import Service

_DEFAULT_LIMIT, _MAX_FIELDS = 10, 100
_FIELDS = (b"text", b"limit", b"threshold", b"language", b"candidates", b"exclude")
_LISTS = ("candidates", "exclude")  # fields that may be repeated
_PIECE = 65_536  # bytes of a form that are decoded at a time


class Document(Struct):
    """A text and its optional id."""

    text: str
    document_id: str | None = None
    metadata: dict[str, str] | None = None  # not used


class Documents(Struct, forbid_unknown_fields=True):
    """The body of suggest-batch."""

    documents: list[Document]


_decoder = msgspec.json.Decoder(Documents)


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
    return await service.answer(request.path_params["name"], partial(_read, service, body), len(body))


async def suggest_batch(service: Service, request: Request) -> Response:
    """Predict labels for several texts."""
    body = await read_body(service, request)
    query = request.scope["query_string"]
    return await service.answer(request.path_params["name"], partial(_read_batch, service, query, body), len(body))


def _describe(served: ServedModel) -> dict[str, Any]:
    return {
        "project_id": served.name,
        "name": served.name,
        "language": served.labels.language or "en",
        "backend": {"backend_id": "labeltrees"},
        "is_trained": True,
        "modification_time": served.loaded.isoformat(),
    }


def _read(service: Service, body: bytes, served: ServedModel) -> Questions:
    form = _read_form(body, "the body is not a form (application/x-www-form-urlencoded)")
    if "text" not in form:
        message = "the form needs the field text"
        raise RequestError(400, message)
    options, limit, language = _options(service, form, served)
    return Questions("text", [form["text"][-1]], options, partial(_write_one, limit, language))


def _read_batch(service: Service, query: bytes, body: bytes, served: ServedModel) -> Questions:
    asked: Documents = decode(_decoder, body)
    form = _read_form(query, "the query is not a form")
    options, limit, language = _options(service, form, served)
    texts = [document.text for document in asked.documents]
    names = [document.document_id for document in asked.documents]
    return Questions("text", texts, options, partial(_write_batch, limit, language, names))


def _options(service: Service, form: dict[str, list[str]], served: ServedModel) -> tuple[Options, int, str | None]:
    """Return the options of a search, the maximum number of labels, and the language of their texts."""
    max_k = service.settings.max_k
    limit = int(_number(form, "limit", min(_DEFAULT_LIMIT, max_k), 0, max_k))
    threshold = _number(form, "threshold", 0.0, 0, 1) if "threshold" in form else None  # None: that of the model
    rules: dict[str, Any] = {name: _labels(form[name]) for name in _LISTS if form.get(name)}
    options = Options(k=max(limit, 1), threshold=threshold, **rules)
    service.sets.resolve(served, options)
    return options, limit, served.labels.check_language(form.get("language", [None])[-1])


def _labels(given: list[str]) -> list[str] | str:
    """Return labels without angle brackets, or the name of a set such as @Places."""
    return given[0] if len(given) == 1 and given[0].startswith("@") else [plain_uri(label) for label in given]


def _write_one(
    limit: int, language: str | None, served: ServedModel, found: list[Prediction], microseconds: float
) -> Response:
    (one,) = found
    return JsonResponse(_results(limit, language, served, one))


def _write_batch(
    limit: int,
    language: str | None,
    names: Sequence[str | None],
    served: ServedModel,
    found: list[Prediction],
    microseconds: float,
) -> Response:
    answers = (_results(limit, language, served, one) for one in found)
    return JsonResponse([{**own, "document_id": name} for own, name in zip(answers, names, strict=True)])


def _results(limit: int, language: str | None, served: ServedModel, one: Prediction) -> dict[str, Any]:
    results = [
        {
            "uri": str(label),
            "label": served.labels.text(label, language) or str(label),
            "notation": None,
            "score": score,
        }
        for label, score in zip(one.labels[:limit], one.scores, strict=False)
    ]
    more: dict[str, Any] = {"no_features": True} if one.no_features else {}
    if one.unknown_labels:
        more["unknown_labels"] = one.unknown_labels
    return {"results": results, **more}


def _read_form(body: bytes, fault: str) -> dict[str, list[str]]:
    form: dict[str, list[str]] = {}
    fields = body.split(b"&", _MAX_FIELDS)
    try:
        if len(fields) > _MAX_FIELDS:
            message = f"it has more than {_MAX_FIELDS} fields"
            raise ValueError(message)
        for field in fields:
            name, _, value = field.partition(b"=")
            if name in _FIELDS:
                form.setdefault(name.decode(), []).append(_unquote(value).decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError is one
        message = f"{fault} in UTF-8: {error}"
        raise RequestError(400, message) from None
    return form


def _unquote(value: bytes) -> bytes:
    """Return a value of a form without its escapes.

    It is decoded in pieces, because `unquote_to_bytes` needs 100 bytes of memory per escape.
    """
    parts = []
    at = 0
    while at < len(value):
        end = at + _PIECE
        escape = value.rfind(b"%", end - 2, end)  # an escape that the end of the piece would cut
        if escape >= 0:
            end = escape
        parts.append(unquote_to_bytes(value[at:end].replace(b"+", b" ")))
        at = end
    return b"".join(parts)


def _number(form: dict[str, list[str]], name: str, default: float, low: float, high: float) -> float:
    given = form.get(name, [str(default)])[-1]
    try:
        value = float(given)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        message = f"{name} must be a number in [{low:g}, {high:g}], got {given[:80]!r}"
        raise RequestError(400, message)
    return value
