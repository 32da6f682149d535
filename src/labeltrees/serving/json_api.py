"""The server's own JSON API: predictions, explanations, models, names of items."""

from __future__ import annotations

from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from labeltrees.errors import FileFormatError, LabelTreesError
from labeltrees.serving.limits import read_body
from labeltrees.serving.schemas import (
    ExplainAnswer,
    ExplainRequest,
    ItemList,
    ItemsRequest,
    JsonResponse,
    ModelList,
    PredictAnswers,
    Prediction,
    PredictRequest,
    Questions,
    RequestError,
    decode,
)
from labeltrees.serving.served_model import ServedModel
from labeltrees.serving.service import Service

_predict_decoder = msgspec.json.Decoder(PredictRequest)
_explain_decoder = msgspec.json.Decoder(ExplainRequest)
_items_decoder = msgspec.json.Decoder(ItemsRequest)
_MAX_ITEM = 1000  # characters of the name of an item
_MAX_EXPLAINED = 16_384  # bytes per request: the answer has an entry for each word and label


async def list_models(service: Service, request: Request) -> Response:
    """List the models."""
    places = service.registry.places.values()
    ready = [place.current.facts for place in places if place.current is not None]
    return JsonResponse(ModelList(ready, [place.name for place in places if place.current is None]))


async def describe_model(service: Service, request: Request) -> Response:
    """Describe a model."""
    return JsonResponse(service.registry.current(request.path_params["name"]).facts)


async def find_items(service: Service, request: Request) -> Response:
    """Find names of items."""
    body = await read_body(service, request)
    served = service.registry.current(request.path_params["name"])
    # In a thread: the first call prepares the names, and a later one reads all of them.
    return await service.in_thread(partial(_find_items, service, served, body))


def _find_items(service: Service, served: ServedModel, body: bytes) -> Response:
    asked: ItemsRequest = decode(_items_decoder, body)
    found = served.find_items(asked.column, asked.text[:_MAX_ITEM], asked.limit)
    return service.checked(JsonResponse(ItemList(found)))


async def predict(service: Service, request: Request) -> Response:
    """Predict labels."""
    body = await read_body(service, request)
    return await service.answer(request.path_params["name"], partial(_read, service, body), len(body))


async def explain(service: Service, request: Request) -> Response:
    """Explain labels."""
    body = await read_body(service, request)
    served = service.registry.current(request.path_params["name"])
    return await service.in_thread(partial(_explain, service, served, body))


def _explain(service: Service, served: ServedModel, body: bytes) -> Response:
    if len(body) > _MAX_EXPLAINED:
        message = f"explain takes at most {_MAX_EXPLAINED:,} bytes per request, got {len(body):,}"
        raise RequestError(413, message)
    asked: ExplainRequest = decode(_explain_decoder, body)
    kind, rows, is_single = asked.questions()
    if not is_single:
        message = "explain takes one question per request: text, items, row or context"
        raise RequestError(400, message)
    service.sets.resolve(served, asked)
    Questions(kind, rows, asked, _write_one).check_limits(service.settings, served.facts.n_labels)
    try:
        labels = served.explain(kind, rows[0], asked)
    except (LabelTreesError, TypeError, ValueError, OverflowError) as error:  # caused by values in the request
        raise error if isinstance(error, RequestError | FileFormatError) else RequestError(400, str(error)) from None
    return service.checked(JsonResponse(ExplainAnswer(served.name, served.version, labels)))


def _read(service: Service, body: bytes, served: ServedModel) -> Questions:
    asked: PredictRequest = decode(_predict_decoder, body)
    service.sets.resolve(served, asked)
    kind, rows, is_single = asked.questions()
    return Questions(kind, rows, asked, _write_one if is_single else _write_all)


def _write_one(served: ServedModel, found: list[Prediction], microseconds: float) -> Response:
    (one,) = found
    one.model, one.version, one.microseconds = served.name, served.version, round(microseconds, 1)
    return JsonResponse(one)


def _write_all(served: ServedModel, found: list[Prediction], microseconds: float) -> Response:
    return JsonResponse(PredictAnswers(served.name, served.version, round(microseconds, 1), found))
